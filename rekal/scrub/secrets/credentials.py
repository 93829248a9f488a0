"""Credentials in their usual places: Authorization headers, cookies, URLs and .netrc files."""

from __future__ import annotations

from collections.abc import Iterator

from rekal.plain_text import lazy_pattern
from rekal.scrub.secrets.kind import Hay, Kind, Span, by_pattern, has_digit
from rekal.scrub.secrets.named import is_placeholder

# Credentials of Authorization headers and Bearer tokens.

_AUTHORIZATION = (
    r"""(?i)(?:(?<![\w\-])bearer[ \t]+|authorization\\*["']?[ \t]{0,4}[:=,][ \t]{0,4}\\*["']?"""
    r"""(?:(?:basic|bearer|token|digest|apikey|bot|negotiate)[ \t]+)?)\\*["']?(?P<secret>[A-Za-z0-9_\-.~+/=]{8,})"""
)


def _is_credential(value: str) -> bool:
    return has_digit(value) and not is_placeholder(value)


AUTHORIZATION_HEADER = by_pattern(
    "authorization-header",
    _AUTHORIZATION,
    ("bearer", "authorization"),
    check=_is_credential,
)


# Values of cookies in Cookie and Set-Cookie headers and in options that set them.

_HEADER = lazy_pattern(r"""(?i)cookies?\\*["']?[ \t]{0,4}[:= ,][ \t]{0,4}\\*["']?(?=[\w.\-]+=)""")
_PAIR = lazy_pattern(r"""[ \t]*(?P<name>[\w.\-]+)(?:=(?P<secret>[^\s;"'`\\,]*))?(?:;|(?=[\s"'`\\,])|\Z)""")
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


COOKIE = Kind("cookie", ("cookie",), _find_cookies)


# Passwords inside URLs: connection strings and basic authentication.

_IN_URL = r"""://(?P<user>[^\s/:@"'`<>\\?#\[\]]{0,128}):(?P<secret>[^\s/"'`<>\\]{1,256}?)@(?=[A-Za-z0-9\[$_\-{])(?![^\s/"'`<>\\]{0,64}@)"""
_SAMPLES = frozenset(("pass", "pw", "pwd", "password", "p", "port"))


def _is_password(value: str) -> bool:
    return value.lower() not in _SAMPLES and not is_placeholder(value)


URL_PASSWORD = by_pattern("url-password", _IN_URL, ("://",), check=_is_password)


# Passwords of .netrc files.

_GAP = r"(?:[ \t]|\r?\n[+\- ]?|\\+[nrt])+"
_LOGIN = lazy_pattern(rf"machine{_GAP}[\w.\-]+{_GAP}login{_GAP}[^\s\"'\\]+{_GAP}\Z")
_PASSWORD = lazy_pattern(rf"password{_GAP}(?:\\*[\"'])?(?P<secret>[^\s\"'\\]+)")
_LOOK_BACK = 256


def _find_netrc(text: str, hay: Hay) -> Iterator[Span]:
    for at in hay.positions(("password",)):
        password = _PASSWORD.match(text, at)
        if password and _LOGIN.search(text[max(0, at - _LOOK_BACK) : at]) and not is_placeholder(password["secret"]):
            yield password.span("secret")


NETRC = Kind("netrc", ("password",), _find_netrc)
