"""AWS secret access keys, which only their name gives away."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_pattern

_NAME = r"(?i:aws_?secret[\w.\-]{0,24})"
_GIVES = r"""\\*["']?[ \t]{0,4}(?:=>|[:=])[ \t]{0,4}\\*["']?"""

KIND = by_pattern(
    "aws-secret-key",
    rf"{_NAME}{_GIVES}(?P<secret>[A-Za-z0-9/+]{{40}})(?![A-Za-z0-9/+])",
    ("aws_secret", "awssecret"),
)
