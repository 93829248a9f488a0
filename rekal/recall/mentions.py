"""What a question names that the store knows: dates, commits, branches, agents; with them its people and files.

Each is what the option of that name would be (``--since``, ``--commit``, ``--branch``, ``--agent``, ``--author``,
``--file``), but it only orders where the option excludes: who misremembers a day still wants the session.

Words that name the store's own things are no topic. Nobody says the name of a commit in the talk that led to it, and
"yesterday" was said on another day: as topic words they would count as never seen, against the right session. Of 22
answerable questions of devrecall with a file that was touched but never mentioned 13 pass the gate as they stand, 18
without its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import msgspec

from rekal.index.filters import Filters, session_mask, sessions_in_time, turn_mask
from rekal.index.reader import Bools, IndexReader
from rekal.index.text import document_terms
from rekal.recall.dates import Period, read_periods
from rekal.recall.question import Anchor, Question, anchor_kind, bare_word

_NAME = r"[\w.@+#-]+(?:/[\w.@+#-]+)*"
_HASH = re.compile(r"(?:\bcommits?\s+)?(?<![\w./-])(?P<name>[0-9a-f]{7,40})(?![\w-])", re.I)
_WORD = re.compile(_NAME)
_BRANCH = re.compile(r"\bbranch(?:es)?\b", re.I)
_ON_AT_END = re.compile(rf"\bon\s+(?:the\s+)?(?P<name>{_NAME}?)(?=[?.!,;]*\s*$)", re.I)
_SHAPED = re.compile(r"[/_\d-]")
_LONGEST_PHRASE = 6  # words of a branch's name that are spelled without its punctuation
_ALSO_WORDS = frozenset({"cursor"})  # names of agents that mean something else in a preposition's reach
_ACTING = re.compile(
    r"\b(?:by|with|from|using|via|asked|told|did|sessions?|chats?|conversations?|transcripts?|said)\b", re.I
)
_DID = "say|said|do|did|suggest|propose|decide|write|wrote|change|try|recommend|claim|find|implement|fix"


class NamedThing(msgspec.Struct, frozen=True):
    """``text[start:stop]`` of a question names something. ``filters`` is the option it amounts to, None for what only
    its shape tells. ``aside``: its words are no topic.
    """

    kind: str
    text: str
    filters: Filters | None = None
    start: int = -1
    stop: int = -1
    aside: bool = False


class Reach(msgspec.Struct, frozen=True):
    """Extent of a name: ``sessions`` by number (a parent with its sub-agents' sessions), ``turns`` by place."""

    named: NamedThing
    sessions: Bools
    turns: Bools

    @classmethod
    def of(cls, reader: IndexReader, named: NamedThing) -> Reach | None:
        """Return the sessions and turns that a name stands for; None for what only its shape tells."""
        if named.filters is None:
            return None
        sessions = session_mask(reader, named.filters)
        turns = turn_mask(reader, named.filters, sessions)
        sessions &= sessions_in_time(reader, named.filters, turns)
        for number, parent in enumerate(reader.sessions.parents):
            above = reader.sessions.number(parent) if parent else None
            if above is not None and sessions[number]:
                sessions[above] = True
        return cls(named, sessions, turns)


def find_mentions(reader: IndexReader, text: str, now: datetime | None) -> list[NamedThing]:
    """Commits, branches, dates, agents and files that ``text`` names, none overlapping; no dates without a clock."""
    found: list[NamedThing] = []
    kinds = (
        _named_commits(reader, text),
        _named_branches(reader, text),
        _named_dates(reader, text, now),
        _named_agents(reader, text),
    )
    for some in (*kinds, _named_files(reader, text)):
        for one in some:
            if not any(one.start < other.stop and other.start < one.stop for other in found):
                found.append(one)
    return sorted(found, key=lambda one: one.start)


def _is_in_any_turn(reader: IndexReader, name: str) -> bool:
    """True if any turn contains a word of ``name`` as a whole: then it may be a topic, too."""
    docs = reader.postings(list(dict.fromkeys(term for word in name.split() for term in document_terms(word)[:1]))).doc
    return bool((reader.units("turn").place[docs] >= 0).any())


def _named_commits(reader: IndexReader, text: str) -> Iterator[NamedThing]:
    for match in _HASH.finditer(text):
        filters = Filters(commit=match["name"].lower())
        if session_mask(reader, filters).any():
            aside = not _is_in_any_turn(reader, match["name"])
            yield NamedThing("commit", match["name"], filters, match.start(), match.end(), aside)


def _named_branches(reader: IndexReader, text: str) -> Iterator[NamedThing]:
    """A one-word name is a word first: it counts beside the word "branch", or as the end of "… on main"."""
    words = [(m.group().rstrip("."), m.start()) for m in _WORD.finditer(text)]
    marked = _BRANCH.search(text)
    at_end = _ON_AT_END.search(text)
    shaped = [(word, at) for word, at in words if _SHAPED.search(word)]
    if not (marked or at_end or shaped):
        return
    rows = reader.cached_rows("SELECT DISTINCT unnest(branches) AS branch FROM facets ORDER BY branch DESC")
    known = {str(branch).lower(): str(branch) for (branch,) in rows}
    if at_end:
        shaped.append((at_end["name"], at_end.start("name")))
    for word, at in shaped:
        if branch := known.get(word.lower()):
            yield NamedThing(
                "branch", word, Filters(branch=branch), at, at + len(word), not _is_in_any_turn(reader, word)
            )
    if marked:
        yield from _called_branch(text, words, known)


def _called_branch(text: str, words: Sequence[tuple[str, int]], known: dict[str, str]) -> Iterator[NamedThing]:
    """The longest run of words beside "branch" that spells a branch's name, or what follows its last slash."""
    spelled = {_plain_name(name.rpartition("/")[2]): branch for name, branch in known.items()}
    spelled |= {_plain_name(name): branch for name, branch in known.items()}
    for at, (word, marker) in enumerate(words):
        if not _BRANCH.fullmatch(word):
            continue
        runs = [(at - size, at) for size in range(_LONGEST_PHRASE, 0, -1) if at >= size]
        runs += [(at + 1, at + 1 + size) for size in range(_LONGEST_PHRASE, 0, -1) if at + size < len(words)]
        for first, stop in runs:
            start, end = words[first][1], words[stop - 1][1] + len(words[stop - 1][0])
            if branch := spelled.get(_plain_name(text[start:end])):
                edges = (marker, marker + len(word), start, end)
                yield NamedThing("branch", text[start:end], Filters(branch=branch), min(edges), max(edges), aside=True)
                break


def _plain_name(name: str) -> str:
    return " ".join(re.findall(r"\w+", name.lower().replace("_", " ")))


def _named_dates(reader: IndexReader, text: str, now: datetime | None) -> Iterator[NamedThing]:
    for one in read_periods(text, now) if now else ():
        # A date in digits that somebody wrote down is the name of what happened then: a release, a report.
        written = [word for word in text[one.start : one.stop].split() if word[:4].isdigit() and "-" in word]
        aside = not any(_is_in_any_turn(reader, word) for word in written)
        yield NamedThing("date", text[one.start : one.stop], _period_filters(one), one.start, one.stop, aside)


def _period_filters(period: Period) -> Filters:
    last = None if period.until is None else period.until - timedelta(microseconds=1)  # filters include their ends
    return Filters(since=period.since, until=last)


def _named_agents(reader: IndexReader, text: str) -> Iterator[NamedThing]:
    """An agent counts as who did or said something; "the cursor leaks" is about a cursor."""
    if not _ACTING.search(text):
        return
    for (row,) in reader.cached_rows("SELECT DISTINCT agent FROM facets ORDER BY agent"):
        agent = re.escape(str(row))
        by = f"(?:{agent.capitalize()}|{agent})" if str(row) not in _ALSO_WORDS else agent.capitalize()
        spelled = (
            rf"\b(?:[Bb]y|[Ww]ith|[Ff]rom|[Uu]sing|[Vv]ia|[Aa]sked|[Tt]old)\s+(?P<by>{by})\b(?!\.\w)",
            rf"(?i:\bdid\s+(?P<did>{agent})\s+(?:{_DID})\b)",
            rf"(?i:\b(?P<of>{agent})(?:\s+(?:code|cli))?(?:'s|’s)?\s+(?:sessions?|chats?|conversations?|transcripts?|said)\b)",
        )
        for found in re.finditer("|".join(spelled), text):
            name = str(found.lastgroup)
            aside = name != "by" or not _is_in_any_turn(reader, str(row))
            yield NamedThing("agent", found[name], Filters(agent=str(row)), found.start(), found.end(), aside)


def _named_files(reader: IndexReader, text: str) -> Iterator[NamedThing]:
    """Paths that sessions touched; another one is a word like any other."""
    for match in re.finditer(r"\S+", text):
        path = bare_word(match.group())
        if anchor_kind(path, starts_sentence=False) == "path" and session_mask(reader, Filters(file=path)).any():
            at = match.start() + match.group().find(path)
            yield NamedThing("path", path, Filters(file=path), at, at + len(path), not _is_in_any_turn(reader, path))


def list_anchors(question: Question, named: Sequence[NamedThing]) -> list[NamedThing]:
    """``named`` with what the question itself shows: people, and what only looks like a name."""
    known = {one.text for one in named}
    return [
        *named,
        *(NamedThing(one.kind, one.text, _person(one)) for one in question.anchors if one.text not in known),
    ]


def _person(anchor: Anchor) -> Filters | None:
    if anchor.kind != "person":
        return None
    # Whole, not as a part of a longer name: this is how name and address end in what --author looks into.
    return Filters(author=f"<{anchor.text}>" if "@" in anchor.text else f"{anchor.text} <")
