"""``rekal audit``."""

from __future__ import annotations

import click
import msgspec

from rekal.app.context import here
from rekal.cli.output import emit_json, json_option, minute
from rekal.errors import FOUND, NOTHING_FOUND
from rekal.store.ledger import open_ledger
from rekal.transport.sent_log import Push, pushes


class AuditAnswer(msgspec.Struct, frozen=True):
    """What ``audit --json`` prints: every departure, newest first."""

    pushes: list[Push]


@click.command("audit")
@json_option
def command(as_json: bool) -> int:
    """What left this clone, when and where to.

    A departure's commit holds the segments: `git ls-tree TIP` lists them, `rekal push --dry-run` says what is next.
    """
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
