"""``rekal share``."""

from __future__ import annotations

import click
import msgspec

from rekal.app.context import here
from rekal.app.share import start_sharing, stop_sharing
from rekal.cli.output import emit_json, json_option


class ShareAnswer(msgspec.Struct, frozen=True):
    """What ``share --json`` prints: how sharing stands now."""

    share: str
    remotes: dict[str, str]
    mainline: str | None


@click.command("share")
@click.argument("remote", required=False)
@click.option(
    "--mode",
    type=click.Choice(["full", "distilled"]),
    default="full",
    show_default=True,
    help="Whole sessions, or commits and memories only.",
)
@click.option("--mainline", help="The branch that work must be merged into; left out: the remote's default branch.")
@click.option("--stop", is_flag=True, help="Share no more with REMOTE, or with nobody when it is left out.")
@json_option
def command(remote: str | None, mode: str, mainline: str | None, stop: bool, as_json: bool) -> None:
    """Say where memory may go, or show where it goes.

    From then on a `git push` to REMOTE takes merged work along, and a `git fetch` from it brings teammates'. This is
    decided for this clone alone: nothing that can be committed turns it on.
    """
    app = here()
    app.require_store()
    if stop:
        stop_sharing(app, remote)
    elif remote:
        start_sharing(app, remote, mode, mainline)
    now = here().config.transport
    answer = ShareAnswer(now.share, dict(now.remotes), now.mainline)
    if as_json:
        emit_json(answer)
    elif answer.share == "none" or not answer.remotes:
        click.echo("nothing is shared")
    else:
        for name, url in sorted(answer.remotes.items()):
            branch = answer.mainline or "its default branch"
            click.echo(f"{answer.share} memory of work merged into {branch} goes to {name} ({url})")
