"""AWS access key ids, permanent and temporary."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix(
    "aws-access-key",
    "(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)",
    ("A3T", "AKIA", "ASIA", "ABIA", "ACCA"),
    least=16,
    body="[A-Z0-9]",
)
