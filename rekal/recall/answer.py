"""What recall answers, as records: the same ones that ``--json`` prints."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

PersonKind = Literal["author", "speaker"]
Verdict = Literal["INJECT", "KNOWLEDGE", "SILENCE"]
Reason = Literal[
    "", "empty_store", "thin_question", "common_word", "below_gate", "anchor_mismatch", "filtered_out", "nothing_named"
]


class Row(msgspec.Struct, frozen=True):
    """One turn shown. ``text`` is an excerpt around what was asked for; ``cut`` says that the turn goes on."""

    seq: int
    role: str
    occurred_at: datetime | None
    text: str
    cut: bool
    score: float


class Hit(msgspec.Struct, frozen=True):
    """One session shown, best first, its rows in order of conversation.

    ``commit`` is the one that its best row led to, with its ``subject``. ``merged`` says that it is part of the
    mainline; None where nobody can tell. ``same_work_as`` is the better session of the same files within hours that it
    stands behind. ``signature`` is the verdict on the signature of the ref that it came with: good, bad, none or
    unchecked; None for a session of this clone.
    """

    session_id: str
    agent: str
    author_name: str
    author_email: str
    origin: str
    actor: str
    branch: str | None
    commits: list[str]
    title: str | None
    started_at: datetime | None
    score: float
    rows: list[Row]
    commit: str | None = None
    subject: str | None = None
    merged: bool | None = None
    same_work_as: str | None = None
    signature: str | None = None


class Passage(msgspec.Struct, frozen=True):
    """A passage of a tracked file, lines both included, with the sessions that touched the file, newest first."""

    path: str
    start: int
    end: int
    text: str
    coverage: float
    sessions: list[str]


class Pin(msgspec.Struct, frozen=True):
    """Something that the question names. ``since`` and ``until``, both inclusive, are a date's; null is an open end.

    ``sessions`` counts those of the store that answer to it, ``shown`` those among the sessions shown. Both are null
    for what only its shape tells, such as a symbol.
    """

    kind: str
    text: str
    since: datetime | None = None
    until: datetime | None = None
    sessions: int | None = None
    shown: int | None = None


class StorePerson(msgspec.Struct, frozen=True):
    """Somebody whom a question can name: an author of the store, or one who speaks in turns that begin with names."""

    name: str
    kind: PersonKind


class MemoryRow(msgspec.Struct, frozen=True):
    """A memory that bears on the question, as recall gets it handed in.

    ``text`` of a RULED-OUT one is the approach. ``source`` is what it cites, ``scope`` where it holds (empty:
    everywhere), ``grounds`` what became of the files and symbols it names, in words.
    """

    id: str
    label: Literal["RULED-OUT", "DECIDED", "NOTED"]
    type: str
    text: str
    because: str | None
    instead: str | None
    state: str
    actor: str
    actor_type: str
    origin: str
    personal: bool
    occurred_at: datetime
    source: str | None
    scope: list[str]
    grounds: str
    score: float


class DocumentRow(msgspec.Struct, frozen=True):
    """A chunk of a document. ``path`` is the file as it was given, ``place`` where in it the chunk stands (a heading, a
    page, rows, a message), ``sender`` who sent it where that is one person, ``cut`` says that the chunk goes on.
    """

    id: str
    seq: int
    path: str
    place: str
    type: str
    title: str | None
    sender: str | None
    occurred_at: datetime | None
    text: str
    cut: bool
    personal: bool
    score: float

    @property
    def location(self) -> str:
        """The file and the place in it, as ``notes/stage.md#Stages`` or ``mails.mbox#m1@example.org``."""
        return f"{self.path}{'' if self.place.startswith('#') or not self.place else '#'}{self.place}"


class Answer(msgspec.Struct, frozen=True):
    """A verdict with its evidence.

    ``support`` is how sure recall is that the evidence bears on the question, 0 to 1. ``uncovered`` are the words of
    the question that nothing shown contains. ``notes`` say what was missing while answering (an index that is behind,
    no model). ``exit_code`` is that of the text form. ``features`` are filled with ``--explain``; those named
    ``gate.`` are the probabilities, ``gate.cut`` what their product must reach, and ``gate.turns`` the size of the
    store, which moves the cut; ``people`` is then who counts as a person. ``knowledge`` are passages of
    files tracked at HEAD, best first. ``anchors`` is what the question names: dates, commits, branches, agents, people,
    files, symbols, numbers. ``memories`` bear on the question, best first; left out when none does. ``listed`` is the
    number of sessions that the question names, when it has no topic and is answered by a list of them, newest first;
    else 0. ``documents`` are chunks of ingested files, best first; left out when none bears on it.
    ``perhaps`` is one session under SILENCE whose evidence falls just short of the gate; else left out.
    """

    verdict: Verdict
    reason: Reason
    support: float
    question: str
    sessions: list[Hit]
    uncovered: list[str]
    notes: list[str]
    exit_code: int
    features: dict[str, float] = msgspec.field(default_factory=dict)
    knowledge: list[Passage] = msgspec.field(default_factory=list)
    anchors: list[Pin] = msgspec.field(default_factory=list)
    memories: list[MemoryRow] | msgspec.UnsetType = msgspec.UNSET
    listed: int = 0
    perhaps: Hit | msgspec.UnsetType = msgspec.UNSET
    documents: list[DocumentRow] | msgspec.UnsetType = msgspec.UNSET
    people: list[StorePerson] | msgspec.UnsetType = msgspec.UNSET
