"""``rekal push``."""

from __future__ import annotations

import sys
from datetime import datetime

import click
import msgspec

from rekal.app.context import App, here
from rekal.app.share import sender_of
from rekal.cli.output import day, emit_json, json_option, one_line
from rekal.errors import FOUND, NOTHING_FOUND, RekalError, UsageError
from rekal.transport import push as pushing
from rekal.transport.mainline import Why
from rekal.transport.outgoing import Held, Outgoing


class Leaving(msgspec.Struct, frozen=True):
    """One commit that would leave, with the sessions behind it."""

    git_sha: str
    subject: str | None
    committed_at: datetime | None
    sessions: list[str]


class PushAnswer(msgspec.Struct, frozen=True):
    """What ``push --json`` prints. With ``dry_run`` nothing was sent: ``leaving`` is what would be."""

    remote: str
    dry_run: bool
    sent: bool
    checkpoints: int
    sessions: int
    bytes: int
    leaving: list[Leaving]
    held: list[Held]
    notes: list[str]
    memories: int = 0


@click.command("push")
@click.argument("remote", required=False)
@click.option("--dry-run", is_flag=True, help="List exactly what would leave and what is held back, and send nothing.")
@click.option(
    "--merged",
    metavar="COMMIT",
    help="Take your word that this branch or commit was merged, for a squash that git cannot tell it by.",
)
@click.option("--hook", nargs=2, metavar="REMOTE URL", hidden=True)
@json_option
def command(remote: str | None, dry_run: bool, merged: str | None, hook: tuple[str, str] | None, as_json: bool) -> int:
    """Send merged work to the remote that memory may go to.

    The pre-push hook does this with every `git push`. Only commits that are part of the mainline leave, with the turns
    that led to them. REMOTE may be left out when sharing is on for just one.
    """
    app = here()
    if hook is not None:
        _from_hook(app, *hook)
        return FOUND
    app.require_store()
    sender = sender_of(app)
    to = pushing.destination(sender, remote or _only_remote(app))
    said = [_commit(app, merged)] if merged else []
    if dry_run:
        answer = _preview(to.name, pushing.preview(sender, to, said))
    else:
        done = pushing.push(sender, to, said=said)
        counts = (done.checkpoints, done.sessions, done.bytes)
        answer = PushAnswer(done.remote, False, done.sent, *counts, [], done.held, done.notes, done.memories)
    if as_json:
        emit_json(answer)
    else:
        _print(answer)
    return FOUND if answer.checkpoints or answer.sent else NOTHING_FOUND


def _only_remote(app: App) -> str:
    remotes = sorted(app.config.transport.remotes)
    if len(remotes) > 1:
        raise UsageError("memory may go to several remotes", f"name one of {', '.join(remotes)}")
    return remotes[0] if remotes else "origin"


def _commit(app: App, name: str) -> str:
    sha = app.repo.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if sha is None:
        raise UsageError(f"{name} is no branch or commit here", "`git branch` lists branches")
    return sha


def _from_hook(app: App, remote: str, url: str) -> None:
    """The user's push goes on whatever happens here."""
    try:
        said = pushing.in_hook(sender_of(app), remote, url, sys.stdin.read().splitlines())
    except RekalError as error:
        said = f"memory was not sent ({error.message}); it goes with the next push"
    if said:
        click.echo(f"rekal: {said}", err=True)


def _preview(remote: str, outgoing: Outgoing) -> PushAnswer:
    leaving = [
        Leaving(c.git_sha, c.subject, c.committed_at, [r.session_id for r in c.sessions]) for c in outgoing.checkpoints
    ]
    counts = (len(leaving), len(outgoing.sessions), 0)
    return PushAnswer(remote, True, False, *counts, leaving, outgoing.held, [], outgoing.memories)


def _print(answer: PushAnswer) -> None:
    verb = "would leave" if answer.dry_run else "left"
    size = "" if answer.dry_run else f", {answer.bytes} bytes"
    memories = f" and {answer.memories} memories" if answer.memories else ""
    what = f"{answer.checkpoints} checkpoints with {answer.sessions} sessions{memories}"
    click.echo(f"{what} {verb} for {answer.remote}{size}")
    for one in answer.leaving:
        click.echo(f"  {one.git_sha[:10]}  {day(one.committed_at)}  {one_line(one.subject or '', 72)}")
        for session in one.sessions:
            click.echo(f"      {session[:10]}")
    for held in answer.held:
        click.echo(f"  held back: {one_line(held.what, 80)}: {held.why}")
    if any(held.why == Why.UNMERGED for held in answer.held):
        click.echo("merged in a way that git cannot tell? `rekal push --merged BRANCH` takes your word for it")
    for note in answer.notes:
        click.echo(f"rekal: {note}", err=True)
