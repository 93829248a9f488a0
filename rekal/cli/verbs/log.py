"""``rekal log``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from rekal.app import read_ledger
from rekal.app.context import find_app
from rekal.app.read_ledger import CommitLog, DrawnCommit
from rekal.cli.memory_output import cited_row
from rekal.cli.output import format_day, format_name, json_option, one_line, print_record, short_id
from rekal.errors import FOUND, NOTHING_FOUND, UsageError
from rekal.model import LOCAL, SessionRange


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
    app = find_app()
    if graph and (rewrites or as_json or everything):
        raise UsageError("--graph is a picture for people", "leave out --rewrites, --all and --json")
    if graph:
        drawn = read_ledger.draw_graph(app, limit, path, author)
        print_record(drawn, False, _graph_lines)
        return FOUND if drawn else NOTHING_FOUND
    if rewrites:
        answer = read_ledger.read_rewrites(app, limit)
    else:
        answer = read_ledger.read_log(app, limit, path=path, author=author, rewritten=everything)
    print_record(answer, as_json, _rewrite_lines if rewrites else _lines)
    return FOUND if answer.checkpoints or answer.rewrites else NOTHING_FOUND


def _rewrite_lines(answer: CommitLog) -> Iterator[str]:
    for r in answer.rewrites:
        yield f"{r.old_sha[:10]} -> {r.new_sha[:10]}  {r.how}"
    if answer.truncated:
        yield f"(older ones left out; -n {len(answer.rewrites) * 2} shows more)"
    if not answer.rewrites:
        yield "(no commit became another)"


def _graph_lines(drawn: Sequence[DrawnCommit]) -> Iterator[str]:
    """Git draws the graph; the sessions stand below their commits, behind the same lines."""
    for row in drawn:
        yield f"{row.lines}{one_line(row.text, 100)}"
        for checkpoint in row.checkpoints:
            for session in checkpoint.sessions:
                yield f"{row.lines.replace('*', '|')}    {_session(session)}"


def _lines(answer: CommitLog) -> Iterator[str]:
    for c in answer.checkpoints:
        whose = "" if c.origin == LOCAL else f"  from {c.origin}"
        subject = one_line(c.subject or "", 72)
        yield f"{c.git_sha[:10]}  {format_day(c.committed_at)}  {format_name(c.branch)}  {subject}{whose}"
        for r in c.sessions:
            yield f"    {_session(r)}"
        for one in answer.memories or ():
            if c.git_sha in (one.commit, one.source):
                yield f"    {cited_row(one)}"
    if answer.truncated:
        yield f"(older ones left out; -n {len(answer.checkpoints) * 2} shows more)"
    if not answer.checkpoints:
        yield "(no commits with sessions)"


def _session(r: SessionRange) -> str:
    return f"{short_id(r.session_id)}:{r.first_seq}-{r.last_seq}  {r.evidence}"
