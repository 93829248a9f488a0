"""Passwords behind the short options of tools that are known to take one there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rekal.scrub.regex import Regex
from rekal.scrub.secrets import cookie
from rekal.scrub.secrets.kind import Hay, Kind, Span
from rekal.scrub.secrets.placeholder import is_placeholder, word_set

_HINTS = (" -",)
_OPTIONS = ("p", "u", "U", "b", "-user", "-proxy-user")
_OPTION = Regex(
    r"""[ ](?:-p[ \t]*|(?P<login>(?:-[uU]|--(?:proxy-)?user)[ =]?(?:\\*["'])?[^\s:"'\\/]{1,80}:))"""
    r"""(?:\\*["'](?P<quoted>[^"'\\\n]{3,})\\*["']|(?P<bare>[^\s"'`\\|;&<>\x00-\x1f]{3,}))"""
)
_COOKIES = Regex(r"""[ ]-b[ =]?(?:\\*["'])?(?=[\w.\-]+=)""")
_WORD = Regex(r"(?:\\+[nrt]|\dm)?([A-Za-z][\w\-]*)")
_GLUED = word_set("mysql mysqldump mysqladmin mariadb mariadb-dump")
_SPACED = word_set("sshpass mongo mongosh mongodump mongorestore")
_REGISTRY = word_set("docker podman helm oras skopeo")
_WEB = word_set("curl wget http https")
_ENDS = ("\n", "|", ";", "&", "\\n")
_LOOK_BACK = 200


def _find_short_flags(text: str, hay: Hay) -> Iterator[Span]:
    for at in hay.positions(_HINTS):
        if not text.startswith(_OPTIONS, at + 2):
            continue
        cookies = _COOKIES.match(text, at)
        if cookies:
            if not _WEB.isdisjoint(_command(text, at)):
                yield from cookie.cookie_values(text, cookies.end())
            continue
        option = _OPTION.match(text, at)
        if option is None:
            continue
        group = "quoted" if option["quoted"] else "bare"
        if _takes_password(text, at, option) and not is_placeholder(option[group]):
            yield option.span(group)


def _command(text: str, at: int) -> list[str]:
    """The words before ``at`` in the same command."""
    before = text[max(0, at - _LOOK_BACK) : at]
    start = max((before.rfind(end) + len(end) for end in _ENDS if end in before), default=0)
    return _WORD.findall(before, start)


def _takes_password(text: str, at: int, option: re.Match[str]) -> bool:
    """True if the command before the option is one that takes a password there."""
    before = _command(text, at)
    if option["login"]:
        return not _WEB.isdisjoint(before)
    glued = text[at + 3 : at + 4] not in (" ", "\t")
    if glued and not _GLUED.isdisjoint(before):
        return True
    return not _SPACED.isdisjoint(before) or ("login" in before and not _REGISTRY.isdisjoint(before))


KIND = Kind("short-flag", _HINTS, _find_short_flags)
