"""Passwords behind the short options of tools that are known to take one there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rekal.plain_text import lazy_pattern
from rekal.scrub.secrets import credentials
from rekal.scrub.secrets.kind import Hay, Kind, Span
from rekal.scrub.secrets.named import is_placeholder, word_set

_HINTS = (" -",)
_OPTIONS = ("p", "u", "U", "b", "-user", "-proxy-user")
_OPTION = lazy_pattern(
    r"""[ ](?:-p[ \t]*|(?P<login>(?:-[uU]|--(?:proxy-)?user)[ =]?(?:\\*["'])?[^\s:"'\\/]{1,80}:))"""
    r"""(?:\\*["'](?P<quoted>[^"'\\\n]{3,})\\*["']|(?P<bare>[^\s"'`\\|;&<>\x00-\x1f]{3,}))"""
)
_COOKIES = lazy_pattern(r"""[ ]-b[ =]?(?:\\*["'])?(?=[\w.\-]+=)""")
_WORD = lazy_pattern(r"(?:\\+[nrt]|\dm)?([A-Za-z][\w\-]*|7z\w*)")
_GLUED = word_set("mysql mysqldump mysqladmin mariadb mariadb-dump")
_SPACED = word_set("sshpass mongo mongosh mongodump mongorestore")
_REGISTRY = word_set("docker podman helm oras skopeo")
_WEB = word_set("curl wget http https")
# Options that take a password after a blank, an equals sign or nothing, and the commands that have them so.
_BY_OPTION: dict[str, frozenset[str]] = {
    "-a": word_set("redis-cli valkey-cli keydb-cli"),
    "-w": word_set("ldapsearch ldapmodify ldapadd ldapdelete ldapwhoami ldappasswd"),
    "-P": word_set("zip unzip ssh-keygen sqlcmd"),
    "-N": word_set("ssh-keygen"),
    "-k": word_set("openssl"),
    "-p": word_set("az useradd usermod 7z 7za unrar rar sshpass influx cqlsh clickhouse-client"),
    "-b": word_set("gh glab"),
    "--body": word_set("gh glab"),
    "--value": word_set("az aws gh vercel"),
    "--secret-string": word_set("aws"),
    "-storepass": word_set("keytool jarsigner"),
    "-keypass": word_set("keytool jarsigner"),
    "-deststorepass": word_set("keytool"),
    "-srcstorepass": word_set("keytool"),
    "-passin": word_set("openssl"),
    "-passout": word_set("openssl"),
    "-pass": word_set("openssl"),
    "--encrypt": word_set("qpdf"),
    "--owner-password": word_set("qpdf pdftk"),
    "--pass": word_set("redis-cli"),
}
# These take a password only if the command also says that it sets a secret.
_OF_SECRETS = frozenset(("-b", "--body", "--value"))
_SECRET_WORDS = word_set("secret secrets SecureString keyvault password variable")
_LONG_OPTION = lazy_pattern(
    r"""[ ](?P<option>--?[A-Za-z][A-Za-z\-]*?)(?:[ =]|(?<=[ ]-[pP]))(?:pass:)?"""
    r"""(?:\\*["'](?P<quoted>[^"'\\\n]{3,})\\*["']|(?P<bare>[^\s"'`\\|;&<>\x00-\x1f]{3,}))"""
)
# A name and a password in one argument: ``-U name%password``, ``-u name,password``, ``-a name:password``.
_PAIRS: dict[str, tuple[str, frozenset[str]]] = {
    "-U": ("%", word_set("smbclient rpcclient net smbget")),
    "-u": (",", word_set("lftp ncftp")),
    "-a": (":", word_set("http https xh")),
}
_TYPED = r"""\\*["'`]?(?P<secret>[^\s"'`\\|]{4,128})\\*["'`]?"""
# Options whose password stands elsewhere in the command: before it, or behind.
_ELSEWHERE = {
    "-S": (
        lazy_pattern(rf"(?:echo|printf)[ \t]+(?:-n[ \t]+)?{_TYPED}[ \t]*\|[ \t]*sudo\Z"),
        lazy_pattern(rf" -S\b[^\n<]{{0,80}}<<<[ ]?{_TYPED}"),
    ),
    "-A": (lazy_pattern(rf"(?i)ConvertTo-SecureString[ ]+(?:-String[ ]+)?{_TYPED}\Z"), None),
}
_PAIR_VALUE = lazy_pattern(r"""[ =]?\\*["']?(?P<pair>[^\s"'`\\|;&<>]{3,160})""")
_STARTS = tuple({*(f"-{option}" for option in _OPTIONS), *_BY_OPTION, *_PAIRS, *_ELSEWHERE})
_ENDS = ("\n", "|", ";", "&", "\\n")
_LOOK_BACK = 200


def _find_short_flags(text: str, hay: Hay) -> Iterator[Span]:
    for at in hay.positions(_HINTS):
        if not text.startswith(_STARTS, at + 1):
            continue
        value = _of_option(text, at) or _of_pair(text, at) or _from_elsewhere(text, at)
        if value:
            yield value
            continue
        if not text.startswith(_OPTIONS, at + 2):
            continue
        cookies = _COOKIES.match(text, at)
        if cookies:
            if not _WEB.isdisjoint(_command(text, at)):
                yield from credentials.cookie_values(text, cookies.end())
            continue
        option = _OPTION.match(text, at)
        if option is None:
            continue
        group = "quoted" if option["quoted"] else "bare"
        if _takes_password(text, at, option) and not is_placeholder(option[group]):
            yield option.span(group)


def _of_option(text: str, at: int) -> Span | None:
    """The span of the value of an option of :data:`_BY_OPTION` that stands at ``at``."""
    match = _LONG_OPTION.match(text, at)
    commands = _BY_OPTION.get(match["option"]) if match else None
    if match is None or commands is None:
        return None
    before = _command(text, at)
    group = "quoted" if match["quoted"] else "bare"
    value = match[group]
    if commands.isdisjoint(before) or is_placeholder(value) or value.startswith(("-", "/", "$")):
        return None
    if match["option"] in _OF_SECRETS and _SECRET_WORDS.isdisjoint([*before, *_command(text, match.end())]):
        return None
    if match["option"] == "--value" and "name" in value:
        return None
    return match.span(group)


def _from_elsewhere(text: str, at: int) -> Span | None:
    """The span of a password that the option at ``at`` reads from a pipe, a here-string or an argument before it."""
    before, behind = _ELSEWHERE.get(text[at + 1 : at + 3], (None, None))
    begin = max(0, at - _LOOK_BACK)
    match = before.search(text[begin:at]) if before else None
    if match and not is_placeholder(match["secret"]):
        return begin + match.start("secret"), begin + match.end("secret")
    match = behind.match(text, at) if behind and text.endswith("sudo", 0, at) else None
    return match.span("secret") if match and not is_placeholder(match["secret"]) else None


def _of_pair(text: str, at: int) -> Span | None:
    """The span of the password of a name and password in one argument."""
    joint, commands = _PAIRS.get(text[at + 1 : at + 3], ("", frozenset[str]()))
    match = _PAIR_VALUE.match(text, at + 3) if joint else None
    if match is None or commands.isdisjoint(_command(text, at)):
        return None
    name, found, value = match["pair"].partition(joint)
    if not found or not name or len(value) < 3 or is_placeholder(value):
        return None
    return match.start("pair") + len(name) + 1, match.end("pair")


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
