"""``rekal forget``."""

from __future__ import annotations

import click
import msgspec

from rekal.app.context import App, here
from rekal.app.forget_everywhere import forget_everywhere, forget_place, list_limits
from rekal.cli.output import emit_json, json_option, minute
from rekal.errors import FOUND, NOTHING_FOUND, REFUSED, UsageError
from rekal.forget import history, local
from rekal.forget.request import ForgetRequest
from rekal.store.erase import Erased
from rekal.store.forget_requests import PastRequest, list_requests
from rekal.store.ledger import open_ledger
from rekal.store.locks import hold_lock


class ForgetAnswer(msgspec.Struct, frozen=True):
    """The answer that ``forget --json`` prints.

    ``act`` names the request for an undo. ``traces`` counts log lines and waiting events. ``out_of_reach`` says where
    it may still be. With ``--list``, ``acts`` are the requests so far, and with ``--undo`` the one undone.
    """

    act: str = ""
    dry_run: bool = False
    erased: Erased = Erased()
    traces: int = 0
    out_of_reach: list[str] = []
    acts: list[PastRequest] = []


@click.command("forget")
@click.argument("what", nargs=-1, metavar="[SESSION | SESSION#TURN | MEMORY]...")
@click.option("--text", "texts", multiple=True, help="Everything that holds this text.")
@click.option("--pattern", "patterns", multiple=True, help="Everything that matches this regular expression.")
@click.option("--path", "paths", multiple=True, help="Everything done to, and said of, this file or directory.")
@click.option("--dry-run", is_flag=True, help="Count what would go, and change nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option(
    "--list", "listing", is_flag=True, help="List what was forgotten: when, how much, whether it can be undone."
)
@click.option("--undo", metavar="ID", help="Let it be captured again, as long as no teammate was told to forget it.")
@json_option
def command(
    what: tuple[str, ...],
    texts: tuple[str, ...],
    patterns: tuple[str, ...],
    paths: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    listing: bool,
    undo: str | None,
    as_json: bool,
) -> int:
    """Forget for good: here, in what was shared, and for teammates at their next fetch.

    It goes from the store, its free pages, the index, waiting events, logs and this clone's ref, and it does not come
    back by a new capture or a teammate's copy. What rekal cannot reach is listed.
    """
    app = here()
    app.require_store()
    request = ForgetRequest(what, texts, patterns, paths)
    if listing or undo:
        return _print_requests(_list_requests(app) if listing else [_undo_by_id(app, str(undo))], as_json=as_json)
    if request == ForgetRequest():
        raise UsageError("nothing was named", "name a session, a turn or a memory, or use --text, --pattern or --path")
    found = local.preview_request(forget_place(app), request)
    if dry_run:
        return _print_answer(ForgetAnswer(dry_run=True, erased=found), as_json=as_json)
    if not yes and not click.confirm(f"Forget {_words(found)} for good?", default=False, err=True):
        click.echo("rekal: nothing was forgotten", err=True)
        return REFUSED
    forgot, sent = forget_everywhere(app, request)
    answer = ForgetAnswer(forgot.act, False, forgot.erased, forgot.traces, list_limits(app, forgot, sent))
    return _print_answer(answer, as_json=as_json)


def _list_requests(app: App) -> list[PastRequest]:
    with open_ledger(app.layout.data, read_only=True) as ledger:
        return list_requests(ledger.con)


def _undo_by_id(app: App, name: str) -> PastRequest:
    layout = app.layout
    with (
        hold_lock(layout.lock, wait=30.0, purpose="undoing"),
        open_ledger(layout.data, read_only=False) as ledger,
        ledger.transaction(),
    ):
        return history.undo_request(ledger, layout.run, layout.spool, app.repo.git_dir, name)


def _print_requests(found: list[PastRequest], *, as_json: bool) -> int:
    if as_json:
        emit_json(ForgetAnswer(acts=found))
    for act in [] if as_json else found:
        fate = "teammates were told" if act.shipped else "can be undone"
        click.echo(f"{act.id}  {minute(act.recorded_at)}  by {act.reason}  {act.targets} targets  {fate}")
    if not found and not as_json:
        click.echo("(nothing was forgotten)")
    return FOUND if found else NOTHING_FOUND


def _words(e: Erased) -> str:
    counts = {
        "sessions": e.sessions,
        "turns": e.turns,
        "tool calls": e.calls,
        "commits' links": e.checkpoints,
        "file names": e.files,
        "memories' events": e.events,
        "titles or subjects": e.texts,
    }
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing"


def _print_answer(answer: ForgetAnswer, *, as_json: bool) -> int:
    if as_json:
        emit_json(answer)
    else:
        verb = "would go" if answer.dry_run else "forgotten"
        click.echo(f"{verb}: {_words(answer.erased)}" + (f"  ({answer.act})" if answer.act else ""))
        for one in answer.out_of_reach:
            click.echo(f"  out of reach: {one}")
    return FOUND if answer.erased.total or answer.act else NOTHING_FOUND
