"""``rekal find``."""

from __future__ import annotations

from collections.abc import Iterator

import click

from rekal.app import read_ledger
from rekal.app.context import find_app
from rekal.app.read_ledger import Mentions
from rekal.cli.output import format_minute, json_option, one_line, print_record, short_id
from rekal.errors import FOUND, NOTHING_FOUND


@click.command("find")
@click.argument("text")
@click.option(
    "--role", type=click.Choice(["human", "steering", "assistant", "summary"]), help="Only turns of this role."
)
@json_option
def command(text: str, role: str | None, as_json: bool) -> int:
    """Every turn that contains TEXT literally, whatever its case. Complete, never cut."""
    answer = read_ledger.find_text(find_app(), text, role)
    print_record(answer, as_json, _lines)
    return FOUND if answer.turns else NOTHING_FOUND


def _lines(answer: Mentions) -> Iterator[str]:
    for t in answer.turns:
        excerpt = one_line(t.excerpt, len(t.excerpt))
        yield f"{short_id(t.session_id)}:{t.seq}  {format_minute(t.occurred_at)}  {t.role}: {excerpt}"
    yield f'{answer.mentions} mentions in {answer.sessions} sessions: "{one_line(answer.term, 60)}"'
