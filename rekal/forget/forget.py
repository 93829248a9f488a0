"""Forgetting, from the ledger to the ref.

The order survives a crash at any point: first the traces that only texts lead to, then a mark, then tombstones and
deletion in one transaction. From there on everything follows from the tombstones, and :func:`finish` does what is
missing for whoever comes next.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from rekal.errors import RekalError, UsageError
from rekal.forget import history, logs, targets
from rekal.forget.own_ref import Unpublished, clear, holds, unpublish
from rekal.forget.targets import Doomed, Match
from rekal.git import Repo
from rekal.model import LOCAL
from rekal.store.database import Connection
from rekal.store.erase import Erased, erase, rewrite
from rekal.store.layout import Layout
from rekal.store.ledger import Ledger, open_ledger
from rekal.store.locks import exclusive
from rekal.store.queries import session_ids
from rekal.store.tombstones import forgotten
from rekal.transport import sent_log
from rekal.transport.refs import Namespace, OwnRef, own_ref, tip_of

_WAIT = 60.0
_UNFINISHED = "forgetting"


class Request(msgspec.Struct, frozen=True):
    """What is to be forgotten. ``names`` are sessions, ``SESSION#TURN`` or memories; all parts add up."""

    names: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    @property
    def kinds(self) -> str:
        """What was asked for, in words that tell nothing of it: the reason in the tombstones."""
        turns = any("#" in name for name in self.names)
        ids = any("#" not in name for name in self.names)
        said = {"id": ids, "turn": turns, "text": self.texts, "pattern": self.patterns, "path": self.paths}
        return ", ".join(word for word, there in said.items() if there)

    def matches(self) -> Match:
        """Whether a text has one of the texts, patterns or paths."""
        tests = [
            *map(_with, self.texts),
            *map(_like, self.patterns),
            *map(targets.mentions_path, self.paths),
        ]
        return lambda text: any(test(text) for test in tests)


def _with(part: str) -> Match:
    if not part.strip():
        raise UsageError("an empty text is in everything", "give the text to forget")
    return lambda text: part in text


def _like(pattern: str) -> Match:
    try:
        found = re.compile(pattern).search
    except re.error as error:
        raise UsageError(f"{pattern} is not a regular expression ({error})", "see Python's `re`") from None
    if found(""):
        raise UsageError(f"{pattern} matches every text", "give a pattern that matches only what is to go")
    return lambda text: found(text) is not None


class Place(msgspec.Struct, frozen=True):
    """The clone that forgets, and who says so."""

    layout: Layout
    repo: Repo
    namespace: Namespace

    def ref(self, ledger: Ledger) -> OwnRef:
        """This clone's ref."""
        return own_ref(self.repo.author(), ledger.meta("store_id") or "", self.namespace)


class Forgot(msgspec.Struct, frozen=True):
    """What a request came to. ``others`` are the teammates whose sessions it concerned; ``traces`` lines and events."""

    act: str
    erased: Erased
    traces: int = 0
    others: tuple[str, ...] = ()
    unpublished: Unpublished = Unpublished()


def doomed(con: Connection, request: Request) -> Doomed:
    """What a request comes to now. Raises :class:`UsageError` for a name that is none, or of several."""
    found = Doomed()
    for name in request.names:
        found = found.plus(_named(con, name))
    if request.texts or request.patterns:
        found = found.plus(targets.of_text(con, msgspec.structs.replace(request, paths=()).matches()))
    for path in request.paths:
        found = found.plus(targets.of_path(con, path))
    return found


def _named(con: Connection, name: str) -> Doomed:
    prefix, turn, number = name.partition("#")
    sessions = session_ids(con, prefix) if prefix else []
    memories = targets.memory_ids(con, prefix) if prefix and not turn else []
    if not sessions and not memories:
        raise UsageError(f"{name} names nothing that is stored", "`rekal log` and `rekal find` print ids")
    if len(sessions) + len(memories) > 1:
        raise UsageError(f"{name} names {len(sessions) + len(memories)} sessions or memories", "give more of the id")
    if memories:
        return targets.of_memory(con, memories[0])
    if not turn:
        return targets.of_session(con, sessions[0])
    if not number.removeprefix("t").isdecimal():
        raise UsageError(f"{name} is not SESSION#TURN", "turns are numbered as `rekal show` prints them")
    return targets.of_turn(con, sessions[0], int(number.removeprefix("t")))


def preview(place: Place, request: Request) -> Erased:
    """What a request would take out of the ledger. Changes nothing."""
    with (
        exclusive(place.layout.lock, wait=_WAIT, purpose="looking at what would be forgotten"),
        open_ledger(place.layout.data, read_only=False, wait=_WAIT) as ledger,
    ):
        ledger.con.execute("BEGIN")
        try:
            return erase(ledger.con, doomed(ledger.con, request).targets)
        finally:
            ledger.con.execute("ROLLBACK")


def forget(place: Place, request: Request) -> Forgot:
    """Forget it: ledger, its free pages, spool, logs, our ref. The index is the caller's.

    Raises :class:`RekalError` when there is nothing of the kind.
    """
    layout = place.layout
    with (
        exclusive(layout.run / "transport.lock", wait=_WAIT, purpose="forgetting"),
        exclusive(layout.lock, wait=_WAIT, purpose="forgetting"),
    ):
        with open_ledger(layout.data, read_only=False, wait=_WAIT) as ledger:
            what = doomed(ledger.con, request)
            if not what.targets:
                raise RekalError("nothing here matches", "nothing was changed")
            matches, needles = request.matches(), targets.mentions_any(what.needles)
            mention: Match = lambda text: matches(text) or needles(text)  # noqa: E731 - one name, used twice
            cleared = logs.clear(layout, mention)
            (layout.run / _UNFINISHED).touch()
            others = _others(ledger, what)
            with ledger.transaction():
                targets.clear_local(ledger.con, mention, what.needles)  # which name the sessions, too
                erased = erase(ledger.con, what.targets)
                act = history.record_act(ledger, what.targets, request.kinds, place.repo.author().name)
            history.note_undo(layout.run, act, erased.touched, erased.commits)
        return Forgot(act, erased, cleared, others, _finish(place))


def _others(ledger: Ledger, what: Doomed) -> tuple[str, ...]:
    """Teammates from whom something of it came."""
    rows = ledger.con.execute(
        """SELECT DISTINCT origin FROM sessions s WHERE origin <> $local AND (list_contains($gone::VARCHAR[], s.id)
               OR EXISTS (SELECT 1 FROM turns t WHERE t.session_id = s.id AND list_contains($gone::VARCHAR[], t.uid)))
           ORDER BY 1""",
        {"local": LOCAL, "gone": list(what.targets)},
    )
    return tuple(str(row[0]) for row in rows.fetchall())


def finish(place: Place) -> Unpublished | None:
    """Do what an interrupted forgetting left undone; None when nothing was."""
    if not (place.layout.run / _UNFINISHED).exists():
        return None
    with (
        exclusive(place.layout.run / "transport.lock", wait=_WAIT, purpose="forgetting"),
        exclusive(place.layout.lock, wait=_WAIT, purpose="forgetting"),
    ):
        return _finish(place)


def _finish(place: Place) -> Unpublished:
    layout = place.layout
    rewrite(layout.data, layout.run)
    with open_ledger(layout.data, read_only=True, wait=_WAIT) as ledger:
        ref, gone, stones = place.ref(ledger), forgotten(ledger.con), sent_log.own_tombstones(ledger)
    done = Unpublished()
    if tip_of(place.repo, ref.name) and holds(place.repo, ref, gone):
        done = unpublish(place.repo, layout.run, ref, gone, stones)
        with open_ledger(layout.data, read_only=False, wait=_WAIT) as ledger, ledger.transaction():
            sent = sent_log.sent(ledger).marks
            marks = [("tombstone", stone.target) for stone in stones]
            sent_log.mark(ledger, (mark for mark in marks if mark not in sent), tip_of(place.repo, ref.name) or "")
    else:
        clear(place.repo, layout.run, ref)  # cut short after the ref was replaced
    (layout.run / _UNFINISHED).unlink(missing_ok=True)
    return done


def damaged_files(layout: Layout) -> list[Path]:
    """Databases that were moved aside: what is in them cannot be told."""
    return sorted(layout.directory.glob("data.db.damaged-*"))
