"""``rekal audit``."""

from __future__ import annotations

from collections.abc import Iterator

import click
import msgspec

from rekal.app import memories, share
from rekal.app.context import find_app
from rekal.app.desk import desk_here
from rekal.app.memory_views import LogEntry
from rekal.cli.memory_output import parse_moment
from rekal.cli.output import format_minute, json_option, print_record
from rekal.cli.verbs.memory.history import entry_row
from rekal.errors import FOUND, NOTHING_FOUND, UsageError
from rekal.store.commit_rows import Push


class AuditAnswer(msgspec.Struct, frozen=True):
    """Departures of memory from this clone, newest first, or the log of memories: ``audit --json``."""

    pushes: list[Push] = []
    memories: list[LogEntry] = []


@click.command("audit")
@click.option("--memories", "log", is_flag=True, help="The log of memories instead: who changed what, through what.")
@click.option("--memory", default="", metavar="ID", help="With --memories: only of this memory.")
@click.option("--kind", default="", help="With --memories: only events of this kind, such as assert or reject.")
@click.option("--actor", default="", help="With --memories: only by whom; part of a name, or human, agent, derived.")
@click.option("--since", help="With --memories: recorded from then on.")
@click.option("--until", help="With --memories: recorded up to then.")
@json_option
def command(log: bool, since: str | None, until: str | None, as_json: bool, **narrow: str) -> int:
    """What left this clone, when and where to; or what changed memories.

    A departure's commit holds the segments: `git ls-tree TIP` lists them, `rekal push --dry-run` says what is next.
    """
    if log:
        events = memories.audit_memories(
            desk_here(), since=parse_moment(since), until=parse_moment(until, end=True), **narrow
        )
        print_record(AuditAnswer(memories=events), as_json, _changes_of_memories)
        return FOUND if events else NOTHING_FOUND
    if since or until or any(narrow.values()):
        raise UsageError("these options narrow the log of memories", "add --memories")
    app = find_app()
    app.require_store()
    answer = AuditAnswer(share.read_departures(app))
    print_record(answer, as_json, _push_lines)
    return FOUND if answer.pushes else NOTHING_FOUND


def _changes_of_memories(answer: AuditAnswer) -> Iterator[str]:
    yield from map(entry_row, answer.memories)
    if not answer.memories:
        yield "(no events)"


def _push_lines(answer: AuditAnswer) -> Iterator[str]:
    for p in answer.pushes:
        counts = f"{p.checkpoints} checkpoints, {p.sessions} sessions, {p.bytes} bytes"
        yield f"{format_minute(p.pushed_at)}  {p.remote}  {p.url}  {p.tip[:10]}  {counts}"
    if not answer.pushes:
        yield "(nothing has left)"
