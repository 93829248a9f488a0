"""The store as the doctor tries it: opened, read, indexed, embedded, asked."""

from __future__ import annotations

from collections.abc import Iterator

from rekal.app.ask_question import AskedQuestion, ask_question
from rekal.app.choose_settings import verify_model
from rekal.app.context import App, list_unused_patterns
from rekal.app.doctor.diagnosis import CheckResult
from rekal.app.resources import count_embedded, embed_texts
from rekal.errors import EngineError, StoreBusy, StoreDamaged, StoreError
from rekal.index.build import refresh_index
from rekal.index.freshness import read_position
from rekal.store import queries, session_list, spool
from rekal.store.ledger import open_ledger
from rekal.store.locks import find_holder
from rekal.store.session_list import SessionFilter

_PATIENCE = 3.0  # seconds for a writer: a capture holds the store for less
_TOO_LONG = 600.0  # seconds of one step
_ASKED = 3  # sessions that are asked for by their own words
_WORDS = 5  # of a prompt, at least, to be a question
DAMAGED = (
    "`rekal checkpoint` moves it aside and captures again what is still on this machine; a backup of data.db can be "
    "put back first, and `rekal sync` brings teammates' sessions"
)


def examine_settings(app: App) -> Iterator[CheckResult]:
    """Read the settings, and say what of them is not followed."""
    problems = [*app.settings.warnings, *list_unused_patterns(app)]
    for problem in problems:
        yield CheckResult("settings", "note", problem, "`rekal config` lists what there is")
    if not app.config.enabled:
        yield CheckResult("settings", "note", "capturing is switched off", "`rekal config enabled true` turns it on")
    elif not problems:
        yield CheckResult("settings", "ok", f"{len(app.settings.files)} files, all of it understood")


def examine_ledger(app: App) -> Iterator[CheckResult]:
    """Open the ledger and read a session of it. A store that is being written is not broken."""
    if app.layout.directory.stat().st_mode & 0o077:
        yield CheckResult(
            "store", "wrong", f"others on this machine can look into {app.layout.directory}", "`rekal doctor --fix`"
        )
    try:
        with open_ledger(app.layout.data, read_only=True, wait=_PATIENCE) as ledger:
            counts = queries.count_rows(ledger.con)
            newest = session_list.list_sessions(ledger.con, SessionFilter(), 1)
            read = queries.read_session(ledger.con, newest[0].id) if newest else None
    except StoreBusy as error:
        yield CheckResult("store", "note", f"{error.message}; it is read again when that is done")
        return
    except StoreError as error:
        damaged = isinstance(error, StoreDamaged)
        yield CheckResult("store", "wrong", error.message, DAMAGED if damaged else error.hint)
        return
    held = f"{counts.own_sessions + counts.foreign_sessions:,} sessions, {counts.turns:,} turns"
    if read is None:
        yield CheckResult("store", "ok", f"opens; {held}")
    else:
        yield CheckResult("store", "ok", f"opens; {held}; the newest, {read.id[:10]}, reads whole")


def repair_ledger(app: App) -> None:
    """Keep everybody else out of the store."""
    app.layout.create()


def examine_workers(app: App) -> Iterator[CheckResult]:
    """Look at what waits, and for whom."""
    waiting, broken = spool.count_events(app.layout.spool)
    held = False
    for lock in (app.layout.lock, app.layout.index_lock, app.layout.working_lock):
        holder = find_holder(lock)
        held = held or holder is not None
        if holder and (holder.stopped or (holder.seconds > _TOO_LONG and lock != app.layout.working_lock)):
            state = "is stopped" if holder.stopped else f"has been at it for {holder.seconds / 60:.0f} minutes"
            yield CheckResult(
                "worker", "wrong", f"process {holder.pid} ({holder.purpose}) {state}", f"`kill -9 {holder.pid}` ends it"
            )
            return
    if broken:
        yield CheckResult(
            "worker", "wrong", f"{broken} events could not be worked on; they are in {app.layout.spool / 'broken'}",
            "look at them, and report what made them if it is ours",
        )  # fmt: skip
    if held:
        yield CheckResult("worker", "ok", f"at work now; {waiting} events wait")
    elif waiting:
        yield CheckResult("worker", "wrong", f"{waiting} events wait, and nobody works on them", "`rekal checkpoint`")
    elif not broken:
        yield CheckResult("worker", "ok", "nothing waits")


def examine_index(app: App) -> Iterator[CheckResult]:
    """Compare the index with the ledger."""
    covered = read_position(app.layout.index)
    try:
        with open_ledger(app.layout.data, read_only=True, wait=_PATIENCE) as ledger:
            position, turns = ledger.position(), queries.count_rows(ledger.con).turns
    except StoreError as error:
        yield CheckResult("index", "note", f"not compared: {error.message}")
        return
    if covered is None and turns:
        yield CheckResult("index", "wrong", "there is no index that can be read", "`rekal index`")
    elif covered is not None and covered < position:
        at_work = find_holder(app.layout.index_lock) or find_holder(app.layout.working_lock)
        behind = f"{position - covered} captures behind"
        if at_work:
            yield CheckResult("index", "note", f"{behind}; process {at_work.pid} ({at_work.purpose}) is at it")
        else:
            yield CheckResult("index", "note", behind, "`rekal index`, or the next worker")
    else:
        yield CheckResult("index", "ok", "holds all that the store holds")


def repair_index(app: App) -> None:
    """Bring the index up to the ledger."""
    refresh_index(app.layout, app.repo, app.scrub, lambda message: None)


def examine_vectors(app: App) -> Iterator[CheckResult]:
    """Embed a sentence with the model in use, and count what has no vector yet."""
    if app.config.embed.engine == "off":
        yield CheckResult("vectors", "note", "switched off: questions are answered by words alone")
        return
    try:
        model = verify_model(app)
    except EngineError as error:
        yield CheckResult("vectors", "wrong", error.message, error.hint or "`rekal model list` names others")
        return
    took = f"{model.milliseconds:.0f} ms a sentence, {model.dim} numbers"
    now = count_embedded(app)
    if now is None or now.done >= now.total:
        yield CheckResult("vectors", "ok", f"the model works ({took}); nothing is missing")
    else:
        missing = f"{now.total - now.done:,} of {now.total:,} texts have no vector yet"
        yield CheckResult("vectors", "note", f"the model works ({took}); {missing}", "`rekal embed` makes them now")


def repair_vectors(app: App) -> None:
    """Make the vectors that are missing."""
    embed_texts(app, lambda now: None)


def examine_recall(app: App) -> Iterator[CheckResult]:
    """Ask for some sessions by the words they begin with, and see that they come back."""
    try:
        with open_ledger(app.layout.data, read_only=True, wait=_PATIENCE) as ledger:
            prompts = _some_prompts(session_list.list_sessions(ledger.con, SessionFilter(), 30))
    except StoreError as error:
        yield CheckResult("recall", "note", f"not tried: {error.message}")
        return
    if not prompts:
        yield CheckResult("recall", "note", "not tried: no session is named by enough words")
        return
    found = 0
    for session_id, words in prompts:
        try:
            answer = ask_question(app, AskedQuestion(text=words))
        except StoreError as error:
            yield CheckResult("recall", "wrong", error.message, error.hint)
            return
        found += session_id in [hit.session_id for hit in answer.sessions]
    said = f"{found} of {len(prompts)} sessions come back when they are asked for by their own words"
    if found:
        yield CheckResult("recall", "ok", said)
    else:
        yield CheckResult("recall", "wrong", said, "`rekal index --full`")


def repair_recall(app: App) -> None:
    """Build the index from nothing."""
    refresh_index(app.layout, app.repo, app.scrub, lambda message: None, full=True)


def _some_prompts(rows: list[session_list.SessionRow]) -> list[tuple[str, str]]:
    wordy = [(row.id, row.title) for row in rows if row.title and len(row.title.split()) >= _WORDS]
    return wordy[:_ASKED]
