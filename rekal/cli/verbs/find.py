"""``rekal find``."""

from __future__ import annotations

from datetime import datetime

import click
import msgspec

from rekal.app.context import here
from rekal.cli.output import emit_json, json_option, minute, one_line, short
from rekal.errors import FOUND, NOTHING_FOUND, UsageError
from rekal.store.ledger import Ledger, open_ledger
from rekal.store.rows import with_zone

_AROUND = 70


class Mention(msgspec.Struct, frozen=True):
    """One turn that contains the text, with what stands around its first occurrence."""

    session_id: str
    seq: int
    role: str
    occurred_at: datetime | None
    excerpt: str
    count: int


class FindAnswer(msgspec.Struct, frozen=True):
    """What ``find --json`` prints: every mention, never cut."""

    term: str
    mentions: int
    sessions: int
    turns: list[Mention]


@click.command("find")
@click.argument("text")
@click.option(
    "--role", type=click.Choice(["human", "steering", "assistant", "summary"]), help="Only turns of this role."
)
@json_option
def command(text: str, role: str | None, as_json: bool) -> int:
    """Every turn that contains TEXT literally, whatever its case. Complete, never cut."""
    if not text:
        raise UsageError("there is no text to look for", 'give one: rekal find "SKIP LOCKED"')
    app = here()
    with open_ledger(app.layout.data, read_only=True) as ledger:
        turns = _mentions(ledger, text, role)
    answer = FindAnswer(text, sum(t.count for t in turns), len({t.session_id for t in turns}), turns)
    if as_json:
        emit_json(answer)
    else:
        for t in turns:
            click.echo(f"{short(t.session_id)}#{t.seq}  {minute(t.occurred_at)}  {t.role}: {t.excerpt}")
        click.echo(f'{answer.mentions} mentions in {answer.sessions} sessions: "{one_line(text, 60)}"')
    return FOUND if turns else NOTHING_FOUND


def _mentions(ledger: Ledger, text: str, role: str | None) -> list[Mention]:
    rows = ledger.con.execute(
        """SELECT session_id, seq, role, occurred_at, content FROM turns
           WHERE contains(lower(content), lower($text)) AND ($role IS NULL OR role = $role)
           ORDER BY occurred_at NULLS LAST, session_id, seq""",
        {"text": text, "role": role},
    ).fetchall()
    return [
        Mention(session, seq, who, with_zone(at), _around(content, text), content.lower().count(text.lower()))
        for session, seq, who, at, content in rows
    ]


def _around(content: str, text: str) -> str:
    at = content.lower().find(text.lower())
    start, end = max(0, at - _AROUND), at + len(text) + _AROUND
    lead, tail = "…" if start else "", "…" if end < len(content) else ""
    return lead + one_line(content[start:end], 2 * _AROUND + len(text) + 1) + tail
