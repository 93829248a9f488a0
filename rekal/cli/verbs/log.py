"""``rekal log``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from rekal.app import read_ledger
from rekal.app.context import find_app, read_moment
from rekal.app.read_ledger import CommitLog, DrawnCommit
from rekal.cli.memory_output import cited_row
from rekal.cli.output import (
    AgentName,
    format_day,
    format_name,
    format_origin,
    json_option,
    one_line,
    print_record,
    short_id,
)
from rekal.cli.progress import show_work
from rekal.errors import FOUND, NOTHING_FOUND, UsageError
from rekal.model import SessionRange
from rekal.store.commit_rows import LogFilter


@click.command("log")
@click.argument("rest", nargs=-1, metavar="[RANGE] [-- PATH...]")
@click.option(
    "-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="Commits printed at most; -5 is -n 5."
)
@click.option("--file", "path", help="Only commits that changed this path or a path below it.")
@click.option("--author", help="Only commits by this person: part of an e-mail address or of a session's author.")
@click.option("--agent", type=AgentName(), help="Only commits with a session of this agent.")
@click.option("--since", help="Only commits from then on: 2026-03-01, 'last week', 30d or a commit.")
@click.option("--until", help="Only commits up to then.")
@click.option("--oneline", is_flag=True, help="A line a commit.")
@click.option("--graph", is_flag=True, help="Git's graph of the current branch, with the sessions at their commits.")
@click.option("--rewrites", is_flag=True, help="Commits that became others, instead: by amend, rebase, squash or copy.")
@click.option("--all", "everything", is_flag=True, help="Also commits that were since amended or rebased away.")
@json_option
def command(limit: int, rest: tuple[str, ...], as_json: bool, **chosen: Any) -> int:
    """Commits with the sessions that led to them, newest first.

    RANGE is one of git's, as main..HEAD; paths are relative to where you stand.
    """
    app = find_app()
    graph, rewrites = chosen.pop("graph"), chosen.pop("rewrites")
    if graph and (rewrites or as_json or chosen["everything"]):
        raise UsageError("--graph is a picture for people", "leave out --rewrites, --all and --json")
    spans = [word for word in rest if ".." in word and not word.startswith(("../", "./"))]
    named = [word for word in rest if word not in spans] + ([chosen["path"]] if chosen["path"] else [])
    paths = tuple(app.path_in_repo(word) for word in named)
    if len(spans) > 1:
        raise UsageError("one range is read, not several", "write it as git does: main..HEAD")
    if graph:
        drawn = read_ledger.draw_graph(app, limit, spans[0] if spans else None, paths, chosen["author"])
        print_record(drawn, False, _graph_lines)
        return FOUND if drawn else NOTHING_FOUND
    if rewrites:
        answer = read_ledger.read_rewrites(app, limit)
    else:
        wanted = LogFilter(
            span=spans[0] if spans else None,
            paths=paths,
            author=chosen["author"],
            agent=chosen["agent"],
            since=read_moment(app, chosen["since"]),
            until=read_moment(app, chosen["until"], end=True),
            rewritten=chosen["everything"],
        )
        with show_work("reading commits"):
            answer = read_ledger.read_log(app, limit, wanted)
    short = _one_lines if chosen["oneline"] else _lines
    print_record(answer, as_json, _rewrite_lines if rewrites else short)
    return FOUND if answer.checkpoints or answer.rewrites else NOTHING_FOUND


def _one_lines(answer: CommitLog) -> Iterator[str]:
    for c in answer.checkpoints:
        sessions = ", ".join(short_id(r.session_id) for r in c.sessions[:3])
        yield f"{c.git_sha[:10]}  {one_line(c.subject or '', 60)}  ({sessions})"
    if not answer.checkpoints:
        yield "(no commits with sessions)"


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
                yield f"{row.lines.replace('*', '|')}    {_format_range(session)}"


def _lines(answer: CommitLog) -> Iterator[str]:
    for c in answer.checkpoints:
        whose = format_origin(c.origin, answer.signatures)
        subject = one_line(c.subject or "", 72)
        yield f"{c.git_sha[:10]}  {format_day(c.committed_at)}  {format_name(c.branch)}  {subject}{whose}"
        for r in c.sessions:
            yield f"    {_format_range(r)}"
        for one in answer.memories or ():
            if c.git_sha in (one.commit, one.source):
                yield f"    {cited_row(one)}"
    if answer.truncated:
        yield f"(older ones left out; -n {len(answer.checkpoints) * 2} shows more)"
    if not answer.checkpoints:
        yield "(no commits with sessions)"


def _format_range(r: SessionRange) -> str:
    return f"{short_id(r.session_id)}:{r.first_seq}-{r.last_seq}  {r.evidence}"
