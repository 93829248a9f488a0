"""The scrubber: finds what must not be stored in a text and replaces it."""

from __future__ import annotations

import contextlib
import itertools
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator

from rekal.errors import ConfigError
from rekal.plain_text import lazy_pattern
from rekal.scrub import personal_data
from rekal.scrub.paths import Homes
from rekal.scrub.personal_data import SHORTEST_NUMBER, find_numbers
from rekal.scrub.rules import Rules, TimedPattern
from rekal.scrub.secrets import KINDS
from rekal.scrub.secrets.kind import Prefilter, Span
from rekal.scrub.views import View, read_hexadecimal, read_views

Finding = tuple[str, int, int]

_LONGEST_MARKER = 64
_MARKER = lazy_pattern(rf"\[redacted:[a-z0-9\-]{{1,{_LONGEST_MARKER - 11}}}\]")
# Replacing a finding or a home can complete another's surroundings.
_MAX_ROUNDS = 8
# Base64 within JSON within base64 is as deep as configurations go.
_MAX_DEPTH = 2
# The shortest finding with its surroundings, "pwd=abcd" or a home directory, is longer.
_SHORTEST = 6
# Characters of texts whose scrubbing is remembered: a third of a transcript is what it said shortly before.
_REMEMBERED = 4 << 20
_BARE_VALUE = lazy_pattern(r"""(?P<quote>\\*["'])[ \t]{0,4}:[ \t]{0,4}\Z""")
_LONE = lazy_pattern("[\ud800-\udfff\x00]")


class Scrubber:
    """Scrubs by one set of rules. Build it once: it compiles them.

    Scrubbing scrubbed text changes nothing, and replaces only the characters of a secret, never the quotes, escapes or
    line breaks around it. Raises :class:`rekal.errors.ConfigError` for a pattern of the rules that does not compile.
    ``tell_slow`` is called with a pattern that came with the checkout and takes too long: from then on it is left out.
    """

    def __init__(self, rules: Rules, tell_slow: Callable[[str], None] = lambda _: None) -> None:
        self.rules = rules
        self._shared = list(_timed(rules.shared, tell_slow))
        self._allow = _compile_patterns(rules.allow, "allow")
        self._custom = _compile_patterns(rules.custom, "custom")
        self._homes = Homes(rules)
        self._prefilter = Prefilter(KINDS)
        self._known: dict[str, str] = {}
        self._room = _REMEMBERED

    def text(self, text: str) -> str:
        """``text`` without secrets, with its homes rewritten, and valid: no NUL, no lone surrogates."""
        if len(text) < _SHORTEST:
            return _valid(text)
        known = self._known.get(text)
        if known is None:
            known = self._scrubbed(text)
            self._remember(text, known)
        return known

    def _remember(self, text: str, scrubbed: str) -> None:
        if len(text) > _REMEMBERED:
            return
        if len(text) > self._room:
            self._known.clear()
            self._room = _REMEMBERED
        self._known[text] = scrubbed
        self._room -= len(text)

    def _scrubbed(self, text: str) -> str:
        text = _valid(text)
        for _ in range(_MAX_ROUNDS):
            text, ascii_text, low = self._without_homes(text)
            findings = self._findings(text, ascii_text, low)
            if not findings:
                break
            text = self._replace(text, findings)
        return text

    def _without_homes(self, text: str) -> tuple[str, str, str]:
        """``text`` with its homes rewritten, and its two forms."""
        forms = _forms(text)
        for _ in range(_MAX_ROUNDS):
            rewritten = self._homes.rewrite(text, forms[1])
            if rewritten is text:
                break
            text, forms = rewritten, _forms(rewritten)
        return text, *forms

    def find(self, text: str) -> list[Finding]:
        """Return all secrets as (kind, start, end), in order and without overlaps. Home directories are not listed."""
        return self._findings(text, *_forms(text))

    def _findings(self, text: str, ascii_text: str, low: str) -> list[Finding]:
        secrets = _merged(self._secrets(text, ascii_text, low))
        personal = _merged(self._personal(text, ascii_text))
        if personal:
            secrets = sorted([*secrets, *_apart(personal, secrets)], key=_start_of)
        return _outside_markers(text, secrets) if secrets else secrets

    def kinds(self, text: str) -> Counter[str]:
        """Count the findings of each kind in ``text``."""
        return Counter(kind for kind, _, _ in self.find(text))

    def _secrets(self, text: str, ascii_text: str, low: str) -> list[Finding]:
        out, runs = self._find_kinds(text, ascii_text, low)
        for view in read_views(text, ascii_text, runs):
            out.extend(self._in_view(text, view, depth=1))
        for pattern in self._custom:
            group: str | int = "secret" if "secret" in pattern.groupindex else 0
            spans = (match.span(group) for match in pattern.finditer(text))
            out.extend(
                ("custom", *span) for span in spans if 0 <= span[0] < span[1] and not self._is_allowed(text, *span)
            )
        for timed in self._shared:
            places = [span for span in timed.find_spans(text) if 0 <= span[0] < span[1]]
            out.extend(("custom", *span) for span in places if not self._is_allowed(text, *span))
        return out

    def _find_kinds(self, text: str, ascii_text: str, low: str, depth: int = 0) -> tuple[list[Finding], bool]:
        """Findings of the built-in kinds, also in hexadecimal runs; and if the text has runs of token characters."""
        out: list[Finding] = []
        hexadecimal: list[View] = []
        candidates, runs = self._prefilter.candidates(ascii_text, low)
        for kind, hay in candidates:
            if hay.hexes and not hexadecimal:
                hexadecimal = list(read_hexadecimal(text, hay))
            for start, end in kind.find(text, hay):
                if not self._is_allowed(text, start, end):
                    out.append((kind.name, start, end))
        for view in hexadecimal:
            out.extend(self._in_view(text, view, depth + 1))
        return out, runs

    def _in_view(self, text: str, view: View, depth: int) -> Iterator[Finding]:
        """Findings in another reading of ``text``, at their places in it; readings of readings only once more."""
        forms = _forms(view.text)
        found, runs = self._find_kinds(view.text, *forms, depth)
        if depth < _MAX_DEPTH:
            for inner in read_views(view.text, forms[0], runs):
                found.extend(self._in_view(view.text, inner, depth + 1))
        for kind, start, end in found:
            places: Iterator[Span] = view.places_of(start, end)
            yield from ((kind, left, right) for left, right in places if not self._is_allowed(text, left, right))

    def _personal(self, text: str, ascii_text: str) -> list[Finding]:
        out: list[Finding] = []
        if len(text) >= SHORTEST_NUMBER:
            out.extend(found for found in find_numbers(text, ascii_text) if not self._is_allowed(text, *found[1:]))
        if self.rules.email != "keep" and "@" in text:
            out.extend(
                ("email", *span) for span in personal_data.find_emails(text) if not self._is_allowed(text, *span)
            )
        if self.rules.email != "keep" and personal_data.may_spell_emails(text):
            spelled = personal_data.find_spelled_emails(text)
            out.extend(("email", *span) for span in spelled if not self._is_allowed(text, *span))
        if self.rules.ip != "keep":
            addresses = itertools.chain(personal_data.find_public_ips(text), personal_data.find_public_ipv6(text))
            out.extend(("ip", *span) for span in addresses if not self._is_allowed(text, *span))
        return out

    def _is_allowed(self, text: str, start: int, end: int) -> bool:
        return any(pattern.fullmatch(text, start, end) for pattern in self._allow)

    def _replace(self, text: str, findings: list[Finding]) -> str:
        pieces = []
        done = 0
        for kind, start, end in findings:
            pieces.append(text[done:start])
            if kind == "email" and self.rules.email == "pseudonym":
                kind = f"email-{personal_data.name_pseudonym(self.rules.salt, text[start:end])}"
            # Other kinds of findings hold what no bare number of JSON can hold.
            quote = _missing_quote(text, start) if kind in ("json-field", "card") else ""
            in_list = kind == "card" and not quote and _is_list_item(text, start, end)
            pieces.append("0" if in_list else f"{quote}[redacted:{kind}]{quote}")
            done = end
        return "".join((*pieces, text[done:]))


def _timed(patterns: tuple[str, ...], tell_slow: Callable[[str], None]) -> Iterator[TimedPattern]:
    for pattern in patterns:
        # `status` and `init` name one that is broken.
        with contextlib.suppress(ValueError):
            yield TimedPattern(pattern, tell_slow)


def _missing_quote(text: str, start: int) -> str:
    """The quotes that keep JSON valid when the value at ``start`` is a bare number: those of its name."""
    name = _BARE_VALUE.search(text[max(0, start - 12) : start]) if text[start].isdigit() else None
    return name["quote"] if name else ""


def _is_list_item(text: str, start: int, end: int) -> bool:
    """True if a number may be an item of a JSON list: only another number then keeps it valid, however deep it is."""
    before, after = text[max(0, start - 12) : start].rstrip(), text[end : end + 12].lstrip()
    return text[start:end].isdigit() and before[-1:] in ("[", ",") and after[:1] in ("]", ",")


def _valid(text: str) -> str:
    if "\x00" not in text:
        if text.isascii():
            return text
        try:
            text.encode()
        except UnicodeEncodeError:
            return _LONE.sub("\ufffd", text)
        return text
    return _LONE.sub("\ufffd", text)


def _forms(text: str) -> tuple[str, str]:
    """``text`` with one ``?`` for every character that is not ASCII, and that in lower case.

    Positions stay the same, and an ASCII string is the fastest to search.
    """
    ascii_text = text if text.isascii() else text.encode("ascii", "replace").decode("ascii")
    return ascii_text, ascii_text.lower()


def _merged(findings: list[Finding]) -> list[Finding]:
    """``findings`` with overlaps joined, each under the name that came first (kinds come specific first)."""
    if len(findings) < 2:
        return findings
    ranked = sorted(enumerate(findings), key=lambda item: (item[1][1], item[0]))
    out: list[tuple[int, Finding]] = []
    for rank, (kind, start, end) in ranked:
        if out and start < out[-1][1][2]:
            last_rank, (last_kind, last_start, last_end) = out[-1]
            name = kind if rank < last_rank else last_kind
            out[-1] = (min(rank, last_rank), (name, last_start, max(last_end, end)))
        else:
            out.append((rank, (kind, start, end)))
    return [finding for _, finding in out]


def _apart(findings: list[Finding], others: list[Finding]) -> Iterator[Finding]:
    """Yield the ``findings`` that touch none of ``others``, which are in order and without overlaps."""
    for finding in findings:
        before = bisect_left(others, finding[2], key=_start_of) - 1
        if before < 0 or others[before][2] <= finding[1]:
            yield finding


def _start_of(finding: Finding) -> int:
    return finding[1]


def _outside_markers(text: str, findings: list[Finding]) -> list[Finding]:
    """``findings``, in order, less what is a marker of an earlier scrubbing."""
    if "[redacted:" not in text:
        return findings
    out = []
    for kind, start, end in findings:
        # A marker that begins before the finding may reach into it, and no marker is longer than the look back.
        for marker in _MARKER.finditer(text, max(0, start - _LONGEST_MARKER), min(len(text), end + _LONGEST_MARKER)):
            if marker.end() <= start:
                continue
            if marker.start() >= end:
                break
            if marker.start() > start:
                out.append((kind, start, marker.start()))
            start = marker.end()
        if start < end:
            out.append((kind, start, end))
    return out


def _compile_patterns(patterns: tuple[str, ...], key: str) -> tuple[re.Pattern[str], ...]:
    """Compile the user's patterns. Raises :class:`ConfigError` naming ``key`` and the first one that is not valid."""
    out = []
    for pattern in patterns:
        try:
            out.append(re.compile(pattern))
        except re.error as error:
            raise ConfigError(
                f"scrub.{key} has an invalid regular expression {pattern!r} ({error})", "correct or remove it"
            ) from error
    return tuple(out)
