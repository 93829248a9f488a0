"""``rekal embed``."""

from __future__ import annotations

import sys

import click
import msgspec

from rekal.app.context import here
from rekal.app.refresh import refresh_index
from rekal.app.vectors import fill_vectors
from rekal.cli.output import emit_json, json_option
from rekal.index.vectors import Progress


class EmbedAnswer(msgspec.Struct, frozen=True):
    """What ``embed --json`` prints: distinct texts of turns with a vector, of how many, and how many are new."""

    done: int
    total: int
    added: int


@click.command("embed")
@json_option
def command(as_json: bool) -> None:
    """Make the vectors that are missing, now and in the foreground.

    The worker does this by itself after each capture, in small bites. Can be interrupted; what is done is kept.
    """
    app = here()
    app.require_store()
    refresh_index(app)
    seen: list[Progress] = []
    with click.progressbar(length=1, label="embedding", file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:

        def report(now: Progress) -> None:
            bar.length = max(1, now.total)
            bar.update(now.done - (seen[-1].done if seen else 0))
            seen.append(now)

        last = fill_vectors(app, report, lambda: True)
    answer = EmbedAnswer(last.done, last.total, last.done - seen[0].done)
    if as_json:
        emit_json(answer)
    else:
        click.echo(f"vectors {answer.done:,} of {answer.total:,} ({answer.added:,} new)")
