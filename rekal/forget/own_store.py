"""Forgetting in this clone, from the ledger to the ref.

The order survives a crash at any point: first the mentions that only texts lead to, then a mark, then tombstones and
deletion in one transaction. From there on everything follows from the tombstones, and :func:`finish_interrupted` does
the rest for whoever comes next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from rekal import ids
from rekal.errors import RekalError, UsageError
from rekal.forget import history, logs, own_ref
from rekal.forget.own_ref import Unpublished
from rekal.forget.request import ForgetRequest
from rekal.git import Repo
from rekal.store import forget_targets
from rekal.store.commit_rows import add_sent_marks
from rekal.store.database import Connection
from rekal.store.erase import Erased, erase, rewrite
from rekal.store.forget_requests import record_request
from rekal.store.forget_targets import Match, Targets
from rekal.store.layout import Layout
from rekal.store.ledger import Ledger, open_ledger
from rekal.store.locks import hold_lock
from rekal.store.queries import session_ids
from rekal.store.tombstones import WordScope, add_forgotten_words, forgotten, own_tombstones
from rekal.transport import departures, refs
from rekal.transport.refs import Namespace, OwnRef, tip_of

_WAIT = 60.0


class NothingMatches(RekalError):
    """A request to forget that names nothing which is stored."""


class ForgetPlace(msgspec.Struct, frozen=True):
    """The clone that forgets, and its author."""

    layout: Layout
    repo: Repo
    namespace: Namespace

    def ref(self, ledger: Ledger) -> OwnRef:
        """This clone's ref."""
        return refs.own_ref(self.repo.author(), ledger.meta("store_id") or "", self.namespace)


class ForgetResult(msgspec.Struct, frozen=True):
    """Counts of one request, and its id for an undo.

    ``others`` are the teammates whose sessions it concerned; ``traces`` counts log lines and waiting events.
    """

    act: str
    erased: Erased
    traces: int = 0
    others: tuple[str, ...] = ()
    unpublished: Unpublished = Unpublished()


def preview_request(place: ForgetPlace, request: ForgetRequest) -> Erased:
    """Count what a request takes out of the ledger. Changes nothing."""
    with (
        hold_lock(place.layout.lock, wait=_WAIT, purpose="looking at what would be forgotten"),
        open_ledger(place.layout.data, read_only=False, wait=_WAIT) as ledger,
    ):
        # The deletion itself is the only count that cannot differ from the deletion.
        ledger.con.execute("BEGIN")
        try:
            return erase(ledger.con, _find_targets(ledger.con, request).targets)
        finally:
            ledger.con.execute("ROLLBACK")


def forget_locally(place: ForgetPlace, request: ForgetRequest) -> ForgetResult:
    """Forget it in the ledger, its free pages, spool, logs and our ref. The index is the caller's.

    Raises :class:`RekalError` when there is nothing of the kind.
    """
    layout = place.layout
    with (
        # In this order everywhere: a push holds the first one and then asks for the second.
        hold_lock(layout.transport_lock, wait=_WAIT, purpose="forgetting"),
        hold_lock(layout.lock, wait=_WAIT, purpose="forgetting"),
    ):
        with open_ledger(layout.data, read_only=False, wait=_WAIT) as ledger:
            done = _delete_from_ledger(place, ledger, request)
        return msgspec.structs.replace(done, unpublished=_finish_deletion(place))


def _delete_from_ledger(place: ForgetPlace, ledger: Ledger, request: ForgetRequest) -> ForgetResult:
    layout = place.layout
    matched: set[str] = set()
    found = _find_targets(ledger.con, request, matched)
    if not found.targets:
        return _forget_questions(place, ledger, request, matched)
    matches, needles = request.matches(), forget_targets.match_any_text(found.needles)
    mention: Match = lambda text: matches(text) or needles(text)  # noqa: E731 - one name, used twice
    cleared = logs.remove_mentions(layout, mention)
    layout.unfinished_forgetting.touch()
    prompts = forget_targets.select_prompts(ledger.con, found.targets)
    # Before the deletion: afterwards nothing tells whose sessions they were.
    others = forget_targets.find_other_owners(ledger.con, found.targets)
    with ledger.transaction():
        forget_targets.clear_local_texts(ledger.con, mention, found.needles)  # which name the sessions, too
        erased = erase(ledger.con, found.targets)
        name = record_request(ledger, found.targets, request.kinds, place.repo.author().name)
        add_forgotten_words(ledger.con, name, _words_to_refuse(request, matched, prompts))
    history.note_for_undo(layout.run, name, erased.touched, erased.commits)
    return ForgetResult(name, erased, cleared, others)


def _forget_questions(place: ForgetPlace, ledger: Ledger, request: ForgetRequest, matched: set[str]) -> ForgetResult:
    """Forget what stands in questions and logs alone, which no tombstone can name. Raises NothingMatches."""
    if request.names and not (request.texts or request.patterns or request.paths):
        raise NothingMatches("nothing here matches", "nothing was changed")
    mention = request.matches(matched)
    traces = logs.remove_mentions(place.layout, mention)
    with ledger.transaction(indexed=False):
        traces += forget_targets.clear_local_texts(ledger.con, mention, ())
        if not traces:
            raise NothingMatches("nothing here matches", "nothing was changed")
        # Before it is deleted: the file must be written anew, by whoever comes next if this ends here.
        place.layout.unfinished_forgetting.touch()
        add_forgotten_words(ledger.con, ids.ulid(), _words_to_refuse(request, matched, ()))
    return ForgetResult("", Erased(), traces)


def _words_to_refuse(
    request: ForgetRequest, matched: Iterable[str], prompts: Iterable[str]
) -> Iterator[tuple[str, WordScope]]:
    """The words to keep out of texts that are yet to come, each with the texts that it is to be kept out of."""
    yield from ((text, "any") for text in (*request.texts, *matched))
    yield from ((path.strip("/"), "path") for path in request.paths)
    # A copy of a conversation gets its title from the same prompt.
    yield from ((prompt, "title") for prompt in prompts)


def finish_interrupted(place: ForgetPlace) -> Unpublished | None:
    """Finish an interrupted forgetting; None when there was none."""
    if not place.layout.unfinished_forgetting.exists():
        return None
    with (
        hold_lock(place.layout.transport_lock, wait=_WAIT, purpose="forgetting"),
        hold_lock(place.layout.lock, wait=_WAIT, purpose="forgetting"),
    ):
        return _finish_deletion(place)


def _finish_deletion(place: ForgetPlace) -> Unpublished:
    layout = place.layout
    # Deleted rows stay in free pages until the file is written anew.
    rewrite(layout.data, layout.run)
    with open_ledger(layout.data, read_only=True, wait=_WAIT) as ledger:
        ref, gone, stones = place.ref(ledger), forgotten(ledger.con), own_tombstones(ledger.con)
    done = Unpublished()
    if tip_of(place.repo, ref.name) and own_ref.ref_holds(place.repo, ref, gone):
        done = own_ref.unpublish_ref(place.repo, layout.run, ref, gone, stones)
        # The new ref carries the tombstones: the next push must not send them a second time.
        with open_ledger(layout.data, read_only=False, wait=_WAIT) as ledger, ledger.transaction():
            sent = departures.read_sent(ledger).marks
            marks = [("tombstone", stone.target) for stone in stones]
            add_sent_marks(ledger.con, (mark for mark in marks if mark not in sent), tip_of(place.repo, ref.name) or "")
    else:
        own_ref.drop_replaced_tips(place.repo, layout.run, ref)  # cut short after the ref was replaced
    return done


def mark_finished(place: ForgetPlace) -> None:
    """Note that nothing is left to do. To be called when the index is built anew as well."""
    place.layout.unfinished_forgetting.unlink(missing_ok=True)


def damaged_files(layout: Layout) -> list[Path]:
    """Databases that were moved aside as damaged; they cannot be searched."""
    return sorted(layout.directory.glob("data.db.damaged-*"))


def _find_targets(con: Connection, request: ForgetRequest, matched: set[str] | None = None) -> Targets:
    """All targets of a request; ``matched`` gets what its patterns matched.

    Raises :class:`UsageError` for a name that is not stored or is ambiguous.
    """
    found = Targets()
    for name in request.names:
        found = found.plus(_targets_of_name(con, name))
    if request.texts or request.patterns:
        # Paths have targets of their own, which include the texts that mention them.
        without_paths = msgspec.structs.replace(request, paths=())
        found = found.plus(forget_targets.targets_of_text(con, without_paths.matches(matched)))
    for path in request.paths:
        found = found.plus(forget_targets.targets_of_path(con, path))
    return found


def _targets_of_name(con: Connection, name: str) -> Targets:
    prefix, turn, number = name.partition("#")
    # Without a prefix, "#3" would match every session.
    sessions = session_ids(con, prefix) if prefix else []
    memories = forget_targets.find_memory_ids(con, prefix) if prefix and not turn else []
    if not sessions and not memories:
        raise UsageError(f"{name} names nothing that is stored", "`rekal log` and `rekal find` print ids")
    if len(sessions) + len(memories) > 1:
        raise UsageError(f"{name} names {len(sessions) + len(memories)} sessions or memories", "give more of the id")
    if memories:
        return forget_targets.targets_of_memory(con, memories[0])
    if not turn:
        return forget_targets.targets_of_session(con, sessions[0])
    if not number.removeprefix("t").isdecimal():
        raise UsageError(f"{name} is not ID:TURN", "turns are numbered as `rekal show` prints them")
    return forget_targets.targets_of_turn(con, sessions[0], int(number.removeprefix("t")))
