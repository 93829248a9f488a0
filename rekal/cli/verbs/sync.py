"""``rekal sync``."""

from __future__ import annotations

import click

from rekal.app.context import App, here
from rekal.app.receive import import_arrived, index_received
from rekal.cli.output import json_option
from rekal.cli.received import report
from rekal.errors import STORE_UNUSABLE, GitError, Refused
from rekal.transport.refs import refspec

_SECONDS = 300.0


@click.command("sync")
@click.option("--remote", help="Only from this remote.")
@json_option
def command(remote: str | None, as_json: bool) -> int:
    """Fetch teammates' memory now and import it.

    The refs come from the remotes that `rekal share` allowed; nothing is sent. A `git fetch` from them brings the same.
    """
    app = here()
    app.require_store()
    fetched: list[str] = []
    notes: list[str] = []
    for name in _allowed(app, remote):
        try:
            _fetch(app, name)
            fetched.append(name)
        except (GitError, Refused) as error:
            notes.append(f"{name} was not fetched: {error}")
    received = import_arrived(app, fetched if remote else None)
    index_received(app, received)
    code = report(received, fetched, notes, as_json=as_json)
    return code if fetched else STORE_UNUSABLE


def _allowed(app: App, remote: str | None) -> list[str]:
    """The remotes to fetch from. Raises :class:`Refused` where memory may come from none."""
    allowed = sorted(app.config.transport.remotes)
    if not allowed:
        raise Refused("there is no remote to receive memory from", "`rekal share REMOTE` names one")
    if remote is None:
        return allowed
    if remote not in allowed:
        raise Refused(f"memory does not come from {remote}", f"it comes from {', '.join(allowed)}")
    return [remote]


def _fetch(app: App, remote: str) -> None:
    settings = app.config.transport
    if app.repo.ask("remote", "get-url", "--push", remote) != settings.remotes[remote]:
        raise Refused("it is not where it was when sharing was turned on", f"`rekal share {remote}` confirms it")
    options = ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")
    spec = refspec(remote, settings.namespace)
    app.repo.run(
        "-c",
        "maintenance.auto=false",
        "fetch",
        *options,
        remote,
        spec,
        timeout=_SECONDS,
        env=app.repo.quiet_environment(),
    )
