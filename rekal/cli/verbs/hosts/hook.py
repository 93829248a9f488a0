"""``rekal hook``."""

from __future__ import annotations

from collections.abc import Callable

import click

from rekal.app.context import App
from rekal.app.hosts.answer_hook import answer_hook, note_failure
from rekal.app.resources import is_kept
from rekal.cli.output import print_block
from rekal.daemon.spawn import start_daemon, start_worker


@click.command("hook")
@click.argument("moment")
@click.option("--host", default="claude", help="The program whose settings name this hook.")
@click.option("--input", "data", default="", hidden=True)
@click.argument("ignored", nargs=-1)
def command(moment: str, host: str, data: str, ignored: tuple[str, ...]) -> int:
    """Answer a hook of an agent's host: start, prompt, tool, compact or end.

    Reads the host's JSON on stdin and prints JSON in its shape, or nothing. It always succeeds, and never takes longer
    than a second and a half. `rekal inject on` has hosts call it.
    """
    if moment == "wake":
        _wake(host, data)
        return 0
    answer = answer_hook(moment, host, data)
    if answer.app is not None and answer.capture:
        _hook_start(answer.app, start_worker)
    print_block(answer.text)
    return 0


def _wake(host: str, data: str) -> None:
    """Start the daemon for the next prompt where one is wanted."""
    app = answer_hook("wake", host, data).app
    if app is not None and app.config.recall.daemon == "auto" and not is_kept():
        _hook_start(app, start_daemon)


def _hook_start(app: App, start: Callable[[App], None]) -> None:
    try:
        start(app)
    except OSError as error:
        note_failure(app, "start", error)
