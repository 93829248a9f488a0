"""``rekal show``."""

from __future__ import annotations

from datetime import UTC, datetime

import click
import msgspec

from rekal.app.context import App, here
from rekal.cli.output import day, emit_json, json_option, minute, one_line, printable, short
from rekal.errors import FOUND, NOTHING_FOUND, UsageError
from rekal.model import Checkpoint, Session
from rekal.store import queries, spool
from rekal.store.ledger import Ledger, open_ledger


class ShowAnswer(msgspec.Struct, frozen=True):
    """What ``show --json`` prints: a session with some of its turns, its commits and its sub-agents' sessions."""

    session: Session
    total_turns: int
    checkpoints: list[Checkpoint]
    children: list[str]
    truncated: bool


@click.command("show")
@click.argument("handle")
@click.option("-n", "--limit", default=40, show_default=True, help="Turns printed at most.")
@click.option("-o", "--offset", default=0, show_default=True, help="First turn printed.")
@click.option("--context", default=3, show_default=True, help="Turns before and after a turn given as SESSION#TURN.")
@click.option("--full", is_flag=True, help="Whole turns, and the tool calls with them.")
@json_option
def command(handle: str, limit: int, offset: int, context: int, full: bool, as_json: bool) -> int:
    """A session, one turn of it with its neighbours, or the sessions of a commit.

    HANDLE is a session's id or the first characters of it, SESSION#TURN, or the name of a commit.
    """
    app = here()
    name, _, turn = handle.partition("#")
    if turn and not turn.isdigit():
        raise UsageError(f"{handle} is not a session and a turn", "write SESSION#TURN, for example 7f3a9c#41")
    if turn:
        offset, limit = max(0, int(turn) - context), 2 * context + 1
    with open_ledger(app.layout.data, read_only=True) as ledger:
        answers = [_answer(ledger, s, offset, limit) for s in _resolve(app, ledger, name)]
    if not answers:
        click.echo(f"(nothing is known as {name})")
        return NOTHING_FOUND
    opened = tuple(a.session.id for a in answers)
    spool.put_event(app.layout.spool, spool.RecallEvent("opened", opened, datetime.now(UTC)))
    for answer in answers:
        if as_json:
            emit_json(answer)
        else:
            _print(answer, int(turn) if turn else None, full)
    return FOUND


def _resolve(app: App, ledger: Ledger, name: str) -> list[str]:
    """Session ids that ``name`` stands for: by prefix, else those of the commit of that name."""
    found = queries.session_ids(ledger.con, name.lower()) if name else []
    if len(found) > 1:
        some = ", ".join(short(i) for i in found[:4])
        raise UsageError(f"{name} could be {len(found)} sessions ({some})", "give more characters")
    if found:
        return found
    sha = app.repo.ask("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") or name
    checkpoints = queries.read_checkpoints(
        ledger.con, "starts_with(git_sha, ?) OR starts_with(id, ?)", [sha, name.lower()]
    )
    return list(dict.fromkeys(r.session_id for c in checkpoints for r in c.sessions))


def _answer(ledger: Ledger, session_id: str, offset: int, limit: int) -> ShowAnswer:
    session = queries.read_session(ledger.con, session_id, offset, offset + limit - 1)
    if session is None:
        raise UsageError(f"session {short(session_id)} is not in the store", "run `rekal sync` or look at `rekal log`")
    row = ledger.con.execute(
        "SELECT coalesce(max(seq), -1) + 1 FROM turns WHERE session_id = ?", [session_id]
    ).fetchone()
    total = int(row[0]) if row else 0
    mine = "id IN (SELECT checkpoint_id FROM checkpoint_sessions WHERE session_id = ?)"
    checkpoints = queries.read_checkpoints(ledger.con, mine, [session_id])
    children = queries.read_children(ledger.con, session_id)
    return ShowAnswer(session, total, checkpoints, children, offset + limit < total)


def _print(answer: ShowAnswer, marked: int | None, full: bool) -> None:
    s = answer.session
    whose = "" if s.origin == "local" else f"  from {s.origin}"
    click.echo(f"{s.id}  {s.agent}  {day(s.started_at)}  {s.author_name}  {s.branch or '-'}{whose}")
    if s.title:
        click.echo(f"  {one_line(s.title, 100)}")
    for c in answer.checkpoints[:10]:
        click.echo(f"  commit {c.git_sha[:10]}  {day(c.committed_at)}  {one_line(c.subject or '', 80)}")
    if len(answer.checkpoints) > 10:
        click.echo(f"  (+{len(answer.checkpoints) - 10} more commits)")
    for turn in s.turns:
        mark = ">" if turn.seq == marked else " "
        body = printable(turn.content) if full else one_line(turn.content, 400)
        click.echo(f"{mark} t{turn.seq} {minute(turn.occurred_at)} {turn.role}: {body}")
        for call in s.tool_calls if full else ():
            if call.turn_seq == turn.seq:
                what = one_line(call.command or call.path or "", 160)
                click.echo(f"      {call.tool} {what}" + (f"  ({call.outcome})" if call.outcome == "error" else ""))
    for child in answer.children[:20]:
        click.echo(f"  sub-agent {short(child)}")
    if len(answer.children) > 20:
        click.echo(f"  (+{len(answer.children) - 20} more sub-agents)")
    if answer.truncated:
        after = (s.turns[-1].seq + 1) if s.turns else 0
        click.echo(f"({answer.total_turns} turns in all; rekal show {short(s.id)} -o {after} goes on)")
