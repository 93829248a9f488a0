"""Forgetting in all the places that the command line reaches, and the account of those it does not."""

from __future__ import annotations

from rekal.app.context import App
from rekal.app.refresh import refresh_index
from rekal.app.share import sender_of
from rekal.errors import Refused
from rekal.forget import local, own_ref
from rekal.forget.local import ForgetPlace, ForgetResult
from rekal.forget.own_ref import Unpublished
from rekal.forget.request import ForgetRequest
from rekal.store.ledger import open_ledger
from rekal.transport.push import MARKER, destination
from rekal.transport.refs import OwnRef

_SECONDS = 30.0

Sent = dict[str, str]
"""Problems by remote; empty where the remote has the new ref."""


def forget_place(app: App) -> ForgetPlace:
    """This clone, as forgetting needs it."""
    return ForgetPlace(app.layout, app.repo, app.config.transport.namespace)


def forget_everywhere(app: App, request: ForgetRequest) -> tuple[ForgetResult, Sent]:
    """Forget in the ledger, the index, spool, logs and our ref, and have remotes take the new ref now."""
    place = forget_place(app)
    local.finish_interrupted(place)
    forgot = local.forget_locally(place, request)
    refresh_index(app, full=True)
    return forgot, send_new_ref(app, forgot.unpublished)


def finish_forgetting(app: App) -> None:
    """Do what an interrupted forgetting left undone; the index is the caller's. Costs one stat when nothing was."""
    done = local.finish_interrupted(forget_place(app))
    if done is not None:
        send_new_ref(app, done)


def send_new_ref(app: App, unpublished: Unpublished) -> Sent:
    """Have the remotes that have our old ref take the new one; the next push tries again where that fails."""
    if not unpublished.remotes:
        return {}
    with open_ledger(app.layout.data, read_only=True) as ledger:
        ref = forget_place(app).ref(ledger)
    problems = {remote: _send_to(app, remote, ref) for remote in unpublished.remotes}
    if any(problems.values()):
        (app.layout.run / MARKER).touch()
    return problems


def _send_to(app: App, remote: str, ref: OwnRef) -> str:
    try:
        destination(sender_of(app), remote)
    except Refused as error:
        return str(error)
    return own_ref.replace_on_remote(app.repo, app.layout.run, ref, remote, _SECONDS)


def list_limits(app: App, forgot: ForgetResult, sent: Sent) -> list[str]:
    """Places where it may still be, a sentence each."""
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
    out += [
        f"{path.name} was moved aside as damaged and may hold it: delete it" for path in local.damaged_files(app.layout)
    ]
    out.append("commits, their messages and files in git, backups and the disk's unused blocks are not rekal's")
    return out
