"""``rekal find``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from rekal.app import read_ledger
from rekal.app.context import find_app, read_moment
from rekal.app.read_ledger import Mentions
from rekal.cli.output import (
    AgentName,
    count_of,
    format_minute,
    format_origin,
    json_option,
    one_line,
    print_record,
    short_id,
)
from rekal.cli.progress import show_work
from rekal.errors import FOUND, NOTHING_FOUND
from rekal.store.session_list import SessionFilter, TextFilter


@click.command("find")
@click.argument("text")
@click.option("-E", "--regex", is_flag=True, help="TEXT is a regular expression.")
@click.option(
    "--role", type=click.Choice(["human", "steering", "assistant", "summary"]), help="Only turns of this role."
)
@click.option("-n", "--limit", type=click.IntRange(1), default=100, show_default=True, help="Turns printed at most.")
@click.option("--all", "everything", is_flag=True, help="Print all of them, however many.")
@click.option("--since", help="Only turns from then on: 2026-03-01, 'last week', 30d or a commit.")
@click.option("--until", help="Only turns up to then.")
@click.option("--agent", type=AgentName(), help="Only sessions of this agent.")
@click.option("--author", help="Only sessions of this person: part of a name or e-mail address.")
@click.option("--branch", help="Only sessions on this branch.")
@click.option("--file", "path", help="Only sessions that touched this path, or a path below it.")
@json_option
def command(text: str, limit: int, everything: bool, as_json: bool, **chosen: Any) -> int:
    """Every turn that contains TEXT literally, whatever its case. The counts, and --json, are always complete."""
    app = find_app()
    sessions = SessionFilter(
        since=read_moment(app, chosen["since"]),
        until=read_moment(app, chosen["until"], end=True),
        agent=chosen["agent"],
        author=chosen["author"],
        branch=chosen["branch"],
        path=None if chosen["path"] is None else app.path_in_repo(chosen["path"]),
    )
    with show_work("looking through the turns"):
        wanted = TextFilter(role=chosen["role"], sessions=sessions, regex=chosen["regex"])
        answer = read_ledger.find_text(app, text, wanted)
    print_record(answer, as_json, lambda found: _lines(found, len(found.turns) if everything else limit))
    return FOUND if answer.turns else NOTHING_FOUND


def _lines(answer: Mentions, limit: int) -> Iterator[str]:
    for t in answer.turns[:limit]:
        excerpt = one_line(t.excerpt, len(t.excerpt))
        whose = format_origin(t.origin, answer.signatures)
        yield f"{short_id(t.session_id)}:{t.seq}  {format_minute(t.occurred_at)}  {t.role}{whose}: {excerpt}"
    if len(answer.turns) > limit:
        yield f"({count_of(len(answer.turns) - limit, 'more turn')}; --all prints them)"
    places = count_of(answer.sessions, "session")
    yield f'{count_of(answer.mentions, "mention")} in {places}: "{one_line(answer.term, 60)}"'
