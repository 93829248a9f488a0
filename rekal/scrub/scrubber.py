"""The scrubber: finds what must not be stored in a text and replaces it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from rekal.model import Author, Session, Transcript
from rekal.scrub import people, sessions
from rekal.scrub.paths import Homes
from rekal.scrub.prefilter import Prefilter
from rekal.scrub.rules import Rules, compiled
from rekal.scrub.secrets import KINDS
from rekal.scrub.secrets.kind import Span

Finding = tuple[str, int, int]

_MARKER = re.compile(r"\[redacted:[a-z0-9\-]+\]")
# Replacing a finding or a home can complete another's surroundings; three rounds were the most ever seen.
_MAX_ROUNDS = 8
# The shortest finding with its surroundings, "pwd=abcd" or a home directory, is longer.
_SHORTEST = 6
_BARE_VALUE = re.compile(r"""(?P<quote>\\*["'])[ \t]{0,4}:[ \t]{0,4}\Z""")
_LONE = re.compile("[\ud800-\udfff\x00]")


class Scrubber:
    """Scrubs by one set of rules. Build it once: it compiles them.

    Scrubbing scrubbed text changes nothing, and replaces only the characters of a secret, never the quotes, escapes or
    line breaks around it. Raises :class:`rekal.errors.ConfigError` for a pattern of the rules that does not compile.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._allow = compiled(rules.allow, "allow")
        self._custom = compiled(rules.custom, "custom")
        self._homes = Homes(rules)
        self._prefilter = Prefilter(KINDS)

    def text(self, text: str) -> str:
        """``text`` without secrets, with its homes rewritten, and valid: no NUL, no lone surrogates."""
        if len(text) < _SHORTEST:
            return _valid(text)
        text = _valid(text)
        forms = _forms(text)
        for _ in range(_MAX_ROUNDS):
            findings = self._findings(text, *forms)
            cleaned = self._replace(text, findings) if findings else text
            cleaned = self._homes.rewrite(cleaned, _forms(cleaned)[1] if findings else forms[1])
            if cleaned == text:
                break
            text, forms = cleaned, _forms(cleaned)
        return text

    def find(self, text: str) -> list[Finding]:
        """What must go, as (kind, start, end) in order and without overlaps; home directories are not listed."""
        return self._findings(text, *_forms(text))

    def _findings(self, text: str, ascii_text: str, low: str) -> list[Finding]:
        secrets = [*self._secrets(text, ascii_text, low)]
        personal = [*self._personal(text)]
        if not secrets and not personal:
            return []
        merged = _merged(secrets)
        personal = [finding for finding in personal if not _touches(finding, merged)]
        return _outside_markers(text, sorted([*merged, *personal], key=lambda finding: finding[1]))

    def kinds(self, text: str) -> Counter[str]:
        """How many findings of each kind ``text`` has."""
        return Counter(kind for kind, _, _ in self.find(text))

    def session(
        self,
        transcript: Transcript,
        author: Author,
        *,
        root: str | None = None,
        branch: str | None = None,
    ) -> Session:
        """The one way from a raw transcript to a session that may be stored; see :func:`sessions.scrubbed`."""
        return sessions.scrubbed(self, transcript, author, root=root, branch=branch)

    def _secrets(self, text: str, ascii_text: str, low: str) -> Iterator[Finding]:
        for kind, hay in self._prefilter.candidates(ascii_text, low):
            yield from self._allowed(text, kind.name, kind.find(text, hay))
        for pattern in self._custom:
            group: str | int = "secret" if "secret" in pattern.groupindex else 0
            spans = (match.span(group) for match in pattern.finditer(text))
            yield from self._allowed(text, "custom", (span for span in spans if 0 <= span[0] < span[1]))

    def _personal(self, text: str) -> Iterator[Finding]:
        if self.rules.email != "keep" and "@" in text:
            yield from self._allowed(text, "email", people.emails(text))
        if self.rules.ip != "keep":
            yield from self._allowed(text, "ip", people.public_ips(text))

    def _allowed(self, text: str, kind: str, spans: Iterator[Span]) -> Iterator[Finding]:
        for start, end in spans:
            if not any(pattern.fullmatch(text, start, end) for pattern in self._allow):
                yield kind, start, end

    def _replace(self, text: str, findings: list[Finding]) -> str:
        pieces = []
        done = 0
        for kind, start, end in findings:
            pieces.append(text[done:start])
            if kind == "email" and self.rules.email == "pseudonym":
                kind = f"email-{people.pseudonym(self.rules.salt, text[start:end])}"
            quote = _missing_quote(text, start) if kind == "json-field" else ""
            pieces.append(f"{quote}[redacted:{kind}]{quote}")
            done = end
        return "".join((*pieces, text[done:]))


def _missing_quote(text: str, start: int) -> str:
    """The quotes that keep JSON valid when the value at ``start`` is a bare number: those of its name."""
    name = _BARE_VALUE.search(text[max(0, start - 12) : start]) if text[start].isdigit() else None
    return name["quote"] if name else ""


def _valid(text: str) -> str:
    if "\x00" not in text:
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


def _touches(finding: Finding, others: list[Finding]) -> bool:
    return any(finding[1] < end and start < finding[2] for _, start, end in others)


def _outside_markers(text: str, findings: list[Finding]) -> list[Finding]:
    """``findings`` less what is a marker of an earlier scrubbing."""
    if not findings or "[redacted:" not in text:
        return findings
    markers = [match.span() for match in _MARKER.finditer(text)]
    out = []
    for kind, start, end in findings:
        for marker_start, marker_end in markers:
            if marker_end <= start or marker_start >= end:
                continue
            if marker_start > start:
                out.append((kind, start, marker_start))
            start = marker_end
        if start < end:
            out.append((kind, start, end))
    return out
