"""Values of cookies in Cookie and Set-Cookie headers and in options that set them."""

from __future__ import annotations

from collections.abc import Iterator

from rekal.scrub.regex import Regex
from rekal.scrub.secrets.kind import Hay, Kind, Span, has_digit
from rekal.scrub.secrets.placeholder import is_placeholder

_HEADER = Regex(r"""(?i)cookies?\\*["']?[ \t]{0,4}[:= ,][ \t]{0,4}\\*["']?(?=[\w.\-]+=)""")
_PAIR = Regex(r"""[ \t]*(?P<name>[\w.\-]+)(?:=(?P<secret>[^\s;"'`\\,]*))?(?:;|(?=[\s"'`\\,])|\Z)""")
_ATTRIBUTES = frozenset(
    ("path", "domain", "expires", "max-age", "samesite", "httponly", "secure", "priority", "version")
)


def cookie_values(text: str, start: int) -> Iterator[Span]:
    """Yield the values of the pairs ``name=value; ...`` that begin at ``start`` and look like credentials."""
    pair = _PAIR.match(text, start)
    while pair:
        value = pair["secret"] or ""
        credential = len(value) >= 8 and has_digit(value) and not is_placeholder(value)
        if credential and pair["name"].lower() not in _ATTRIBUTES:
            yield pair.span("secret")
        pair = _PAIR.match(text, pair.end()) if text[pair.end() - 1] == ";" else None


def _find_cookies(text: str, hay: Hay) -> Iterator[Span]:
    for at in hay.positions(("cookie",)):
        header = _HEADER.match(text, at)
        if header:
            yield from cookie_values(text, header.end())


KIND = Kind("cookie", ("cookie",), _find_cookies)
