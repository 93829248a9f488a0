"""``rekal share``."""

from __future__ import annotations

from collections.abc import Iterator

import click
import msgspec

from rekal.app import share
from rekal.app.context import find_app
from rekal.cli.output import json_option, print_record
from rekal.errors import UsageError


class ShareAnswer(msgspec.Struct, frozen=True):
    """The state of sharing: ``share --json``."""

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
@click.option("--receive-only", is_flag=True, help="Take teammates' memory from REMOTE and send none.")
@click.option("--stop", is_flag=True, help="Share no more with REMOTE, or with nobody when it is left out.")
@click.option("--new-clone-id", is_flag=True, help="Go on under another ref, where the one of this clone is blocked.")
@json_option
def command(
    remote: str | None,
    mode: str,
    mainline: str | None,
    receive_only: bool,
    stop: bool,
    new_clone_id: bool,
    as_json: bool,
) -> None:
    """Say where memory may go, or show where it goes.

    From then on a `git push` to REMOTE takes merged work along, and a `git fetch` from it brings teammates'. This is
    decided for this clone alone: nothing that can be committed turns it on.
    """
    app = find_app()
    app.require_store()
    if receive_only and (stop or not remote):
        raise UsageError("--receive-only needs a remote and no --stop", "write `rekal share origin --receive-only`")
    if stop:
        share.stop_sharing(app, remote)
    elif remote and receive_only:
        share.start_receiving(app, remote)
    elif remote:
        share.start_sharing(app, remote, mode, mainline)
    if new_clone_id and not stop:
        share.take_new_clone_id(app)
    now = find_app().config.transport
    answer = ShareAnswer(now.share, dict(now.remotes), now.mainline)
    print_record(answer, as_json, _lines)


def _lines(answer: ShareAnswer) -> Iterator[str]:
    if answer.share == "none" and answer.remotes:
        for name, url in sorted(answer.remotes.items()):
            yield f"teammates' memory comes from {name} ({url}) and none is sent"
        return
    if answer.share == "none" or not answer.remotes:
        yield "nothing is shared"
        return
    for name, url in sorted(answer.remotes.items()):
        branch = answer.mainline or "its default branch"
        yield f"{answer.share} memory of work merged into {branch} goes to {name} ({url})"
