"""``rekal log``."""

from __future__ import annotations

import click
import msgspec

from rekal.app.context import App, here
from rekal.cli.output import day, emit_json, json_option, one_line, short
from rekal.errors import FOUND, NOTHING_FOUND, UsageError
from rekal.model import LOCAL, Checkpoint, Rewrite
from rekal.store import queries
from rekal.store.ledger import Ledger, open_ledger


class LogAnswer(msgspec.Struct, frozen=True):
    """What ``log --json`` prints. ``truncated`` says that older ones were left out.

    With ``--rewrites`` it is ``rewrites`` that is filled, else ``checkpoints``.
    """

    checkpoints: list[Checkpoint]
    truncated: bool
    rewrites: list[Rewrite] = []


@click.command("log")
@click.option("-n", "--limit", default=20, show_default=True, help="Checkpoints printed at most.")
@click.option("--file", "path", help="Only commits that changed this path or a path below it.")
@click.option("--author", help="Only commits by this e-mail address.")
@click.option("--graph", is_flag=True, help="Git's graph of the current branch, with the sessions at their commits.")
@click.option("--rewrites", is_flag=True, help="Commits that became others, instead: by amend, rebase, squash or copy.")
@click.option("--all", "everything", is_flag=True, help="Also commits that were since amended or rebased away.")
@json_option
def command(
    limit: int,
    path: str | None,
    author: str | None,
    graph: bool,
    rewrites: bool,
    everything: bool,
    as_json: bool,
) -> int:
    """Commits with the sessions that led to them, newest first."""
    app = here()
    if graph and (rewrites or as_json or everything):
        raise UsageError("--graph is a picture for people", "leave out --rewrites, --all and --json")
    if graph:
        return _graph(app, limit, path, author)
    with open_ledger(app.layout.data, read_only=True) as ledger:
        answer = _rewritten(ledger, limit) if rewrites else _logged(ledger, limit, path, author, everything)
    if as_json:
        emit_json(answer)
    elif rewrites:
        _print_rewrites(answer)
    else:
        _print(answer)
    return FOUND if answer.checkpoints or answer.rewrites else NOTHING_FOUND


def _rewritten(ledger: Ledger, limit: int) -> LogAnswer:
    rows = ledger.con.execute(
        "SELECT old_sha, new_sha, how FROM rewrites ORDER BY pos DESC, rowid DESC LIMIT ?", [limit + 1]
    ).fetchall()
    return LogAnswer([], len(rows) > limit, [Rewrite(old, new, how) for old, new, how in rows[:limit]])


def _logged(ledger: Ledger, limit: int, path: str | None, author: str | None, everything: bool) -> LogAnswer:
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
        # What was copied or squashed may still be there, on its own branch.
        conditions.append("git_sha NOT IN (SELECT old_sha FROM rewrites WHERE how IN ('amend', 'rebase'))")
    found = queries.read_checkpoints(ledger.con, " AND ".join(conditions), values, limit + 1)
    return LogAnswer(found[:limit], len(found) > limit)


def _print_rewrites(answer: LogAnswer) -> None:
    for r in answer.rewrites:
        click.echo(f"{r.old_sha[:10]} -> {r.new_sha[:10]}  {r.how}")
    if answer.truncated:
        click.echo(f"(older ones left out; -n {len(answer.rewrites) * 2} shows more)")
    if not answer.rewrites:
        click.echo("(no commit became another)")


def _graph(app: App, limit: int, path: str | None, author: str | None) -> int:
    """Git draws the graph; the sessions stand below their commits, behind the same lines."""
    narrowed = [f"--author={author}"] if author else []
    paths = ["--", path] if path else ["--"]
    drawn = app.repo.run("log", "--graph", f"-n{limit}", "--format=%x00%H%x00%h  %cs  %s", *narrowed, *paths)
    shas = [row.split("\0")[1] for row in drawn.splitlines() if "\0" in row]
    with open_ledger(app.layout.data, read_only=True) as ledger:
        found = queries.read_checkpoints(ledger.con, "list_contains(?::VARCHAR[], git_sha)", [shas])
    sessions: dict[str, list[str]] = {}
    for c in found:
        named = (f"{short(r.session_id)}  t{r.first_seq}-{r.last_seq}  {r.evidence}" for r in c.sessions)
        sessions.setdefault(c.git_sha, []).extend(named)
    for row in drawn.splitlines():
        lines, _, commit = row.partition("\0")
        sha, _, said = commit.partition("\0")
        click.echo(f"{lines}{one_line(said, 100)}")
        for session in sessions.get(sha, ()):
            click.echo(f"{lines.replace('*', '|')}    {session}")
    return FOUND if drawn else NOTHING_FOUND


def _print(answer: LogAnswer) -> None:
    for c in answer.checkpoints:
        whose = "" if c.origin == LOCAL else f"  from {c.origin}"
        click.echo(
            f"{c.git_sha[:10]}  {day(c.committed_at)}  {c.branch or '-'}  {one_line(c.subject or '', 72)}{whose}"
        )
        for r in c.sessions:
            click.echo(f"    {short(r.session_id)}  t{r.first_seq}-{r.last_seq}  {r.evidence}")
    if answer.truncated:
        click.echo(f"(older ones left out; -n {len(answer.checkpoints) * 2} shows more)")
    if not answer.checkpoints:
        click.echo("(no commits with sessions)")
