"""Values given to a name that says it is secret, in JSON, YAML, code, options and URLs; and stand-ins for them.

One search serves the kinds of all these forms. It starts from the few syllables such names share, because a search for
whole names at every position would cost more than all other kinds together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

import msgspec

from rekal.plain_text import lazy_pattern
from rekal.scrub.secrets.kind import Finder, Hay, Kind, Span, has_digit

# Values that stand in for a secret: variables, calls, types, examples, crossed-out text.


def word_set(text: str) -> frozenset[str]:
    """The words of ``text`` as a set."""
    return frozenset(text.split())


_WORDS = word_set("""
    null none nil undefined true false yes no string str number int bool boolean any object unknown
    void bytes optional required disabled enabled default empty pass password passwd pwd secret token key
    value text hidden basic bearer changeme changeit todo tbd na n/a file env input prompt username
    user admin test example sample dummy fake placeholder redacted masked secretstr
""")
_STAND_IN = lazy_pattern(
    r"""^(?:
        \[?redacted | <[^>]*>?$ | \$[A-Za-z_{(] | \$?\{\{ | \{[\w.\[\]'"-]*\}$ | %\(?\w+\)?[%sd]? $ | %[sdvq]
      | @ [A-Za-z_]+ $ | \*{2,} | \.{2,} | …| x{3,} | X{3,} | -+$ | _+$ | \#
      | (?:your|my|the|some|insert|enter|replace|put|example|sample|dummy|fake|placeholder)[-_ .]
      | (?:process|os|import\.meta|ctx|context|self|this|cls|config|cfg|settings|options|opts|args|env|environ|secrets|
          vars|var|params|props|req|request|response|res|data|state|user|body|local|module|inputs|github|steps|event)
        (?:\.|\[|\?\.)
      | !\w+
    )""",
    re.VERBOSE,
)
_INSIDE = lazy_pattern(
    r"\$\{|\$\(|\{\{|#\{|<[a-z][\w -]*>|\*{3,}|\.{3}|…|x{6,}|X{6,}|(?i:example|placeholder|redacted|changeme|your[-_ ])"
)
_CALL = lazy_pattern(r"^[A-Za-z_][\w.:?!&*<>]*(?:\(|\[)")
_SEQUENCES = ("0123456789", "1234567890", "abcdefghij", "abcdef123456", "abc123def456")


def is_placeholder(value: str) -> bool:
    """True if ``value`` stands in for a secret: a variable, a call, an example."""
    stripped = value.strip().strip("\"'`")
    low = stripped.lower()
    return (
        len(set(stripped)) <= 2
        or low in _WORDS
        or _STAND_IN.search(stripped) is not None
        or _INSIDE.search(stripped) is not None
        or _CALL.match(stripped) is not None
        or any(low.startswith(sequence) for sequence in _SEQUENCES)
    )


Form = Literal["flag", "query", "env", "json", "config"]

_HINTS = ("pass", "pw", "secret", "token", "key", "auth")

_BEFORE = lazy_pattern(r"[A-Za-z0-9_\-]*\Z")
_AFTER = lazy_pattern(
    r"""(?P<rest>[A-Za-z0-9_\-]{0,24}+)(?P<close>\\*["'`])?\]?"""
    r"""(?P<sep>[ \t]{0,4}(?:=>|:=|={1,3}|!={1,2}|:)[ \t]{0,4}|[ ])"""
)
_OPEN = lazy_pattern(r"""(?:[A-Za-z]{1,2}(?=\\*["']))?(?P<slashes>\\*)(?P<quote>["'`])""")
_BARE = lazy_pattern(r"""[^\s"'`\\<>\x00-\x1f]{1,512}""")
_LONGEST = 512
_LONGEST_STRING = 8192
_REST = lazy_pattern(r"[A-Za-z0-9+/_\-=.]{1,8192}")
_QUERY_BARE = lazy_pattern(r"""[^\s"'`\\<>&#;,)\]}\x00-\x1f]{1,512}""")
_LIST_END = lazy_pattern(r"[,;&|)}\]]")
_WORD = lazy_pattern(r"[A-Za-z]?[a-z]{3,}|[A-Z]{4,}")
_PASSWORD = lazy_pattern(
    r"(?:password|passwd|passphrase|passcode|pwd|(?:^|[_\-])(?:pass|pw))(?:[_\-]?(?:\d+|prod|dev|staging|live|old|new))?$"
)
_SECRET = lazy_pattern(
    r"(?:secret|(?:api|app|access|private|auth|signing|encryption|encrypt|master|account|secret|storage|license|service|"
    r"session|shared|consumer|client|jwt|admin|deploy|webhook|registration|subscription|publishable|functions|host)[_\-]?key(?:[_\-]?base)?"
    r"|token|credentials?|(?:^|[_\-])auth|(?:^|[_\-])cred)(?:[_\-]?(?:\d+|prod|dev|staging|live|old|new|value))?$"
)

# Of twenty random small letters five consonants in a row stand in nine of ten; in words hardly ever.
_CONSONANTS = lazy_pattern(r"[bcdfghjklmnpqrstvwxzBCDFGHJKLMNPQRSTVWXZ]{5}")
_ONE_WORD = lazy_pattern(r"[A-Za-z0-9!#*+%^&@]+")
_SMALL_RUN = lazy_pattern(r"[a-z]{3,}")

_TELLING = word_set("password passwd pwd secret token enter invalid required must should please")
_HARMLESS = lazy_pattern(
    r"(?:^|[_\-])(?:page|next|prev|continu\w*|cursor|cancel\w*|design|max|min|stop|eos|bos|pad|sync|resume|input|output|public|primary|foreign|"
    r"partition|sort|cache|hash|range|group|row|idempotency|unique|map|dict|object|item|routing|dedup|order|composite|"
    r"translation|shortcut|hot|arrow|meta|ctrl|registry|known|trace|event|message|lookup|join|natural|surrogate)[_\-]?"
    r"(?:token|key)"
)


class NamedValue(msgspec.Struct, frozen=True):
    """One value under a secret name."""

    form: Form
    start: int
    end: int


# The kinds of all forms ask for the same text one after the other.
@lru_cache(maxsize=1)
def named_values(text: str, hay: Hay) -> tuple[NamedValue, ...]:
    """All values of ``text`` under secret names that look like secrets."""
    found: dict[int, NamedValue] = {}
    for hint in _HINTS:
        done = 0
        for at in hay.positions((hint,)):
            if at < done:  # a name inside the last value: looking at all of them would cost the square of its length
                continue
            after = _AFTER.match(text, at)
            if after is None or (after["sep"] == " " and "-" not in text[max(0, at - 24) : at]):
                continue
            value = _read_named_value(text, at, after)
            if value:
                found[value.start] = value
                done = value.end
    return tuple(found[start] for start in sorted(found))


def _read_named_value(text: str, at: int, after: re.Match[str]) -> NamedValue | None:
    before = _BEFORE.search(text[max(0, at - 40) : at])
    start = at - len(before[0] if before else "")
    if text[start - 1 : start] == "\\" and text[start] in "nrtbf":
        start += 1
    name = text[start : after.end("rest")]
    spaced = after["sep"] == " "
    option = name.startswith("-") and not after["close"]
    if spaced and not option:
        return None
    bare_name, password, secret = _meaning(name)
    if bare_name == "pass" and after["sep"] != "=" and not after["close"]:  # "PASS: TestX", "tests pass: ..."
        return None
    form = _assignment_form(text, start, name, after, option)
    if not password and not secret and not (form == "query" and bare_name == "key"):
        return None
    opened = _OPEN.match(text, after.end())
    if opened:
        return _read_quoted(text, opened, form, password, bare_name)
    return _read_bare(text, after, form, password)


@lru_cache(maxsize=512)
def _meaning(name: str) -> tuple[str, bool, bool]:
    """``name`` in lower case with its parts apart, whether it says password and whether it says another secret."""
    bare = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.lstrip("-")).lower()
    # In environments any KEY may be one; in code most keys are those of maps.
    any_key = name.isupper() and bare.endswith(("_key", "-key"))
    secret = (any_key or _SECRET.search(bare) is not None) and not _HARMLESS.search(bare)
    return bare, _PASSWORD.search(bare) is not None, secret


def _assignment_form(text: str, start: int, name: str, after: re.Match[str], option: bool) -> Form:
    if after["close"]:
        return "json"
    if option and (name.startswith("--") or after["sep"] == " "):
        return "flag"
    if after["sep"] == "=" and text[start - 1 : start] in ("?", "&", ";") and start:
        return "query"
    if after["sep"] == "=" and name.upper() == name:
        return "env"
    return "config"


def _read_quoted(text: str, opened: re.Match[str], form: Form, password: bool, name: str) -> NamedValue | None:
    start = opened.end()
    end = _quoted_end(text, start, opened["quote"], len(opened["slashes"]))
    line = text.find("\n", start, end if end >= 0 else start + 400)
    if end < 0 or line >= 0:  # not closed on its line: a stray quote, or text cut short
        bare = _BARE.match(text, start)
        end = bare.end() if bare else start
    value = text[start:end]
    if len(value) < 4 or is_placeholder(value):
        return None
    if password:
        return NamedValue(form, start, end) if not _is_prose(value, name) else None
    return NamedValue(form, start, end) if looks_generated(value) else None


def _quoted_end(text: str, start: int, quote: str, level: int) -> int:
    """End of the content of a string whose content begins at ``start``, or -1 when it is not closed nearby.

    ``level`` is the number of backslashes before the opening quote: 0 plain, 1 escaped once, 3 twice. The closing
    quote has as many, plus whole escaped backslashes of the content (2 * (level + 1) each); any other number of
    backslashes makes it a quote inside the string.
    """
    at = start
    limit = min(len(text), start + _LONGEST_STRING)
    while (at := text.find(quote, at, limit)) >= 0:
        slashes = 0
        while at - slashes > start and text[at - slashes - 1] == "\\":
            slashes += 1
        if slashes >= level and (slashes - level) % (2 * (level + 1)) == 0:
            return at - level
        at += 1
    return -1


def _is_prose(value: str, name: str) -> bool:
    """A label or message about passwords rather than a password."""
    low = value.lower()
    labelled = any(word in low for word in _TELLING) and (" " in value or not has_digit(value))
    return labelled or low == name or len(value.split()) > 6


def _read_bare(text: str, after: re.Match[str], form: Form, password: bool) -> NamedValue | None:
    regex = _QUERY_BARE if form == "query" else _BARE
    match = regex.match(text, after.end())
    if match is None:
        return None
    value = match[0] if form == "env" else _LIST_END.split(match[0], maxsplit=1)[0]
    value = value.rstrip(",;.:)}]")
    if not (
        (password and _looks_typed(value, form)) or looks_generated(value) or (form == "env" and _is_one_word(value))
    ):
        return None
    if is_placeholder(value) or value.startswith(("-", "[", "{")):
        return None
    end = after.end() + len(value)
    rest = _REST.match(text, end) if len(value) == _LONGEST else None
    return NamedValue(form, after.end(), rest.end() if rest else end)


def _looks_typed(value: str, form: Form) -> bool:
    """True if an unquoted ``value`` is a password: anything where only values stand, else no identifier or path."""
    if form in ("flag", "env", "query"):
        return len(value) >= 4
    if value.isdigit():
        return len(value) >= 4
    identifier = any(word in value.lower() for word in _TELLING) or "/" in value
    return len(value) >= 6 and not identifier and re.search(r"[\d!#%^*@]", value) is not None


def _is_one_word(value: str) -> bool:
    """True for letters, digits and signs in one piece: all that an environment can mean under a secret name."""
    return len(value) >= 10 and _ONE_WORD.fullmatch(value) is not None and has_digit(value) and not value.isdigit()


def _is_wordy(value: str) -> bool:
    """True if words of four letters or more make up most of ``value``."""
    return sum(map(len, _WORD.findall(value))) > 0.7 * len(value)


def looks_generated(value: str) -> bool:
    """True if ``value`` looks generated: eight or more characters, digits among letters, neither words nor a path."""
    if len(value) < 8 or re.search(r"[\s(){}<>\[\]|]", value):
        return False
    if not re.search(r"\d", value):
        return _looks_drawn_from_letters(value)
    if not re.search(r"[A-Za-z]", value) or "://" in value or value.startswith(("/", "./", "~", "../", "@")):
        return False
    return not _is_wordy(value)


def _looks_drawn_from_letters(value: str) -> bool:
    """True if ``value`` is 16 or more letters in one piece that no words make up."""
    if len(value) < 16 or not value.isalpha() or not value.isascii():
        return False
    if not (value.islower() or value.isupper()):
        # In random letters small ones seldom stand three in a row; in names they nearly always do.
        return sum(map(len, _SMALL_RUN.findall(value))) < len(value) / 2
    vowels = sum(value.lower().count(vowel) for vowel in "aeiouy")
    return vowels < 0.25 * len(value) or _CONSONANTS.search(value) is not None


def _by_form(form: Form) -> Finder:
    """A finder of the named values of one form."""

    def find(text: str, hay: Hay) -> Iterator[Span]:
        return ((value.start, value.end) for value in named_values(text, hay) if value.form == form)

    return find


KINDS = (
    Kind("cli-flag", _HINTS, _by_form("flag")),
    Kind("env-assignment", _HINTS, _by_form("env")),
    Kind("json-field", _HINTS, _by_form("json")),
    Kind("url-query", _HINTS, _by_form("query")),
    Kind("config-field", _HINTS, _by_form("config")),
)
