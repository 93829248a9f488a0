"""``rekal checkpoint``."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta

import click
import msgspec

from rekal.app.context import App, here
from rekal.capture.capture import Captured, capture_commits
from rekal.cli.ages import parse_age
from rekal.cli.output import emit_json, json_option
from rekal.errors import Refused
from rekal.index.freshness import is_index_current
from rekal.store.ledger import open_ledger

_EVERYTHING = timedelta(days=36500)


class CheckpointAnswer(msgspec.Struct, frozen=True):
    """What ``checkpoint --json`` prints."""

    sessions: int
    turns: int
    checkpoints: int
    unlinked_commits: list[str]
    warnings: list[str]


@click.command("checkpoint")
@click.option("--all", "everything", is_flag=True, help="Also link past commits, however old.")
@click.option("--since", help="Also link past commits of this age: 90d, 12w, 6m, 1y.")
@json_option
def command(everything: bool, since: str | None, as_json: bool) -> None:
    """Capture now what is new in the agents' transcripts.

    The commit hook does this by itself. With --all or --since it is a back-fill: transcripts of the past are imported
    and linked to the commits they led to, by files and time. It can be interrupted and run again.
    """
    app = here()
    app.require_store()
    if not app.config.enabled:
        files = " or ".join(map(str, app.settings.files))
        raise Refused("capturing is switched off by the settings", f"set `enabled: true` in {files}")
    age = parse_age(since) if since else (_EVERYTHING if everything else None)
    captured = _capture(app, age)
    if captured.checkpoints:
        from rekal.app.share import note_unsent  # loads numpy, which a capture of nothing new can do without

        note_unsent(app, captured)
    _index(app)
    answer = CheckpointAnswer(
        captured.sessions,
        captured.turns,
        captured.checkpoints,
        [one.sha for one in captured.linked if one.checkpoint is None],
        list(captured.warnings),
    )
    if as_json:
        emit_json(answer)
        return
    for warning in answer.warnings:
        click.echo(f"rekal: {warning}", err=True)
    click.echo(f"{answer.sessions} sessions with {answer.turns} new turns, {answer.checkpoints} commits linked")


def _index(app: App) -> None:
    with open_ledger(app.layout.data, read_only=True, wait=60.0) as ledger:
        if is_index_current(ledger, app.layout.index, app.repo):
            return
    from rekal.app.refresh import refresh_index  # loads numpy, too

    refresh_index(app)


def _capture(app: App, age: timedelta | None) -> Captured:
    started = datetime.now(UTC)
    since = max(started - age, datetime(1980, 1, 1, tzinfo=UTC)) if age else None
    # Quick captures show nothing: a bar is for what takes longer than a second.
    with click.progressbar(length=1, label="reading transcripts", file=sys.stderr, hidden=True) as bar:

        def progress(done: int, total: int) -> None:
            if (datetime.now(UTC) - started).total_seconds() > 1 and sys.stderr.isatty():
                bar.hidden = False
            bar.length = total
            bar.update(done - bar.pos)

        return capture_commits(app.layout, app.repo, app.job(), since=since, link_head=True, progress=progress)
