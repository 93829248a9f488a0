"""Home directories and names of accounts: the user's own home becomes ``~``, anybody else's gets a pseudonym.

Covers Linux, macOS (also under ``/private``), Windows with any number of escaped backslashes or with forward slashes,
Git Bash, WSL, percent-encoded URIs, and the form in which an agent writes a directory as one name
(``-home-user-project``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from rekal.plain_text import lazy_pattern
from rekal.scrub.personal_data import name_pseudonym
from rekal.scrub.rules import Rules
from rekal.scrub.secrets.named import word_set

# Names of accounts outside of paths: environments, ``id``, ``ls -l``, ``ps``, prompts, ``~name``, Windows domains.
#
# The name becomes the same pseudonym that its home directory would get. A form is tried only where a literal of it
# stands, because a pattern that begins with a name would be tried at every character of every text.

Span = tuple[int, int]

_ACCOUNT = r"[A-Za-z_][A-Za-z0-9_.\-]{1,31}"
_QUOTE = r"""\\*["']?"""
_VARIABLE = lazy_pattern(
    rf"(?<![A-Za-z])(?:USERNAME|USER|LOGNAME){_QUOTE}[ ]?[=:][ ]?{_QUOTE}(?P<name>{_ACCOUNT})(?![\w(./])"
)
_IDENTITY = lazy_pattern(rf"(?:(?<=[ug]id=)|(?<=groups=)|(?<=,))\d+\((?P<name>{_ACCOUNT})\)")
_LISTED = lazy_pattern(
    rf"[dlbcps\-](?:[r\-][w\-][xsStT\-]){{3}}[@+.]?[ \t]+\d+[ \t]+(?P<name>{_ACCOUNT})"
    rf"(?:[ \t]+(?P<group>{_ACCOUNT}))?(?=[ \t])"
)
# A line of ``ps aux``: the name, the number, two shares, two sizes and the terminal.
_PROCESS = lazy_pattern(
    rf"(?P<name>{_ACCOUNT})[+]?[ ]+\d+(?:[ ]+\d+\.\d){{2}}(?:[ ]+\d+){{2}}[ ]+(?:\?|pts/\d+|tty\w+)[ ]"
)
_PROMPT_NAME = lazy_pattern(rf"(?<![\w.@/:]){_ACCOUNT}\Z")
_PROMPT_REST = lazy_pattern(r"@[\w\-]+:[~/][^\s$#:@]{0,80}[$#](?=\s)")
_BRACKET_PROMPT = lazy_pattern(rf"\[(?P<name>{_ACCOUNT})@[\w.\-]+ [^\]\n]{{1,80}}\][$#]")
_TILDE = lazy_pattern(r"(?<![\w/~.^\-])~(?P<name>[a-z][a-z0-9_\-]{2,31})(?=/)")
_DOMAIN = lazy_pattern(rf"(?:whoami(?:\s|\\n)+|/user:)(?:[A-Za-z0-9\-]+\\+)(?P<name>{_ACCOUNT})")


def find_account_names(text: str) -> Iterator[Span]:
    """Yield the spans of account names, of persons and of machines alike."""
    if "=" in text or ":" in text:
        for literal in ("USER", "LOGNAME"):
            yield from _names_at(text, literal, _VARIABLE)
    if "~" in text:
        yield from _names_at(text, "~", _TILDE)
    if ("?" in text and " ? " in text) or ("/" in text and " pts/" in text):
        yield from _find_processes(text)
    if "(" in text and "id=" in text and ("uid=" in text or "gid=" in text):
        yield from (match.span("name") for match in _IDENTITY.finditer(text))
    if "rw" in text and ("-rw" in text or "drwx" in text or "lrwx" in text):
        for match in _LISTED.finditer(text):
            yield match.span("name")
            if match["group"]:
                yield match.span("group")
    if "@" in text:
        yield from _find_prompts(text)
    if "\\" in text and ("whoami" in text or "/user:" in text):
        yield from (match.span("name") for match in _DOMAIN.finditer(text))


def _names_at(text: str, literal: str, pattern: re.Pattern[str]) -> Iterator[Span]:
    """Yield the spans of the names that ``pattern`` finds where ``literal`` stands."""
    at = text.find(literal)
    while at >= 0:
        match = pattern.match(text, at)
        if match:
            yield match.span("name")
        at = text.find(literal, at + 1)


def _find_processes(text: str) -> Iterator[Span]:
    """Yield the names of the lines of ``ps aux``, each looked for from the terminal back to the start of its line."""
    for terminal in (" ? ", " pts/"):
        at = text.find(terminal)
        while at >= 0:
            # Before a question of code stands no number and no column of blanks.
            if text[at - 1] in " 0123456789":
                line = text[max(0, at - 120) : at].replace("\\n", " \n")
                match = _PROCESS.match(text, max(0, at - len(line) + line.rfind("\n") + 1))
                if match and match.end() > at:
                    yield match.span("name")
            at = text.find(terminal, at + 1)


def _find_prompts(text: str) -> Iterator[Span]:
    """Yield the names of shells' prompts: ``name@host:~/folder$`` and ``[name@host folder]$``."""
    if "]$" in text or "]#" in text:
        yield from (match.span("name") for match in _BRACKET_PROMPT.finditer(text))
    at = text.find("@")
    while at >= 0:
        # What follows the sign is looked at first: few addresses go on like a prompt.
        name = _PROMPT_NAME.search(text, max(0, at - 33), at) if _PROMPT_REST.match(text, at) else None
        if name:
            yield name.span()
        at = text.find("@", at + 1)


_SLASH = r"(?:\\*/|\\+|%2[Ff]|%5[Cc])"
_NAME = r"""[^\\/\s"'`:;,<>|?*()\[\]{}&=#%$@~!]{1,64}"""
_END = r"""(?=[/\\\s"'`:;,<>|?*()\[\]{}&=#%$@!]|\.(?:\s|\Z)|\Z)"""
_HOMES = ("home", "users")

# What follows "home" or "users": a name and what ends it; Windows names may hold one space before a backslash.
_PATH = lazy_pattern(
    rf"(?:home|[Uu]sers|HOME|USERS){_SLASH}(?P<name>{_NAME}(?: [\w.\-]{{1,32}}(?=\\))?)(?P<more>{_SLASH})?"
)
_DASHED = lazy_pattern(r"(?:home|[Uu]sers)-(?P<name>[A-Za-z0-9_\-]{1,64})")
# What may stand before it: a slash, before that a drive or mount, and before that no longer path or word.
_BEFORE = lazy_pattern(
    rf"(?:{_SLASH}private(?={_SLASH})|{_SLASH}mnt{_SLASH}[A-Za-z](?={_SLASH})|(?<![A-Za-z0-9])[A-Za-z](?::|%3[Aa])|"
    rf"{_SLASH}cygdrive{_SLASH}[A-Za-z](?={_SLASH})|{_SLASH}(?:export|usr|var|nfs|net|data)(?={_SLASH})|"
    rf"(?<![\w.~/\\])\\{{2,4}}[\w.$\-]{{1,40}}(?:\\{{1,2}}[\w.$\-]{{1,40}})?(?=\\)|"
    rf"(?<![\w.~/\\]){_SLASH}[A-Za-z](?={_SLASH}\Z))?{_SLASH}\Z"
)
_DASH_BEFORE = lazy_pattern(r"(?:(?<![A-Za-z0-9])[A-Za-z]-|-mnt-[A-Za-z])?-\Z")
_IN_PATH = lazy_pattern(
    r"(?:(?<!\\[nrtbf])(?<=[\w.~\\\-%/])(?<!://)(?<!:///)(?<![( =\"']-[ILB])(?<!%20)(?<!%3D)(?<!\[\dm)(?<!\d\dm))\Z"
)
_PSEUDONYM = lazy_pattern(r"user-[0-9a-f]{6}")

# Accounts of machines, shared folders, and what documentation writes.
_NOBODY = word_set("""
    shared public default all defaultuser0 runner runneradmin vsts ubuntu debian vagrant ec2-user
    node app coder codespace vscode gitpod git root user users username you me someone name youruser
    yourname your-name your_user your-username foo bar alice bob linuxbrew admin administrator guest
    test tester nobody www-data jenkins circleci travis docker sandbox workspace work dev developer
    build builder page pages index me. .. . src components staff wheel adm cdrom sudo dip plugdev users
    docker postgres mysql redis nginx nobody nogroup daemon bin sys runner_user circleci www root: none null string
    name: video audio input kvm lp lpadmin sambashare dialout netdev bluetooth messagebus systemd-network
""")
_LOOK_BACK = 96
# What a whole path stands behind. Elsewhere `/home/page` may be an address of a site.
_WHOLE_PATH = lazy_pattern(r"""(?:\bcd |\b(?:HOME|PWD|USERPROFILE|cwd|workdir|home)\\*["']?[ ]?[=:][ ]?\\*["']?)\Z""")
_BORDERS = frozenset(" \t\n\"'`=(,;")
# The character before "home" or "users" in any spelling: a slash, a dash, or the end of %2F or %5C.
_AHEAD = frozenset("/\\-FfCc")


def _positions(low: str, name: str) -> Iterator[int]:
    at = low.find(name)
    while at >= 0:
        yield at
        at = low.find(name, at + 1)


class Homes:
    """Rewrites the home directories of texts by ``rules``."""

    def __init__(self, rules: Rules) -> None:
        self._salt = rules.salt
        split = [re.split(r"[/\\]", home.rstrip("/\\")) for home in rules.homes if home.rstrip("/\\")]
        usual = [parts for parts in split if len(parts) > 1 and parts[-2].casefold() in _HOMES]
        names = {rules.username, *(parts[-1] for parts in usual)}
        self._own = {name.casefold() for name in names if name} - {"root"}
        self._own_dashed = sorted((_dashed(name) for name in self._own), key=len, reverse=True)
        self._of = lru_cache(maxsize=256)(self._of_name)
        self._unusual = [_Listed(parts) for parts in split if parts not in usual]

    def rewrite(self, text: str, low: str) -> str:
        """``text`` with its homes rewritten. ``low`` is it in lower case, of the same length."""
        edits: list[tuple[int, int, str]] = []
        for name in _HOMES:
            for at in _positions(low, name):
                if text[at - 1 : at] not in _AHEAD:
                    continue
                edit = self._path(text, at) or self._dashed_path(text, at)
                if edit:
                    edits.append(edit)
        for listed in self._unusual:
            edits.extend(listed.edits(text, low))
        for start, end in find_account_names(text):
            _, replacement = self._of(text[start:end])
            if replacement:
                edits.append((start, end, replacement))
        return _apply_edits(text, sorted(edits)) if edits else text

    def _path(self, text: str, at: int) -> tuple[int, int, str] | None:
        match = _PATH.match(text, at)
        if match is None:
            return None
        begin, end = match.span("name")
        name = text[begin:end]
        more = match["more"]
        if not more:
            name = name.rstrip(".")
            end = begin + len(name)
        own, replacement = self._of(name)
        if not replacement:
            return None
        start, inside = _beginning(text, at)
        if not (own or more or self._ends_a_home(text, start, at, name)):
            return None
        if start == at:
            return None
        if own and not inside:
            return start, end, "~"
        return None if inside and not own else (begin, end, replacement)

    def _ends_a_home(self, text: str, start: int, at: int, name: str) -> bool:
        """True if the path that ends with the name at ``at`` is a home: no address of a site is written so."""
        if not name[:1].isalpha() or "." in name:
            return False
        return text[at] == "U" or _WHOLE_PATH.search(text[max(0, start - 24) : start]) is not None

    def _of_name(self, name: str) -> tuple[bool, str]:
        """Return (is the user's own, replacement) for ``name``; the replacement is empty when the name may stay."""
        own = name.casefold() in self._own
        stays = not name or name.casefold() in _NOBODY or _PSEUDONYM.fullmatch(name)
        return own, "" if stays and not own else f"user-{name_pseudonym(self._salt, name)}"

    def _dashed_path(self, text: str, at: int) -> tuple[int, int, str] | None:
        match = _DASHED.match(text, at)
        before = _DASH_BEFORE.search(text[max(0, at - _LOOK_BACK) : at]) if match else None
        if match is None or before is None:
            return None
        name = match["name"]
        start = at - len(before[0])
        for own in self._own_dashed:
            if name.casefold() == own or name.casefold().startswith(f"{own}-"):
                return start, match.start("name") + len(own), "~"
        if start and re.match(r"[\w.\-]", text[start - 1]):
            return None
        first, dash, _ = name.partition("-")
        if not dash or len(first) < 2 or first.casefold() in _NOBODY or _PSEUDONYM.match(name):
            return None
        return match.start("name"), match.start("name") + len(first), f"user-{name_pseudonym(self._salt, first)}"


def _beginning(text: str, at: int) -> tuple[int, bool]:
    """Return (start, in a path) of the home whose "home" or "users" is at ``at``; (``at``, False) for none."""
    if text[at - 1] == "/" and (at == 1 or text[at - 2] in _BORDERS):
        return at - 1, False
    before = _BEFORE.search(text[max(0, at - _LOOK_BACK) : at])
    if before is None:
        return at, False
    start = at - len(before[0])
    return start, _IN_PATH.search(text[max(0, start - 8) : start]) is not None


def _dashed(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "-", name)


class _Listed:
    """A home that stands elsewhere than under ``/home`` or ``Users``, such as ``/root``."""

    def __init__(self, parts: list[str]) -> None:
        self._hint = "".join(ch if ch.isascii() else "?" for ch in parts[-1]).lower()
        self._last = lazy_pattern(re.escape(parts[-1]) + _END)
        # Escapes and percent encoding make a path longer, never more than this.
        self._reach = 8 * sum(len(part) + 1 for part in parts[:-1])
        self._before = lazy_pattern(_SLASH.join([*map(re.escape, parts[:-1]), r"\Z"]) if len(parts) > 1 else r"\Z")

    def edits(self, text: str, low: str) -> list[tuple[int, int, str]]:
        out = []
        for at in _positions(low, self._hint):
            match = self._last.match(text, at)
            before = self._before.search(text[max(0, at - self._reach) : at]) if match else None
            if match and before:
                start = at - len(before[0])
                if not _IN_PATH.search(text[max(0, start - 8) : start]):
                    out.append((start, match.end(), "~"))
        return out


def _apply_edits(text: str, edits: list[tuple[int, int, str]]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end, replacement in edits:
        if start >= done:
            pieces.extend((text[done:start], replacement))
            done = end
    return "".join((*pieces, text[done:]))
