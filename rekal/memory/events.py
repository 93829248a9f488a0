"""The kinds of events of the memory log and what each says, as records.

An event names one memory (or entity, relation, conversation ...), its kind, a payload, an actor and two times. Payloads
are JSON in the ledger and on the wire; here they are structs. A field that a later version adds is ignored, a payload
that does not fit its kind is None and costs that event only.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from datetime import datetime
from typing import Literal, get_args

import msgspec

from rekal.errors import UsageError
from rekal.memory.matchers import Matcher
from rekal.model import MemoryEvent

MemoryType = Literal["decision", "dead_end", "fact", "preference", "procedure", "context", "episode", "note"]
MEMORY_TYPES: tuple[MemoryType, ...] = get_args(MemoryType)
Who = Literal["human", "agent", "derived", "imported"]

MOST_TEXT = 16 << 10  # bytes of one text, in UTF-8
_LONGEST_NAME = 200  # characters of a tag, a subject, a relation

# Characters that change how the text around them is read: an approach must look in a terminal like what it is.
_HIDDEN = {
    *(chr(code) for code in range(0x20) if chr(code) not in "\n\t"),
    *(chr(code) for code in range(0x7F, 0xA0)),
    *"\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff",
}
_WITHOUT_HIDDEN = dict.fromkeys(map(ord, _HIDDEN))


class Payload(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Part of every payload. ``via`` is the face that wrote it: ``cli``, ``mcp``, ``web``, ``hook``, ``import``."""

    via: str = ""


class Scope(msgspec.Struct, frozen=True, omit_defaults=True):
    """The scope of a memory: globs of paths (none: everywhere) and a branch (None: every branch)."""

    paths: tuple[str, ...] = ()
    branch: str | None = None


class Assert(Payload, frozen=True, kw_only=True, omit_defaults=True):
    """A new memory. ``ttl`` is seconds from the event's time; ``commit`` the HEAD it was made at; ``quote`` the words
    it rests on. For a dead end ``text`` is the approach.
    """

    text: str
    type: MemoryType = "note"
    subject: str | None = None
    because: str | None = None
    instead: str | None = None
    scope: Scope = Scope()
    tags: tuple[str, ...] = ()
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    ttl: float | None = None
    project: str | None = None
    conversation: str | None = None
    matcher: Matcher | None = None
    commit: str | None = None
    quote: str | None = None
    shared: bool = False
    personal: bool = False


class RuleOut(Payload, frozen=True, kw_only=True, omit_defaults=True):
    """An approach that must not be proposed again. The other fields are those of :class:`Assert`."""

    approach: str
    subject: str | None = None
    because: str | None = None
    instead: str | None = None
    scope: Scope = Scope()
    tags: tuple[str, ...] = ()
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    ttl: float | None = None
    project: str | None = None
    conversation: str | None = None
    matcher: Matcher | None = None
    commit: str | None = None
    quote: str | None = None
    shared: bool = False
    personal: bool = False

    def as_assert(self) -> Assert:
        """The same as a memory of type ``dead_end``."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__ if name != "approach"}
        return Assert(text=self.approach, type="dead_end", **fields)


class ReviewNote(Payload, frozen=True, kw_only=True, omit_defaults=True):
    """The payload of ``accept``, ``reject`` and ``retract``."""

    note: str | None = None


class Supersede(Payload, frozen=True, kw_only=True, omit_defaults=True):
    """The event's memory is replaced by memory ``by``; ``at`` is when in the world, None for the event's time."""

    by: str
    note: str | None = None
    at: datetime | None = None


class Amend(Payload, frozen=True, kw_only=True, omit_defaults=True):
    """Changed fields of a memory; what is UNSET stays, None takes a value away."""

    text: str | msgspec.UnsetType = msgspec.UNSET
    type: MemoryType | msgspec.UnsetType = msgspec.UNSET
    subject: str | msgspec.UnsetType | None = msgspec.UNSET
    because: str | msgspec.UnsetType | None = msgspec.UNSET
    instead: str | msgspec.UnsetType | None = msgspec.UNSET
    scope: Scope | msgspec.UnsetType = msgspec.UNSET
    tags: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    valid_from: datetime | msgspec.UnsetType | None = msgspec.UNSET
    valid_until: datetime | msgspec.UnsetType | None = msgspec.UNSET
    project: str | msgspec.UnsetType | None = msgspec.UNSET
    matcher: Matcher | msgspec.UnsetType | None = msgspec.UNSET


class Permit(Payload, frozen=True, kw_only=True, omit_defaults=True):
    """A word on whether the memory may travel."""

    on: bool = True


class LinkTo(Payload, frozen=True, kw_only=True, omit_defaults=True):
    """The payload of ``link`` and ``unlink``, between two memories; the event's memory is the first."""

    to: str
    relation: str


class SetEntity(Payload, frozen=True, kw_only=True, omit_defaults=True):
    """An entity of the graph appears, or its type or status changes. The event's memory is the entity's id."""

    name: str
    type: str = ""
    status: str = ""


class DropEntity(Payload, frozen=True, kw_only=True, omit_defaults=True):
    """The payload of ``drop_entity``: it goes with its observations and relations."""


class Observe(Payload, frozen=True, kw_only=True, omit_defaults=True):
    """An observation on the event's entity. ``replaces`` is the id of the observation that it supersedes."""

    text: str
    kind: str = ""
    replaces: str | None = None


class Unobserve(Payload, frozen=True, kw_only=True, omit_defaults=True):
    """The payload of ``unobserve``: observations go by their text."""

    text: str


class Relate(Payload, frozen=True, kw_only=True, omit_defaults=True):
    """A relation between two entities by name; the event's memory is the relation's id."""

    source: str
    target: str
    type: str
    context: str | None = None


class EndRelation(Payload, frozen=True, kw_only=True, omit_defaults=True):
    """The payload of ``end_relation`` (held until now) and ``unrelate`` (never to be shown again)."""

    note: str | None = None


class Reflect(Payload, frozen=True, kw_only=True, omit_defaults=True):
    """A reflection. ``about`` is ``entity``, ``session``, ``relation`` or ``all``, ``target`` its id or name."""

    text: str
    author: str = ""
    mood: str | None = None
    about: Literal["entity", "session", "relation", "all"] = "all"
    target: str | None = None


class Chunk(msgspec.Struct, frozen=True, omit_defaults=True):
    """A piece of a document, with its place in it and its date."""

    text: str
    place: str = ""
    date: datetime | None = None


class PutDocument(Payload, frozen=True, kw_only=True, omit_defaults=True):
    """A file that was ingested: where from, the hash of its content, its pieces. None are left when it was removed."""

    path: str
    digest: str
    type: str = "doc"
    chunks: tuple[Chunk, ...] = ()


class PutCard(Payload, frozen=True, kw_only=True, omit_defaults=True):
    """A card about an entity, derived from the memories ``facts``: never from another card."""

    entity: str
    lines: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()


class StartConversation(Payload, frozen=True, kw_only=True, omit_defaults=True):
    """A conversation starts; the event's memory is its id. ``follows`` and ``branches`` name earlier ones."""

    title: str | None = None
    project: str | None = None
    follows: str | None = None
    branches: str | None = None


Content = (
    Assert | RuleOut | ReviewNote | Supersede | Amend | Permit | LinkTo | SetEntity | DropEntity | Observe | Unobserve
    | Relate | EndRelation | Reflect | PutDocument | PutCard | StartConversation
)  # fmt: skip

KINDS: Mapping[str, type[Content]] = {
    "assert": Assert,
    "rule_out": RuleOut,
    "accept": ReviewNote,
    "reject": ReviewNote,
    "retract": ReviewNote,
    "supersede": Supersede,
    "amend": Amend,
    "share": Permit,
    "link": LinkTo,
    "unlink": LinkTo,
    "entity": SetEntity,
    "drop_entity": DropEntity,
    "observe": Observe,
    "unobserve": Unobserve,
    "relate": Relate,
    "unrelate": EndRelation,
    "end_relation": EndRelation,
    "reflect": Reflect,
    "document": PutDocument,
    "card": PutCard,
    "conversation": StartConversation,
}
"""The payload's type by kind of event."""

_ENCODER = msgspec.json.Encoder()


@functools.cache
def _decoder(kind: str) -> msgspec.json.Decoder[Content] | None:
    # Made at first use: all of them take 5 ms, and a write needs none.
    type_ = KINDS.get(kind)
    return None if type_ is None else msgspec.json.Decoder(type_)


def decode_payload(event: MemoryEvent) -> Content | None:
    """The event's payload; None for a kind of a later version and for a payload that does not fit its kind."""
    decoder = _decoder(event.kind)
    if decoder is None:
        return None
    try:
        return decoder.decode(event.payload)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None


def encode_payload(content: Content) -> str:
    """The JSON text of a payload."""
    return _ENCODER.encode(content).decode()


def visible_text(text: str) -> str:
    """``text`` without control and direction characters, and without white space around it."""
    return text.translate(_WITHOUT_HIDDEN).strip()


def check_memory_text(text: str, what: str) -> str:
    """A text as it may be stored. Raises :class:`UsageError` when it is empty or over the limit."""
    clean = visible_text(text)
    if not clean:
        raise UsageError(f"{what} is empty", "say it in a sentence")
    if (size := len(clean.encode("utf-8", "surrogatepass"))) > MOST_TEXT:
        raise UsageError(f"{what} has {size >> 10} KiB", f"a text may have {MOST_TEXT >> 10}; name the file instead")
    # A lone surrogate is no character and has no UTF-8: neither the database nor the wire could hold it.
    return clean.encode("utf-8", "replace").decode("utf-8")


def check_name(text: str, what: str) -> str:
    """A short name on one line: a tag, a subject, a relation. Raises :class:`UsageError`."""
    clean = " ".join(check_memory_text(text, what).split())
    if len(clean) > _LONGEST_NAME:
        raise UsageError(f"{what} has {len(clean)} characters", f"a name may have {_LONGEST_NAME}")
    return clean
