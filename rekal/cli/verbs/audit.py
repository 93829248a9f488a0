"""``rekal audit``."""

from __future__ import annotations

from datetime import datetime

import click
import msgspec

from rekal.app.context import here
from rekal.app.desk import desk_here
from rekal.app.memories import LogEntry, audit_memories
from rekal.cli.memory_output import parse_moment
from rekal.cli.output import emit_json, json_option, minute
from rekal.cli.verbs.memory.history import entry_row
from rekal.errors import FOUND, NOTHING_FOUND, UsageError
from rekal.store.ledger import open_ledger
from rekal.transport.sent_log import Push, pushes


class AuditAnswer(msgspec.Struct, frozen=True):
    """What ``audit --json`` prints: departures, newest first; with --memories the log of memories."""

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
        return _memories(parse_moment(since), parse_moment(until, end=True), narrow, as_json=as_json)
    if since or until or any(narrow.values()):
        raise UsageError("these options narrow the log of memories", "add --memories")
    app = here()
    app.require_store()
    with open_ledger(app.layout.data, read_only=True) as ledger:
        answer = AuditAnswer(list(pushes(ledger)))
    if as_json:
        emit_json(answer)
    else:
        for p in answer.pushes:
            what = f"{p.checkpoints} checkpoints, {p.sessions} sessions, {p.bytes} bytes"
            click.echo(f"{minute(p.pushed_at)}  {p.remote}  {p.url}  {p.tip[:10]}  {what}")
        if not answer.pushes:
            click.echo("(nothing has left)")
    return FOUND if answer.pushes else NOTHING_FOUND


def _memories(since: datetime | None, until: datetime | None, narrow: dict[str, str], *, as_json: bool) -> int:
    found = audit_memories(desk_here(), since=since, until=until, **narrow)
    if as_json:
        emit_json(AuditAnswer([], found))
    for entry in [] if as_json else found:
        click.echo(entry_row(entry))
    if not found and not as_json:
        click.echo("(no events)")
    return FOUND if found else NOTHING_FOUND
