"""``rekal embed``."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from rekal.app import resources
from rekal.app.context import find_app
from rekal.app.resources import EmbedResult
from rekal.cli.output import json_option, print_note, print_record
from rekal.index import build
from rekal.index.vectors import Progress


@click.command("embed")
@json_option
def command(as_json: bool) -> None:
    """Make the vectors that are missing, now and in the foreground.

    The worker does this by itself after each capture, in small bites. Can be interrupted; what is done is kept.
    """
    app = find_app()
    app.require_store()
    build.refresh_index(app.layout, app.repo, app.scrub, print_note)
    with click.progressbar(length=1, label="embedding", file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:

        def report(now: Progress) -> None:
            bar.length = max(1, now.total)
            bar.update(now.done - bar.pos)

        answer = resources.embed_texts(app, report)
    print_record(answer, as_json, _lines)


def _lines(answer: EmbedResult) -> Iterator[str]:
    yield f"vectors {answer.done:,} of {answer.total:,} ({answer.added:,} new)"
