"""Passwords behind the short options of tools that are known to take one there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rekal.scrub.secrets import cookie
from rekal.scrub.secrets.kind import Hay, Kind, Span
from rekal.scrub.secrets.placeholder import is_placeholder

_HINTS = (" -",)
_FIRST = ("p", "u", "U", "b", "-")
_OPTION = re.compile(
    r"""[ ](?:-p[ \t]*|(?P<login>(?:-[uU]|--(?:proxy-)?user)[ =]?(?:\\*["'])?[^\s:"'\\/]{1,80}:))"""
    r"""(?:\\*["'](?P<quoted>[^"'\\\n]{3,})\\*["']|(?P<bare>[^\s"'`\\|;&<>\x00-\x1f]{3,}))"""
)
_COOKIES = re.compile(r"""[ ]-b[ =]?(?:\\*["'])?(?=[\w.\-]+=)""")
_GLUED = re.compile(r"(?:\b|(?<=\dm)|(?<=\\[nrt]))(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump)\b")
_SPACED = re.compile(
    r"(?:\b|(?<=\dm)|(?<=\\[nrt]))(?:sshpass|(?:docker|podman|helm|oras|skopeo)\b.*\blogin|mongo(?:sh|dump|restore)?)\b"
)
_LOGIN = re.compile(r"(?:\b|(?<=\dm)|(?<=\\[nrt]))(?:curl|wget|http|https)\b")
_NEXT_COMMAND = re.compile(r"[\n|;&]|\\+n")


def _find(text: str, hay: Hay) -> Iterator[Span]:
    for at in hay.positions(_HINTS):
        if text[at + 2 : at + 3] not in _FIRST:
            continue
        cookies = _COOKIES.match(text, at)
        if cookies:
            if _LOGIN.search(_command(text, at)):
                yield from cookie.values(text, cookies.end())
            continue
        option = _OPTION.match(text, at)
        if option is None:
            continue
        group = "quoted" if option["quoted"] else "bare"
        if _takes_password(text, at, option) and not is_placeholder(option[group]):
            yield option.span(group)


def _command(text: str, at: int) -> str:
    """What stands before ``at`` in the same command."""
    return _NEXT_COMMAND.split(text[max(0, at - 200) : at])[-1]


def _takes_password(text: str, at: int, option: re.Match[str]) -> bool:
    """Whether the command before the option is one whose option this is."""
    before = _command(text, at)
    if option["login"]:
        return _LOGIN.search(before) is not None
    glued = text[at + 3 : at + 4] not in (" ", "\t")
    return (_GLUED.search(before) is not None and glued) or _SPACED.search(before) is not None


KIND = Kind("short-flag", _HINTS, _find)
