"""``rekal recall``."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import click
import msgspec

from rekal.app.context import App, here
from rekal.app.desk import Desk
from rekal.app.resources import Kept, LedgerState, decline_if_kept, is_kept, resources
from rekal.app.semantic import off, semantic
from rekal.cli import clock
from rekal.cli.ages import parse_age
from rekal.cli.output import day, emit_json, json_option, one_line, printable, short
from rekal.daemon.client import reachable, supported
from rekal.daemon.spawn import start_daemon, start_worker
from rekal.errors import EngineError, StoreBusy, StoreDamaged, StoreError, UsageError
from rekal.index.filters import Filters
from rekal.index.reader import IndexReader
from rekal.recall.answer import Answer, Hit, MemoryRow, Pin
from rekal.recall.dates import read_periods
from rekal.recall.recall import Options, answer_question
from rekal.store import spool
from rekal.store.database import translated_errors
from rekal.store.ledger import open_ledger
from rekal.store.memory_log import read_events
from rekal.store.queries import turns_recorded_after
from rekal.transport import fetch_stamp

_PATIENCE = 1.0  # seconds to wait for a writer: memories are read from the ledger itself
_NAMED = ("date", "commit", "branch", "agent")


@click.command("recall")
@click.argument("question", nargs=-1)
@click.option("--file", "file", help="Only sessions that touched this path, or a path below it.")
@click.option("--commit", help="Only sessions that led to this commit.")
@click.option("--author", help="Only sessions of this person: part of a name or e-mail address.")
@click.option("--agent", help="Only sessions of this agent.")
@click.option("--actor", type=click.Choice(["human", "agent"]), help="Only a person's sessions, or only sub-agents'.")
@click.option("--branch", help="Only sessions on this branch.")
@click.option("--since", help="Only turns from this date on (2026-03-01, 'last week') or of this age (30d).")
@click.option("--until", help="Only turns up to this date.")
@click.option("--as-of", "as_of", help="As the world was at this date or commit.")
@click.option("--known-at", "known_at", help="As the store knew it at this date or commit.")
@click.option("-n", "--limit", type=click.IntRange(0), help="Sessions shown at most.")
@click.option("--budget", type=click.IntRange(50, 8000), help="Tokens of evidence shown, about.")
@click.option("--explain", is_flag=True, help="Show what the verdict rests on.")
@json_option
def command(
    question: tuple[str, ...],
    since: str | None,
    until: str | None,
    as_of: str | None,
    known_at: str | None,
    limit: int | None,
    budget: int | None,
    explain: bool,
    as_json: bool,
    **where: Any,
) -> int:
    """Ask what past sessions know.

    INJECT: sessions worth reading (exit 0). KNOWLEDGE: a tracked file answers (exit 0). SILENCE: nothing here bears on
    it (exit 1), with the reason.
    """
    # Long because each of its options is a parameter and a filter.
    app = here()
    app.require_store()
    if app.config.recall.daemon == "off":
        decline_if_kept()
    asked = " ".join(question)
    filters = Filters(
        since=_read_time(app, since),
        until=_read_time(app, until, end=True),
        as_of=_read_time(app, as_of, end=True),
        **_known(app, _read_time(app, known_at, end=True)),
        **where,
    )
    chosen = app.config.recall
    shown = chosen.limit if limit is None else limit
    options = Options(chosen.strictness, budget or chosen.budget, shown, explain, clock.now())
    answer = _answer_with_notes(app, asked, filters, options)
    _remember(app, answer)
    if as_json:
        emit_json(answer)
    else:
        print_answer(answer, explain)
    _wake_worker(app)
    _wake_daemon(app)
    return answer.exit_code


def _known(app: App, when: datetime | None) -> dict[str, Any]:
    """The filters of ``--known-at``: the moment, and what of the ledger was recorded after it."""
    if when is None:
        return {}
    with open_ledger(app.layout.data, read_only=True) as ledger:
        return {"known_at": when, "later": tuple(turns_recorded_after(ledger.con, when))}


def _read_spelled_time(text: str, end: bool) -> datetime | None:
    """The beginning of a time given in words ("last week"), or its end; None for anything else."""
    for phrase in (text, f"in {text}"):  # a month alone is a date only after a preposition
        for found in read_periods(phrase, clock.now()):
            if (found.start, found.stop) == (0, len(phrase)):
                return found.until - timedelta(microseconds=1) if end and found.until else found.since
    return None


def _read_time(app: App, text: str | None, *, end: bool = False) -> datetime | None:
    """A date, a time, an age or a commit as a point in time. A date given as an end means the end of that day."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        commit = app.repo.commit(text)
        spelled = commit.committed_at if commit else _read_spelled_time(text, end)
        if spelled:
            return spelled
        try:
            return datetime.now(UTC) - parse_age(text)
        except UsageError:
            hint = "write 2026-03-01, yesterday, 30d or the name of a commit"
            raise UsageError(f"{text} is not a date, an age or a commit", hint) from None
    if len(text) <= 10 and end:
        found = found.replace(hour=23, minute=59, second=59, microsecond=999999)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _answer_with_notes(app: App, question: str, filters: Filters, options: Options) -> Answer:
    notes: list[str] = []
    with resources() as kept:
        try:
            answer = _ask(app, kept, question, filters, options, notes)
        except StoreDamaged:
            _rebuild(app, full=True)
            notes[:] = ["the index was damaged and has been built again"]
            answer = _ask(app, kept, question, filters, options, notes)
    return msgspec.structs.replace(answer, notes=[*notes, *answer.notes])


def _ask(app: App, kept: Kept, question: str, filters: Filters, options: Options, notes: list[str]) -> Answer:
    reader = _reader(app, kept, notes)
    ledger = _ledger_state(app, kept)
    lacking = ledger.position - reader.position if ledger else 0
    if lacking > 0:
        notes.append(f"index: {lacking} captures behind")
    found = semantic(app, kept)
    with translated_errors(app.layout.index):
        try:
            answer = answer_question(reader, question, filters, options, found.meaning)
        except EngineError as error:
            answer, found = answer_question(reader, question, filters, options), off(error)
    notes.append(found.note)
    if ledger is None:
        notes.append("memories: not read, the store is being written")
        return answer
    desk = Desk(app.home, app.env, app)
    if not ledger.events and not desk.personal.data.exists():
        return answer
    from rekal.app.memory_recall import Moment, add_memories  # 5 ms that only a store with memories costs

    return add_memories(
        desk, answer, ledger.events, Moment(filters.as_of, filters.known_at), file=filters.file,
        branch=filters.branch, reader=reader, meaning=found.meaning,
    )  # fmt: skip


def _reader(app: App, kept: Kept, notes: list[str]) -> IndexReader:
    try:
        return kept.index(app.layout.index)
    except StoreBusy:
        raise
    except StoreError:  # none yet, damaged, or made by another version
        _rebuild(app)
    notes.append("the index was missing or damaged and has been built again")
    return kept.index(app.layout.index)


def _rebuild(app: App, *, full: bool = False) -> None:
    from rekal.app.refresh import refresh_index  # what builds an index takes 20 ms to import

    refresh_index(app, full=full)


def _ledger_state(app: App, kept: Kept) -> LedgerState | None:
    """Position and memories of the ledger; None while it is being written: the writer will index what is new."""

    def read() -> LedgerState:
        with open_ledger(app.layout.data, read_only=True, wait=_PATIENCE) as ledger:
            return LedgerState(ledger.position(), tuple(read_events(ledger.con)))

    try:
        return kept.ledger(app.layout.data, read)
    except StoreBusy:
        return None


def _remember(app: App, answer: Answer) -> None:
    """Leave a note that these sessions were shown. Being shown never ranks; it is what being opened is compared to."""
    if answer.sessions:
        ids = tuple(hit.session_id for hit in answer.sessions)
        event = spool.RecallEvent("surfaced", ids, datetime.now(UTC), app.scrubber.text(answer.question))
        try:
            spool.put_event(app.layout.spool, event)
        except OSError as error:
            click.echo(f"rekal: this recall was not noted ({error.strerror})", err=True)


def _wake_worker(app: App) -> None:
    """Have what a fetch brought imported for the next question: a few stats, and a start once for each fetch."""
    if app.config.transport.remotes and fetch_stamp.ask_once(app.layout.run, fetch_stamp.stamp(app.repo.common_dir)):
        start_worker(app)


def _wake_daemon(app: App) -> None:
    """Have the next recall answered by a daemon, once there is something that it pays to keep open."""
    wanted = app.config.recall.daemon == "auto" and app.config.embed.engine != "off" and not is_kept()
    if wanted and supported() and any(app.layout.vectors.glob("*.vec")) and not reachable():
        try:
            start_daemon(app)
        except OSError:
            return  # a store that cannot be written is recalled from, too


def print_answer(answer: Answer, explain: bool) -> None:
    """Print an answer as text, with ``explain`` all that led to it."""
    notes = "".join(f"  {note}" for note in answer.notes)
    if answer.verdict == "SILENCE":
        click.echo(f"SILENCE {answer.reason}{notes}")
        if answer.uncovered:
            click.echo(f"never seen here: {', '.join(answer.uncovered)}")
    elif answer.verdict == "KNOWLEDGE":
        click.echo(f"KNOWLEDGE {len(answer.knowledge)} passages{notes}")
    elif answer.listed:
        click.echo(f"INJECT {len(answer.sessions)} of the {answer.listed} sessions that the question names{notes}")
    else:
        count, kept = len(answer.sessions), len(answer.memories or ())
        memories = f" {kept} memor{'ies' if kept != 1 else 'y'}" if kept else ""
        click.echo(
            f"{answer.verdict} support={answer.support:.2f}{memories} {count} session{'s' * (count != 1)}{notes}"
        )
    for one in answer.memories or ():
        _print_memory(one)
    for hit in answer.sessions:
        _print_hit(hit)
    if answer.sessions and answer.uncovered:
        click.echo(f"uncovered: {', '.join(answer.uncovered)}")
    _print_anchors(answer, explain)
    for known in answer.knowledge:
        touched = f"  touched by {', '.join(short(s) for s in known.sessions)}" if known.sessions else ""
        click.echo(f"KNOWLEDGE {known.path}:{known.start}-{known.end} {known.coverage:.2f}{touched}")
        if answer.verdict == "KNOWLEDGE":
            click.echo(f'  "{one_line(known.text, 400)}"')
    for name, value in answer.features.items():
        click.echo(f"  {name} = {value:g}")


def _print_anchors(answer: Answer, explain: bool) -> None:
    """What the question names and nothing shown answers to; with ``explain`` all that it names."""
    named = [pin for pin in answer.anchors if pin.kind in _NAMED]
    if answer.sessions and (missed := [pin for pin in named if not pin.shown]):
        click.echo(f"none of these: {', '.join(map(_anchor, missed))}")
    for pin in named if answer.verdict == "SILENCE" else ():
        if pin.kind == "commit":
            click.echo(f"known here: {_anchor(pin)}, see `rekal show {pin.text}`")
    for pin in answer.anchors if explain else ():
        counts = "" if pin.sessions is None else f": {pin.sessions} sessions, {pin.shown} shown"
        click.echo(f"  anchor {_anchor(pin)}{counts}")


def _anchor(pin: Pin) -> str:
    if pin.kind != "date":
        return f"{pin.kind} {printable(pin.text)}"
    since, until = (when and day(when.astimezone()) for when in (pin.since, pin.until))  # days as the user counts them
    if since and until:
        return f"date {pin.text} ({since if since == until else f'{since} to {until}'})"
    return f"date {pin.text} ({f'from {since}' if since else f'to {until}'})"


def _print_memory(one: MemoryRow) -> None:
    whose = "personal" if one.personal else "" if one.origin == "local" else f"from {one.origin}"
    marks = (one.state, whose, f"scope {', '.join(one.scope)}" if one.scope else "", one.grounds)
    text = f'"{one_line(one.text, 300)}"'
    text += f" because {one_line(one.because, 200)}" if one.because else ""
    text += f"; instead: {one_line(one.instead, 120)}" if one.instead else ""
    cited = f"  [{one_line(one.source, 60)}]" if one.source else ""
    head = f"{one.label} {short(one.id)}  {day(one.occurred_at)}  {one_line(one.actor, 40)}"
    click.echo(f"{head}  {', '.join(mark for mark in marks if mark)}  {text}{cited}")


def _print_hit(hit: Hit) -> None:
    place = f"{hit.branch or '-'}" + (f"@{hit.commits[0][:8]}" if hit.commits else "")
    whose = "" if hit.origin == "local" else f"  (from {hit.origin})"
    for row in hit.rows:
        who = hit.author_name if row.role in ("human", "steering") else hit.agent
        head = f"  {short(hit.session_id)} t{row.seq}  {day(row.occurred_at)}  {who}  {place}{whose}"
        click.echo(f'{head}  "{one_line(row.text, 600)}{"…" if row.cut else ""}"')
