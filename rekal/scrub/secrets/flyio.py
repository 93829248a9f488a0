"""Fly.io access tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix, has_digit

KIND = by_prefix(
    "fly-token",
    "(?:fm[12][ar]?_|fo1_)",
    ("fm", "fo1_"),
    least=32,
    body=r"[A-Za-z0-9_\-+/=]",
    check=has_digit,
)
