"""Passwords inside URLs: connection strings and basic authentication."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_pattern
from rekal.scrub.secrets.placeholder import is_placeholder

_PATTERN = r"""://(?P<user>[^\s/:@"'`<>\\?#\[\]]{0,128}):(?P<secret>[^\s/"'`<>\\]{1,256}?)@(?=[A-Za-z0-9\[$_\-{])(?![^\s/"'`<>\\]{0,64}@)"""
_SAMPLES = frozenset(("pass", "pw", "pwd", "password", "p", "port"))


def _is_password(value: str) -> bool:
    return value.lower() not in _SAMPLES and not is_placeholder(value)


KIND = by_pattern("url-password", _PATTERN, ("://",), check=_is_password)
