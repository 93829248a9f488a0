"""``rekal query``."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from rekal.app.context import here
from rekal.cli.output import emit_json, json_option, printable
from rekal.errors import FOUND, NOTHING_FOUND
from rekal.store.user_query import Table, run_select


class QueryAnswer(msgspec.Struct, frozen=True):
    """What ``query --json`` prints."""

    columns: list[str]
    rows: list[list[str | int | float | bool | None]]


@click.command("query")
@click.argument("sql")
@click.option("--index", "on_index", is_flag=True, help="Read index.db instead of data.db.")
@json_option
def command(sql: str, on_index: bool, as_json: bool) -> int:
    """One read-only SELECT over data.db.

    Nothing but the store can be read: no files, no network, no second statement. Tables and columns are described
    in docs/store.md; only data.db's are a contract.
    """
    app = here()
    app.require_store()
    path: Path = app.layout.index if on_index else app.layout.data
    table = run_select(path, sql)
    if as_json:
        emit_json(QueryAnswer(table.columns, table.rows))
    else:
        _print(table)
    return FOUND if table.rows else NOTHING_FOUND


def _print(table: Table) -> None:
    click.echo("\t".join(table.columns))
    for row in table.rows:
        click.echo(
            "\t".join("" if v is None else printable(str(v)).replace("\n", "\\n").replace("\t", "\\t") for v in row)
        )
    if not table.rows:
        click.echo("(no rows)")
