"""``rekal push``."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

import click

from rekal.app import share
from rekal.app.context import find_app
from rekal.app.share import SentMemory
from rekal.cli.output import format_day, json_option, one_line, print_note, print_record
from rekal.errors import FOUND, NOTHING_FOUND
from rekal.transport.mainline import Why


@click.command("push")
@click.argument("remote", required=False)
@click.option("--dry-run", is_flag=True, help="List exactly what would leave and what is held back, and send nothing.")
@click.option(
    "--merged",
    metavar="COMMIT",
    help="Take your word that this branch or commit was merged, for a squash that git cannot tell it by.",
)
@click.option("--hook", nargs=2, metavar="REMOTE URL", hidden=True)
@click.option("--check", nargs=2, metavar="REMOTE URL", hidden=True)
@json_option
def command(
    remote: str | None,
    dry_run: bool,
    merged: str | None,
    hook: tuple[str, str] | None,
    check: tuple[str, str] | None,
    as_json: bool,
) -> int:
    """Send merged work to the remote that memory may go to.

    The pre-push hook does this with every `git push`. Only commits that are part of the mainline leave, with the turns
    that led to them. REMOTE may be left out when sharing is on for just one.
    """
    app = find_app()
    if check is not None:
        share.check_push(app, *check, sys.stdin.read().splitlines())
        return FOUND
    if hook is not None:
        # Told to end, the hook ends with the git processes it started: none may outlive the push.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        if sentence := share.send_from_hook(app, *hook, sys.stdin.read().splitlines()):
            print_note(sentence)
        return FOUND
    app.require_store()
    answer = share.send_memory(app, remote, merged, dry_run=dry_run)
    print_record(answer, as_json, _lines, answer.notes)
    return FOUND if dry_run or answer.checkpoints or answer.sent else NOTHING_FOUND


def _lines(answer: SentMemory) -> Iterator[str]:
    verb = "would leave" if answer.dry_run else "left"
    size = "" if answer.dry_run else f", {answer.bytes} bytes"
    memories = f" and {answer.memories} memories" if answer.memories else ""
    counts = f"{answer.checkpoints} checkpoints with {answer.sessions} sessions{memories}"
    yield f"{counts} {verb} for {answer.remote}{size}"
    for one in answer.leaving:
        yield f"  {one.git_sha[:10]}  {format_day(one.committed_at)}  {one_line(one.subject or '', 72)}"
        for session in one.sessions:
            yield f"      {session[:10]}"
    for held in answer.held:
        yield f"  held back: {one_line(held.what, 80)}: {held.why}"
    if any(held.why == Why.UNMERGED for held in answer.held):
        yield "merged in a way that git cannot tell? `rekal push --merged BRANCH` takes your word for it"
