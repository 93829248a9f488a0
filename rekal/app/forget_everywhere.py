"""Forgetting in all the places that the command line reaches, and the account of those it does not."""

from __future__ import annotations

import msgspec

from rekal.app.context import App
from rekal.app.share import sender_of
from rekal.errors import Refused
from rekal.forget import history, own_ref, own_store
from rekal.forget.own_ref import Unpublished
from rekal.forget.own_store import ForgetPlace, ForgetResult
from rekal.forget.request import ForgetRequest
from rekal.index.build import refresh_documents, refresh_index
from rekal.store.erase import Erased
from rekal.store.forget_requests import PastRequest, list_requests
from rekal.store.ledger import open_ledger
from rekal.store.locks import hold_lock
from rekal.transport.push import find_destination
from rekal.transport.refs import OwnRef

_SECONDS = 30.0
_DOCUMENT_FILES = "the documents' own files are yours and were not touched"

Sent = dict[str, str]
"""Problems by remote; empty where the remote has the new ref."""


class ForgetAnswer(msgspec.Struct, frozen=True):
    """The result of forgetting: ``forget --json``.

    ``act`` names the request for an undo. ``traces`` counts log lines and waiting events. ``out_of_reach`` says where
    it may still be, ``notes`` what went wrong beside it. With ``--list``, ``acts`` are the requests so far, and with
    ``--undo`` the one undone.
    """

    act: str = ""
    dry_run: bool = False
    erased: Erased = Erased()
    traces: int = 0
    out_of_reach: list[str] = []
    acts: list[PastRequest] = []
    notes: list[str] = []


def _forget_place(app: App) -> ForgetPlace:
    return ForgetPlace(app.layout, app.repo, app.config.transport.namespace)


def preview_forgetting(app: App, request: ForgetRequest) -> ForgetAnswer:
    """Count the things that a request would take out, and change nothing."""
    erased = own_store.preview_request(_forget_place(app), request)
    documents, part = _document_place(app), _part_for_documents(request)
    if documents is not None and part != ForgetRequest():
        erased = erased.plus(own_store.preview_request(documents, part))
    return ForgetAnswer(dry_run=True, erased=erased)


def _document_place(app: App) -> ForgetPlace | None:
    """The repository's documents, which have a ledger of their own; None where there are none."""
    layout = app.layout.documents
    return ForgetPlace(layout, app.repo, app.config.transport.namespace) if layout.data.exists() else None


def _part_for_documents(request: ForgetRequest) -> ForgetRequest:
    """The part of a request that documents can answer to: they have no names of sessions and turns."""
    return msgspec.structs.replace(request, names=())


def _forget_in_documents(app: App, request: ForgetRequest) -> Erased:
    """Forget in the documents' ledger and index; the files themselves are their owner's."""
    place, part = _document_place(app), _part_for_documents(request)
    if place is None or part == ForgetRequest():
        return Erased()
    try:
        erased = own_store.forget_locally(place, part).erased
    except own_store.NothingMatches:
        erased = Erased()
    refresh_documents(place.layout, changed=True)
    own_store.mark_finished(place)
    return erased


def forget_everywhere(app: App, request: ForgetRequest) -> ForgetAnswer:
    """Forget in the ledger, the index, spool, logs and our ref, and have remotes take the new ref now."""
    place = _forget_place(app)
    finished = finish_forgetting(app)
    notes: list[str] = []
    documents = _forget_in_documents(app, request)
    try:
        forgot = own_store.forget_locally(place, request)
    except own_store.NothingMatches:
        if documents.total:
            return ForgetAnswer(erased=documents, out_of_reach=[_DOCUMENT_FILES])
        if not finished:
            raise
        # The same request, cut short before and repeated now: all of it went with what was left to do.
        return ForgetAnswer(notes=["an earlier request was cut short and is finished now; nothing else matches"])
    refresh_index(app.layout, app.repo, app.scrub, notes.append, full=True)
    own_store.mark_finished(place)
    sent = _send_new_ref(app, forgot.unpublished)
    limits = _list_limits(app, forgot, sent)
    if documents.total:
        limits.append(_DOCUMENT_FILES)
    return ForgetAnswer(forgot.act, False, forgot.erased.plus(documents), forgot.traces, limits, notes=notes)


def list_forgotten(app: App) -> ForgetAnswer:
    """List the requests so far, newest first."""
    with open_ledger(app.layout.data, read_only=True) as ledger:
        return ForgetAnswer(acts=list_requests(ledger.con))


def undo_forgetting(app: App, name: str) -> ForgetAnswer:
    """Let be captured again what the request called ``name`` took out. Refused once a teammate was told."""
    layout = app.layout
    with (
        hold_lock(layout.lock, wait=30.0, purpose="undoing"),
        open_ledger(layout.data, read_only=False) as ledger,
        ledger.transaction(),
    ):
        return ForgetAnswer(acts=[history.undo_request(ledger, layout.run, layout.spool, app.repo.git_dir, name)])


def finish_forgetting(app: App) -> bool:
    """Do what an interrupted forgetting left undone, the index too; False when nothing was, which costs one stat."""
    place = _forget_place(app)
    documents = _document_place(app)
    if documents is not None and own_store.finish_interrupted(documents) is not None:
        refresh_documents(documents.layout, changed=True)
        own_store.mark_finished(documents)
    done = own_store.finish_interrupted(place)
    if done is None:
        return False
    refresh_index(app.layout, app.repo, app.scrub, lambda _: None, full=True)
    own_store.mark_finished(place)
    _send_new_ref(app, done)
    return True


def _send_new_ref(app: App, unpublished: Unpublished) -> Sent:
    """Have the remotes that have our old ref take the new one; the next push tries again where that fails."""
    if not unpublished.remotes:
        return {}
    with open_ledger(app.layout.data, read_only=True) as ledger:
        ref = _forget_place(app).ref(ledger)
    problems = {remote: _replace_on(app, remote, ref) for remote in unpublished.remotes}
    if any(problems.values()):
        app.layout.unsent.touch()
    return problems


def _replace_on(app: App, remote: str, ref: OwnRef) -> str:
    try:
        find_destination(sender_of(app), remote)
    except Refused as error:
        return str(error)
    return own_ref.replace_on_remote(app.repo, app.layout.run, ref, remote, _SECONDS)


def _list_limits(app: App, forgot: ForgetResult, sent: Sent) -> list[str]:
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
        f"{path.name} was moved aside as damaged and may hold it: delete it"
        for path in own_store.damaged_files(app.layout)
    ]
    out.append("commits, their messages and files in git, backups and the disk's unused blocks are not rekal's")
    return out
