"""Passwords of .netrc files."""

from __future__ import annotations

from collections.abc import Iterator

from rekal.scrub.regex import Regex
from rekal.scrub.secrets.kind import Hay, Kind, Span
from rekal.scrub.secrets.placeholder import is_placeholder

_GAP = r"(?:[ \t]|\r?\n[+\- ]?|\\+[nrt])+"
_LOGIN = Regex(rf"machine{_GAP}[\w.\-]+{_GAP}login{_GAP}[^\s\"'\\]+{_GAP}\Z")
_PASSWORD = Regex(rf"password{_GAP}(?:\\*[\"'])?(?P<secret>[^\s\"'\\]+)")
_LOOK_BACK = 256


def _find_netrc(text: str, hay: Hay) -> Iterator[Span]:
    for at in hay.positions(("password",)):
        password = _PASSWORD.match(text, at)
        if password and _LOGIN.search(text[max(0, at - _LOOK_BACK) : at]) and not is_placeholder(password["secret"]):
            yield password.span("secret")


KIND = Kind("netrc", ("password",), _find_netrc)
