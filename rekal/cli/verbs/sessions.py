"""``rekal sessions``."""

from __future__ import annotations

from collections.abc import Iterator

import click

from rekal.app import read_ledger
from rekal.app.context import find_app, read_moment
from rekal.app.read_ledger import SessionList
from rekal.cli.output import (
    AgentName,
    count_of,
    format_day,
    format_name,
    format_origin,
    json_option,
    one_line,
    print_record,
    short_id,
)
from rekal.errors import FOUND, NOTHING_FOUND
from rekal.store.session_list import SessionFilter


@click.command("sessions")
@click.option("-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="Sessions listed at most.")
@click.option("--all", "everything", is_flag=True, help="List all of them, however many.")
@click.option("--since", help="Only sessions at work since then: 2026-03-01, 'last week', 30d or a commit.")
@click.option("--until", help="Only sessions begun by then.")
@click.option("--agent", type=AgentName(), help="Only sessions of this agent.")
@click.option("--author", help="Only sessions of this person: part of a name or e-mail address.")
@click.option("--branch", help="Only sessions on this branch.")
@click.option("--file", "path", help="Only sessions that touched this path, or a path below it.")
@click.option("--own", is_flag=True, help="Leave out teammates' sessions.")
@json_option
def command(
    limit: int,
    everything: bool,
    since: str | None,
    until: str | None,
    agent: str | None,
    author: str | None,
    branch: str | None,
    path: str | None,
    own: bool,
    as_json: bool,
) -> int:
    """List sessions, newest first: when, who, agent, title, turns, commits.

    `rekal show ID` reads one, `rekal resume ID` prints the command that goes on with it.
    """
    app = find_app()
    app.require_store()
    wanted = SessionFilter(
        since=read_moment(app, since),
        until=read_moment(app, until, end=True),
        agent=agent,
        author=author,
        branch=branch,
        path=None if path is None else app.path_in_repo(path),
        own=own,
    )
    answer = read_ledger.read_session_list(app, wanted, -1 if everything else limit)
    print_record(answer, as_json, _lines)
    return FOUND if answer.sessions else NOTHING_FOUND


def _lines(answer: SessionList) -> Iterator[str]:
    for s in answer.sessions:
        whose = format_origin(s.origin, answer.signatures)
        commits = f", {count_of(len(s.commits), 'commit')}" if s.commits else ""
        who = f"{format_name(s.author_name)}  {format_name(s.agent)}  {format_name(s.branch)}"
        counts = f"{count_of(s.turns, 'turn')}{commits}"
        yield f"{short_id(s.id)}  {format_day(s.last_at)}  {who}  {counts}{whose}"
        yield f"    {one_line(s.title or '(no title)', 100)}"
    if answer.truncated:
        yield f"(older ones left out; -n {len(answer.sessions) * 2} shows more, --all all of them)"
    if not answer.sessions:
        yield "(no such session; `rekal status` says what was captured)"
