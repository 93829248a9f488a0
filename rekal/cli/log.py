"""``rekal log``."""

from __future__ import annotations

import click
import msgspec

from rekal.cli.app import here
from rekal.cli.output import day, emit_json, json_option, one_line, short
from rekal.errors import FOUND, NOTHING_FOUND
from rekal.model import Checkpoint
from rekal.store import reads
from rekal.store.ledger import open_ledger


class LogAnswer(msgspec.Struct, frozen=True):
    """What ``log --json`` prints. ``truncated`` says that older checkpoints were left out."""

    checkpoints: list[Checkpoint]
    truncated: bool


@click.command("log")
@click.option("-n", "--limit", default=20, show_default=True, help="Checkpoints printed at most.")
@click.option("--file", "path", help="Only commits that changed this path or a path below it.")
@click.option("--author", help="Only commits by this e-mail address.")
@click.option("--all", "everything", is_flag=True, help="Also commits that were since amended or rebased away.")
@json_option
def command(limit: int, path: str | None, author: str | None, everything: bool, as_json: bool) -> int:
    """Commits with the sessions that led to them, newest first."""
    app = here()
    conditions, values = ["true"], []
    if path:
        conditions.append(
            "id IN (SELECT checkpoint_id FROM files_touched WHERE path = ? OR starts_with(path, ?) OR old_path = ?)"
        )
        values += [path, path.rstrip("/") + "/", path]
    if author:
        conditions.append("author_email = ?")
        values.append(author)
    if not everything:
        conditions.append("git_sha NOT IN (SELECT old_sha FROM rewrites)")
    with open_ledger(app.layout.data, read_only=True) as ledger:
        found = reads.checkpoints(ledger.con, " AND ".join(conditions), values, limit + 1)
    answer = LogAnswer(found[:limit], len(found) > limit)
    if as_json:
        emit_json(answer)
    else:
        _print(answer)
    return FOUND if found else NOTHING_FOUND


def _print(answer: LogAnswer) -> None:
    for c in answer.checkpoints:
        click.echo(f"{c.git_sha[:10]}  {day(c.committed_at)}  {c.branch or '-'}  {one_line(c.subject or '', 72)}")
        for r in c.sessions:
            click.echo(f"    {short(r.session_id)}  t{r.first_seq}-{r.last_seq}  {r.evidence}")
    if answer.truncated:
        click.echo(f"(older ones left out; -n {len(answer.checkpoints) * 2} shows more)")
    if not answer.checkpoints:
        click.echo("(no commits with sessions)")
