"""Credentials of Authorization headers and Bearer tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_pattern, has_digit
from rekal.scrub.secrets.placeholder import is_placeholder

_PATTERN = (
    r"""(?i)(?:(?<![\w\-])bearer[ \t]+|authorization\\*["']?[ \t]{0,4}[:=,][ \t]{0,4}\\*["']?"""
    r"""(?:(?:basic|bearer|token|digest|apikey|bot|negotiate)[ \t]+)?)\\*["']?(?P<secret>[A-Za-z0-9_\-.~+/=]{8,})"""
)


def _is_credential(value: str) -> bool:
    return has_digit(value) and not is_placeholder(value)


KIND = by_pattern(
    "authorization-header",
    _PATTERN,
    ("bearer", "authorization"),
    check=_is_credential,
)
