"""``rekal forget``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from rekal.app import forget_everywhere
from rekal.app.context import find_app, parse_handle
from rekal.app.desk import desk_here
from rekal.app.forget_everywhere import ForgetAnswer
from rekal.app.memories import MemoryQuery, list_memories, memory_history
from rekal.app.memory_views import forget_personal
from rekal.cli.output import confirm, count_of, format_minute, json_option, print_note, print_record
from rekal.cli.progress import show_work
from rekal.errors import FOUND, NOTHING_FOUND, REFUSED, UsageError
from rekal.forget.request import ForgetRequest
from rekal.memory.state import STATES
from rekal.store.erase import Erased

_SHORTEST = 6  # characters of an id that name a personal memory


@click.command("forget")
@click.argument("what", nargs=-1, metavar="[SESSION | SESSION:TURN | MEMORY]...")
@click.option("--text", "texts", multiple=True, help="Everything that holds this text.")
@click.option("--pattern", "patterns", multiple=True, help="Everything that matches this regular expression.")
@click.option("--path", "paths", multiple=True, help="Everything done to, and said of, this file or directory.")
@click.option(
    "--source", "source", type=click.Path(path_type=Path), help="An ingested document, or all below a folder."
)
@click.option("--personal", is_flag=True, help="With --source: one of your personal documents.")
@click.option("--dry-run", is_flag=True, help="Count what would go, and change nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option(
    "--list", "listing", is_flag=True, help="List what was forgotten: when, how much, whether it can be undone."
)
@click.option("--undo", metavar="ID", help="Let it be captured again, as long as no teammate was told to forget it.")
@json_option
def command(
    what: tuple[str, ...],
    texts: tuple[str, ...],
    patterns: tuple[str, ...],
    paths: tuple[str, ...],
    source: Path | None,
    personal: bool,
    dry_run: bool,
    yes: bool,
    listing: bool,
    undo: str | None,
    as_json: bool,
) -> int:
    """Forget for good: here, in what was shared, and for teammates at their next fetch.

    It goes from the store, its free pages, the index, waiting events, logs and this clone's ref, and it does not come
    back by a new capture or a teammate's copy. What rekal cannot reach is listed.
    """
    # Long because five ways of naming, a preview and an undo are one command, as people expect of it.
    if source is not None:
        return _forget_source(source, yes=yes, dry_run=dry_run, personal=personal, as_json=as_json)
    if what and not (texts or patterns or paths or listing or undo):
        what, erased = _forget_personal(what, dry_run=dry_run, yes=yes)
        if erased and not what:
            print_record(ForgetAnswer(dry_run=dry_run, erased=erased), as_json, _lines)
            return FOUND
    app = find_app()
    app.require_store()
    request = ForgetRequest(tuple(map(_name_target, what)), texts, patterns, paths)
    if listing or undo:
        past = forget_everywhere.list_forgotten(app) if listing else forget_everywhere.undo_forgetting(app, str(undo))
        print_record(past, as_json, _request_lines)
        return FOUND if past.acts else NOTHING_FOUND
    if request == ForgetRequest():
        raise UsageError("nothing was named", "name a session, a turn or a memory, or use --text, --pattern or --path")
    with show_work("looking for what would go"):
        answer = forget_everywhere.preview_forgetting(app, request)
    if not dry_run:
        if not yes and not confirm(f"Forget {_describe_counts(answer.erased)} for good?"):
            print_note("nothing was forgotten")
            return REFUSED
        answer = forget_everywhere.forget_everywhere(app, request)
    print_record(answer, as_json, _lines, answer.notes)
    # With a note, an earlier request was finished: what it named is gone.
    return FOUND if answer.erased.total or answer.act or answer.notes or answer.traces else NOTHING_FOUND


def _forget_source(path: Path, *, yes: bool, dry_run: bool, personal: bool, as_json: bool) -> int:
    """Forget documents by their file or folder."""
    from rekal.app.documents.ingest_documents import find_ingested, forget_documents

    desk = desk_here()
    named = find_ingested(desk, path, personal=personal)
    if not named:
        raise UsageError(f"nothing below {path} was ingested", "`rekal ingest --list` says what was")
    if not dry_run and not yes and not confirm(f"Forget {count_of(len(named), 'document')} for good?"):
        print_note("nothing was forgotten")
        return REFUSED
    gone = named if dry_run else forget_documents(desk, path, personal=personal)
    print_record(SourcesForgotten(gone, dry_run), as_json, _source_lines)
    return FOUND


class SourcesForgotten(msgspec.Struct, frozen=True):
    """The result of ``forget --source --json``: paths of the documents."""

    sources: list[str]
    dry_run: bool


def _source_lines(answer: SourcesForgotten) -> Iterator[str]:
    yield f"{'would forget' if answer.dry_run else 'forgot'} {count_of(len(answer.sources), 'document')}"
    yield from (f"  {path}" for path in answer.sources)
    if not answer.dry_run:
        yield "the files themselves are yours and were not touched; only `ingest --again` reads them again"


def _forget_personal(what: tuple[str, ...], *, dry_run: bool, yes: bool) -> tuple[tuple[str, ...], Erased | None]:
    """Forget those names that are memories of the personal store; returns the other names, and what went."""
    desk = desk_here()
    if not desk.personal.data.exists():
        return what, None
    mine = {one.id for one in list_memories(desk, MemoryQuery(states=STATES, personal=True, limit=-1)).memories}
    named = tuple(name for name in what if len(name) >= _SHORTEST and any(one.startswith(name) for one in mine))
    if not named or (not dry_run and not yes and not confirm(f"Forget {len(named)} personal memories for good?")):
        return what, None
    events = 0
    for name in named:
        if dry_run:
            events += len(memory_history(desk, name).events)
        elif (gone := forget_personal(desk, name)) is not None:
            events += gone.events
    return tuple(name for name in what if name not in named), Erased(events=events)


def _name_target(text: str) -> str:
    name, turn = parse_handle(text)
    return name if turn is None else f"{name}#{turn}"


def _request_lines(answer: ForgetAnswer) -> Iterator[str]:
    for request in answer.acts:
        fate = "teammates were told" if request.shipped else "can be undone"
        when = format_minute(request.recorded_at)
        yield f"{request.id}  {when}  by {request.reason}  {request.targets} targets  {fate}"
    if not answer.acts:
        yield "(nothing was forgotten)"


def _describe_counts(e: Erased) -> str:
    counts = {
        "sessions": e.sessions,
        "turns": e.turns,
        "tool calls": e.calls,
        "commits' links": e.checkpoints,
        "file names": e.files,
        "memories' events": e.events,
        "titles or subjects": e.texts,
    }
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing"


def _lines(answer: ForgetAnswer) -> Iterator[str]:
    verb = "would go" if answer.dry_run else "forgotten"
    only_traces = answer.traces and not answer.erased.total
    said = count_of(answer.traces, "question or line of a log", "questions or lines of logs") if only_traces else ""
    yield f"{verb}: {said or _describe_counts(answer.erased)}" + (f"  ({answer.act})" if answer.act else "")
    for place in answer.out_of_reach:
        yield f"  out of reach: {place}"
