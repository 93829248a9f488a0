"""Doppler tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix(
    "doppler-token",
    r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9\-_]{2,35}\.)?",
    ("dp.",),
    least=40,
    body="[A-Za-z0-9]",
)
