"""The hand-over: what the last sessions on this branch did, what was decided, what is open."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import msgspec

from rekal.app.context import App
from rekal.app.desk import Desk, place_of_desk
from rekal.memory.grounds import GroundReader
from rekal.memory.scope import Place, in_scope
from rekal.memory.state import Memory, fold
from rekal.store.ledger import open_ledger
from rekal.store.memory_log import read_events
from rekal.store.session_list import RecentSession, read_recent_sessions

MOST_DECIDED = 8
_SENTENCE = re.compile(r"(?s)(.{20,}?[.!?])(?:\s|\Z)")
_LONGEST = 220  # characters of an excerpt


class BriefSession(msgspec.Struct, frozen=True):
    """One session in a hand-over. ``asked`` and ``came_to`` are its own words, cut; ``commits`` are id and subject."""

    session_id: str
    agent: str
    author_name: str
    origin: str
    branch: str | None
    last_at: datetime | None
    turns: int
    asked: str
    came_to: str
    commits: list[str]
    uncommitted: bool


class BriefMemory(msgspec.Struct, frozen=True):
    """A decision or a ruled-out approach. ``grounds`` says what has changed since; empty where nothing has."""

    id: str
    type: str
    text: str
    because: str | None
    instead: str | None
    actor: str
    said_at: datetime
    state: str
    grounds: str


class Brief(msgspec.Struct, frozen=True):
    """The hand-over of a branch. ``decided`` holds here; ``open`` are sentences on what waits for somebody."""

    branch: str | None
    did: list[BriefSession]
    decided: list[BriefMemory]
    open: list[str]


def make_brief(app: App, *, sessions: int = 3, wait: float = 5.0) -> Brief:
    """Read the hand-over of the branch at hand; of all branches where this one has no session yet."""
    desk = Desk(app.home, app.env, app, "hook")
    branch = app.repo.branch()
    now = datetime.now(UTC)
    with open_ledger(app.layout.data, read_only=True, wait=wait) as ledger:
        recent = read_recent_sessions(ledger.con, branch, sessions) or read_recent_sessions(ledger.con, None, sessions)
        held = fold(read_events(ledger.con), now)
    place = place_of_desk(desk)
    rules = [one for one in held.all if one.is_rule and one.opens_gate and in_scope(one.scope, place)]
    decided, waiting = _decided(app, rules), _brief_waiting(held.all, place)
    return Brief(branch, [_brief_session(one) for one in recent], decided, [*_unfinished(recent), *waiting])


def _brief_session(one: RecentSession) -> BriefSession:
    commits = [f"{sha[:10]} {subject}".strip() for sha, subject in zip(one.commits, one.subjects, strict=True)]
    return BriefSession(
        one.id, one.agent, one.author_name, one.origin, one.branch, one.last_at, one.turns,
        first_sentence(one.title or one.asked), first_sentence(one.answered), commits[:5], one.uncommitted,
    )  # fmt: skip


def _decided(app: App, rules: list[Memory]) -> list[BriefMemory]:
    reader = GroundReader(app.repo)
    newest = sorted(rules, key=lambda one: (one.state == "accepted", one.updated_at), reverse=True)[:MOST_DECIDED]
    out = []
    for one in newest:
        grounds = reader.look(one)
        changed = grounds.sentence() if grounds.state in ("stale", "lost") else ""
        out.append(
            BriefMemory(
                one.id, one.type, one.text, one.because, one.instead, one.actor, one.occurred_at, one.state, changed
            )
        )
    return out


def _unfinished(recent: list[RecentSession]) -> list[str]:
    first = next((one for one in recent if one.uncommitted), None)
    if first is None:
        return []
    return [f"{first.agent} session {first.id[:10]} went on after its last commit, or led to none yet"]


def _brief_waiting(held: tuple[Memory, ...], place: Place) -> list[str]:
    proposed = [one for one in held if one.state == "proposed" and in_scope(one.scope, place)]
    if not proposed:
        return []
    what = "1 memory waits" if len(proposed) == 1 else f"{len(proposed)} memories wait"
    return [f"{what} for a person's word (`rekal review`)"]


def first_sentence(text: str) -> str:
    """The first sentence of ``text`` that says something, on one line, cut to 220 characters."""
    flat = " ".join(text.split())
    match = _SENTENCE.match(flat)
    sentence = match[1] if match else flat
    return sentence if len(sentence) <= _LONGEST else sentence[: _LONGEST - 1].rstrip() + "…"
