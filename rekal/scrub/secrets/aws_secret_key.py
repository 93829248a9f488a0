"""AWS secret access keys, which only their name gives away."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_pattern

KIND = by_pattern(
    "aws-secret-key",
    r"""(?i:aws[\w.\-]{0,24}secret[\w.\-]{0,24})\\*["']?[ \t]{0,4}(?:=>|[:=])[ \t]{0,4}\\*["']?(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])""",
    ("aws",),
)
