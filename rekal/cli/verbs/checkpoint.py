"""``rekal checkpoint``."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import click

from rekal.app import capture_now
from rekal.app.capture_now import CaptureResult
from rekal.app.context import find_app
from rekal.cli.output import count_of, json_option, print_record


@click.command("checkpoint")
@click.option("--all", "everything", is_flag=True, help="Also link past commits, however old.")
@click.option("--since", help="Also link past commits of this age: 90d, 12w, 6m, 1y.")
@json_option
def command(everything: bool, since: str | None, as_json: bool) -> None:
    """Capture now what is new in the agents' transcripts.

    The commit hook does this by itself. With --all or --since it is a back-fill: transcripts of the past are imported
    and linked to the commits they led to, by files and time. It can be interrupted and run again.
    """
    app = find_app()
    app.require_store()
    started = time.monotonic()
    # Quick captures show nothing: a bar is for what takes longer than a second.
    with click.progressbar(length=1, label="reading transcripts", file=sys.stderr, hidden=True) as bar:

        def progress(done: int, total: int) -> None:
            if time.monotonic() - started > 1 and sys.stderr.isatty():
                bar.hidden = False
            bar.length = total
            bar.update(done - bar.pos)

        answer = capture_now.capture_now(app, since, everything=everything, progress=progress)
    print_record(answer, as_json, _lines, answer.warnings)


def _lines(answer: CaptureResult) -> Iterator[str]:
    sessions = f"{count_of(answer.sessions, 'session')} with {count_of(answer.turns, 'new turn')}"
    yield f"{sessions}, {count_of(answer.checkpoints, 'commit')} linked"
