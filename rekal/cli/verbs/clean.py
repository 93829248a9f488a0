"""``rekal clean``."""

from __future__ import annotations

import shutil

import click
import msgspec

from rekal.app.context import here
from rekal.app.share import forget_sharing
from rekal.cli.output import emit_json, json_option
from rekal.errors import FOUND, REFUSED, StoreUnwritable
from rekal.install import Removed, uninstall_rekal
from rekal.store.locks import hold_lock


class CleanAnswer(msgspec.Struct, frozen=True):
    """What ``clean --json`` prints."""

    store: str
    removed: Removed


@click.command("clean")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--refs", "with_refs", is_flag=True, help="Also delete the local ref that this clone shared memory on.")
@json_option
def command(yes: bool, with_refs: bool, as_json: bool) -> int:
    """Leave the repository as it was before `rekal init`, byte for byte.

    This removes the store: what was captured is gone unless it was shared. What is on a remote stays there.
    """
    app = here()
    question = f"Remove {app.layout.directory} with everything captured, the hooks and the agents' lines?"
    # Without a terminal there is nobody to ask: end of input counts as no.
    if not yes and not click.confirm(question, default=False, err=True):
        click.echo("rekal: nothing was removed", err=True)
        return REFUSED
    if app.layout.directory.is_dir():
        with hold_lock(app.layout.lock, wait=30.0, purpose="clean"):
            forget_sharing(app, own=with_refs)
            removed = uninstall_rekal(app.repo)
            _remove_store(app.layout.directory)
    else:
        removed = uninstall_rekal(app.repo)
    answer = CleanAnswer(str(app.layout.directory), removed)
    if as_json:
        emit_json(answer)
    else:
        click.echo(f"removed {answer.store}, {len(removed.hooks)} hooks, {len(removed.lines)} lines for agents")
        for note in removed.notes:
            click.echo(f"rekal: {note}", err=True)
    return FOUND


def _remove_store(directory: object) -> None:
    try:
        shutil.rmtree(str(directory))
    except OSError as error:
        raise StoreUnwritable(f"cannot remove {directory} ({error.strerror})", "remove it by hand") from None
