"""Passwords of .netrc files."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_pattern
from rekal.scrub.secrets.placeholder import not_placeholder

_GAP = r"(?:[ \t]|\r?\n[+\- ]?|\\+[nrt])+"

KIND = by_pattern(
    "netrc",
    rf"""machine{_GAP}[\w.\-]+{_GAP}login{_GAP}[^\s"'\\]+{_GAP}password{_GAP}\\*["']?(?P<secret>[^\s"'\\]+)""",
    ("machine",),
    check=not_placeholder,
)
