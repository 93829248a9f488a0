"""``rekal query``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from rekal.app.context import find_app
from rekal.cli.output import json_option, print_note, print_record
from rekal.errors import FOUND, NOTHING_FOUND
from rekal.plain_text import clean_text
from rekal.store.user_query import Table, run_select


@click.command("query")
@click.argument("sql")
@click.option("--index", "on_index", is_flag=True, help="Read index.db instead of data.db.")
@json_option
def command(sql: str, on_index: bool, as_json: bool) -> int:
    """One read-only SELECT over data.db.

    Nothing but the store can be read: no files, no network, no second statement. Tables and columns are described
    in docs/store.md; only data.db's are a contract. A query ends after 15 seconds or 2 GiB of memory, and its result
    after 100,000 rows or 32 million characters.
    """
    app = find_app()
    app.require_store()
    path: Path = app.layout.index if on_index else app.layout.data
    table = run_select(path, sql)
    print_record(table, as_json, _lines)
    if table.cut:
        print_note(f"the result was cut {table.cut}; ask for less with WHERE and LIMIT")
    return FOUND if table.rows else NOTHING_FOUND


def _lines(table: Table) -> Iterator[str]:
    yield "\t".join(table.columns)
    for row in table.rows:
        yield "\t".join(_format_cell(value) for value in row)
    if not table.rows:
        yield "(no rows)"


def _format_cell(value: object) -> str:
    # Line feeds and tabs inside a value would forge rows and columns.
    return "" if value is None else clean_text(str(value)).replace("\n", "\\n").replace("\t", "\\t")
