"""Forgetting in all the places that the command line reaches, and the account of those it does not."""

from __future__ import annotations

from rekal.app.context import App
from rekal.app.refresh import refresh_index
from rekal.app.share import sender_of
from rekal.errors import Refused
from rekal.forget.forget import Forgot, Place, Request, damaged_files, finish, forget
from rekal.forget.own_ref import Unpublished, replace_on
from rekal.store.ledger import open_ledger
from rekal.transport.push import MARKER, destination
from rekal.transport.refs import OwnRef

_SECONDS = 30.0

Sent = dict[str, str]
"""What was in the way, by remote; empty where the remote has the new ref."""


def place_of(app: App) -> Place:
    """This clone, as forgetting needs it."""
    return Place(app.layout, app.repo, app.config.transport.namespace)


def forget_everywhere(app: App, request: Request) -> tuple[Forgot, Sent]:
    """Forget in the ledger, the index, spool, logs and our ref, and have remotes take the new ref now."""
    place = place_of(app)
    finish(place)
    forgot = forget(place, request)
    refresh_index(app, full=True)
    return forgot, send(app, forgot.unpublished)


def finish_forgetting(app: App) -> None:
    """Do what an interrupted forgetting left undone; the index is the caller's. Costs one stat when nothing was."""
    done = finish(place_of(app))
    if done is not None:
        send(app, done)


def send(app: App, unpublished: Unpublished) -> Sent:
    """Have the remotes that have our old ref take the new one; the next push tries again where that fails."""
    if not unpublished.remotes:
        return {}
    with open_ledger(app.layout.data, read_only=True) as ledger:
        ref = place_of(app).ref(ledger)
    said = {remote: _send(app, remote, ref) for remote in unpublished.remotes}
    if any(said.values()):
        (app.layout.run / MARKER).touch()
    return said


def _send(app: App, remote: str, ref: OwnRef) -> str:
    try:
        destination(sender_of(app), remote)
    except Refused as error:
        return str(error)
    return replace_on(app.repo, app.layout.run, ref, remote, _SECONDS)


def limits(app: App, forgot: Forgot, sent: Sent) -> list[str]:
    """Where it may still be, a sentence each."""
    out = ["the agents' own transcripts on this machine are theirs and were not touched"]
    for remote, problem in sent.items():
        out.append(
            f"{remote} still has it ({problem}); the next push there replaces it"
            if problem
            else f"{remote} has the ref without it; its host keeps the old objects until it collects them, and "
            "teammates what they fetched until they fetch and import again"
        )
    if forgot.unpublished.packed:
        count = forgot.unpublished.packed
        out.append(f"{count} of this clone's git objects with it lie in packs until `git gc --prune=now`")
    out += [f"{other} published it: it is in their ref and in this clone's copy of that ref" for other in forgot.others]
    out += [f"{path.name} was moved aside as damaged and may hold it: delete it" for path in damaged_files(app.layout)]
    out.append("commits, their messages and files in git, backups and the disk's unused blocks are not rekal's")
    return out
