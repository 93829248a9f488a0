"""``rekal scrub``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from rekal.app.context import find_app
from rekal.cli.output import json_option, print_record
from rekal.errors import FOUND, REFUSED, UsageError
from rekal.scrub import count_secrets
from rekal.store.ledger import open_ledger
from rekal.store.queries import iterate_texts


@click.command("scrub")
@click.option(
    "--check", "path", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Look at this file."
)
@click.option("--store", is_flag=True, help="Look at everything stored.")
@json_option
def command(path: Path | None, store: bool, as_json: bool) -> int:
    """Say what scrubbing would redact, by kind, without printing any of it.

    Exit code 5 when --store finds something: the rules have become stricter since it was captured; `rekal forget`
    removes it.
    """
    if (path is None) == (not store):
        raise UsageError("say what to look at", "give --check FILE or --store")
    app = find_app()
    found = count_secrets(
        app.scrubber, _read_store() if path is None else [path.read_text(encoding="utf-8", errors="replace")]
    )
    print_record(found, as_json, lambda report: report.lines() or ["nothing to redact"])
    return REFUSED if store and found.kinds else FOUND


def _read_store() -> Iterator[str]:
    with open_ledger(find_app().layout.data, read_only=True) as ledger:
        yield from iterate_texts(ledger.con)
