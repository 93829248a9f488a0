"""``rekal brief``."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import click

from rekal.app.context import App, find_app, is_for_agent
from rekal.app.hosts.brief import Brief, BriefMemory, BriefSession, make_brief
from rekal.app.overview import since_visit
from rekal.app.overview.since_visit import SinceVisit
from rekal.cli.output import format_day, format_minute, json_option, one_line, print_record, short_id
from rekal.errors import FOUND, NOTHING_FOUND


@click.command("brief")
@click.option("-n", "--limit", type=click.IntRange(1, 50), default=3, show_default=True, help="Sessions shown at most.")
@click.option("--since-last", is_flag=True, help="Everything new on all branches since you last asked for it.")
@json_option
def command(limit: int, since_last: bool, as_json: bool) -> int:
    """Hand over: what the last sessions on this branch did, what was decided, what is open.

    A branch without a session yet shows those of all branches.
    """
    app = find_app()
    app.require_store()
    if since_last:
        return _print_since_last(app, as_json=as_json)
    brief = make_brief(app, sessions=limit)
    print_record(brief, as_json, brief_lines)
    return FOUND if brief.did or brief.decided else NOTHING_FOUND


def _print_since_last(app: App, *, as_json: bool) -> int:
    now = datetime.now(UTC)
    found = since_visit.read_since_visit(app)
    print_record(found, as_json, _since_lines)
    if not is_for_agent(app.env):  # an agent's look is no person's
        since_visit.note_visit(app, now)
    return FOUND if found.branches or found.ends else NOTHING_FOUND


def _since_lines(found: SinceVisit) -> Iterator[str]:
    yield f"since {format_minute(found.since)}"
    for branch in found.branches:
        yield f"on {branch.branch or '-'}"
        for one in branch.sessions:
            row = one.row
            name = one_line(found.titles.get(row.id, ""), 80)
            who = f"{row.agent} for {row.author_name}"
            yield f"  {format_minute(row.last_at)}  {short_id(row.id)}  {who}  {one.state}  {row.turns} turns  {name}"
    if found.truncated:
        yield "(more sessions: `rekal sessions`)"
    for end in found.ends:
        what = "tests left red" if end.kind == "red" else "nobody answered"
        yield f"open: {what}  {short_id(end.session_id)}:{end.turn}  {one_line(end.text, 120)}"
    for question in found.questions:
        shown = "silence" if question.silent else f"{len(question.sessions)} sessions, {len(question.opened)} opened"
        yield f"recall: {shown}  {one_line(question.query, 120)}"
    if found.proposed:
        yield f"waits: {found.proposed} to review (`rekal review`)"
    if found.unsent:
        yield f"waits: {found.unsent} commits with sessions never left this clone"
    if not (found.branches or found.ends or found.questions):
        yield "(nothing is new)"


def brief_lines(brief: Brief) -> Iterator[str]:
    """Lines of a hand-over."""
    yield f"on {brief.branch or 'a detached HEAD'}"
    if not brief.did and not brief.decided:
        yield "nothing is known yet"
    for session in brief.did:
        yield from _session_lines(session)
    for memory in brief.decided:
        yield from _memory_lines(memory)
    for sentence in brief.open:
        yield f"open: {sentence}"


def _session_lines(one: BriefSession) -> Iterator[str]:
    who = one.author_name if one.origin == "local" else f"{one.author_name}, teammate"
    yield (
        f"{format_day(one.last_at)}  {short_id(one.session_id)}  {one.agent} for {who}  "
        f"{one.branch or '-'}  {one.turns} turns"
    )
    yield f'  asked: "{one_line(one.asked, 220)}"'
    if one.came_to:
        yield f'  came to: "{one_line(one.came_to, 220)}"'
    for commit in one.commits:
        yield f"  commit {one_line(commit, 90)}"


def _memory_lines(one: BriefMemory) -> Iterator[str]:
    label = "RULED-OUT" if one.type == "dead_end" else "DECIDED"
    state = "" if one.state == "accepted" else f", {one.state}"
    yield f"{label} {one.id[:10]} ({one.actor}, {format_day(one.said_at)}{state}): {one_line(one.text, 220)}"
    for name, text in (("because", one.because), ("instead", one.instead), ("but", one.grounds)):
        if text:
            yield f"  {name}: {one_line(text, 220)}"
