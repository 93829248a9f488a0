"""Words of a question that the store has: dates, commits, branches, agents, people and files, and spelling mended.

Each thing named is what the option of that name would be (``--since``, ``--commit``, ``--branch``, ``--agent``,
``--author``, ``--file``), but it only orders where the option excludes: who misremembers a day still wants the session.

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

from rekal.embed.english_words import read_english_words
from rekal.index.filters import Filters, session_mask, sessions_in_time, turn_mask
from rekal.index.reader import Bools, IndexReader
from rekal.index.text import document_terms, stem_word
from rekal.recall.dates import Period, read_periods
from rekal.recall.question import Anchor, Question, anchor_kind, bare_word
from rekal.recall.word_lists import CHATTER, FRAMES, PROGRAMMING, STOP

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
        if named.kind == "person" and not sessions.any():  # no author: somebody who speaks in turns
            sessions = reader.speakers.sessions_of(reader.units("turn").session, [named.text], len(sessions))
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


# Misspelled words of a question, corrected by the store's own vocabulary.
#
# A word is corrected only where nothing else can be meant: it is no English word and no word of programming, the store
# has never seen it, and one slip of the fingers (a letter more, less, exchanged with the next, or hit beside its key)
# makes it a word that stands in two turns or more. The answer says what was read as what.

SHORTEST = 5  # letters: of shorter words too many are one letter apart
FEWEST_TURNS = 2
_MOST_TURNS_READ, _LONGEST_READ = 8, 20_000  # turns, and characters of each, in which a strange word is looked up
_MOST_READ = 200  # words of a text that are looked at
_MOST_WORDS = 4  # corrected in one question; more is another language, or no text
_PLAIN_WORD = re.compile(r"[A-Za-z][a-z]+")
_LISTED = STOP | CHATTER | FRAMES
_LETTERS = "abcdefghijklmnopqrstuvwxyz"  # the module `string` has them, too, and costs half a millisecond
_ENDINGS = ("s", "es", "ed", "d", "ing", "er", "ers", "or", "ors", "ly", "able", "ation", "ations", "ness", "ment")
_SHORTEST_PART = 4  # letters of either half of a compound, and of a word without its ending
_KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def correct_spelling(reader: IndexReader, text: str) -> tuple[str, list[tuple[str, str]]]:
    """Return ``text`` with corrected words, and the pairs of a word as typed and as read."""
    words = _words_to_correct(text)
    known = _words_in_store(reader, words) if words else set()  # one question to the index for all of them
    unknown = [word for word in words if word not in known and not is_spelled_right(word.casefold())]
    pairs: list[tuple[str, str]] = []
    for word in unknown[:_MOST_WORDS]:
        found = _nearest(reader, word)
        if found:
            pairs.append((word, found))
            text = re.sub(rf"(?<![\w./-]){word}(?![\w/-])", found, text)
    return text, pairs


def _words_to_correct(text: str) -> list[str]:
    """Words of letters alone. A capital inside a sentence makes a name, and names are spelled in many ways."""
    found: dict[str, None] = {}
    for at, typed in enumerate(text.split(None, _MOST_READ)[:_MOST_READ]):
        word = bare_word(typed)
        if len(word) < SHORTEST or not _PLAIN_WORD.fullmatch(word) or (at and word[0].isupper()):
            continue
        if word.casefold() not in _LISTED and typed.strip(".,;:!?()\"'") == word:
            found[word] = None
    return list(found)


def _words_in_store(reader: IndexReader, words: Sequence[str]) -> set[str]:
    terms = {word: document_terms(word)[0] for word in words}
    known = reader.stored_terms(list(terms.values()))
    return {word for word, term in terms.items() if term in known}


def is_spelled_right(word: str) -> bool:
    """True for a word spelled right: listed, an inflection of a listed one, or two of them written as one."""
    listed = read_english_words()
    if word in listed or word in PROGRAMMING:
        return True
    for ending in _ENDINGS:
        root = word.removesuffix(ending)
        if (
            root != word
            and len(root) >= _SHORTEST_PART
            and any(form in listed or form in PROGRAMMING for form in _root_forms(root, ending))
        ):
            return True
    cuts = range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1)
    return any(word[:at] in listed and word[at:] in listed for at in cuts)


def _root_forms(root: str, ending: str) -> list[str]:
    """Words that become ``root`` in front of ``ending``: "retri" is "retry", "cach" before a vowel "cache"."""
    forms = [root]
    if root[-1] == "i":
        forms.append(f"{root[:-1]}y")
    if ending[0] in "aeio" and ending != "es":
        forms.append(f"{root}e")
        if root[-1] == root[-2] and root[-3] in "aeiou":
            forms.append(root[:-1])
    return forms


def _nearest(reader: IndexReader, word: str) -> str | None:
    """The word one slip away that most turns have; None without one in :data:`FEWEST_TURNS` of them."""
    by_stem: dict[str, list[str]] = {}
    for edited in _one_slip(word.casefold()):
        by_stem.setdefault(stem_word(edited), []).append(edited)
    enough = {stem: count for stem, count in reader.turn_counts(list(by_stem)).items() if count >= FEWEST_TURNS}
    right = [(-enough[stem], form) for stem in enough for form in by_stem[stem] if is_spelled_right(form)]
    if right:
        return min(right)[1]
    for stem in sorted(enough, key=lambda stem: (-enough[stem], stem)):
        if written := _find_written(reader, stem, by_stem[stem]):
            return written
    return None


def _find_written(reader: IndexReader, stem: str, forms: Sequence[str]) -> str | None:
    """The one of ``forms`` that turns with ``stem`` have as it stands: a stem is no word, and neither is every form."""
    docs = reader.postings([stem]).doc[:_MOST_TURNS_READ].tolist()
    said = " ".join(one.text[:_LONGEST_READ] for one in reader.texts(docs)).casefold()
    return min(set(forms) & set(re.findall(r"[a-z]+", said)), default=None)


def _one_slip(word: str) -> Iterator[str]:
    """All that ``word`` becomes by one letter exchanged with the next, left out, put in, or replaced by a near key."""
    for at in range(len(word) + 1):
        head, tail = word[:at], word[at:]
        if tail:
            yield head + tail[1:]
            yield from (head + letter + tail[1:] for letter in _NEAR[tail[0]])
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        yield from (head + letter + tail for letter in _LETTERS)


def _near_keys() -> dict[str, str]:
    """Letters beside, above and below each one."""
    place = {letter: (row, at) for row, keys in enumerate(_KEYS) for at, letter in enumerate(keys)}
    near = {}
    for letter, (row, at) in place.items():
        # Each row stands half a key further right than the one above it.
        beside = [
            other for other, (r, a) in place.items() if abs(r - row) <= 1 and abs((a + r / 2) - (at + row / 2)) <= 1
        ]
        near[letter] = "".join(other for other in beside if other != letter)
    return near


_NEAR = _near_keys()
