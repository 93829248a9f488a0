"""``rekal doctor``."""

from __future__ import annotations

from collections.abc import Iterator

import click

from rekal.app.context import App, find_app
from rekal.app.doctor.diagnose import diagnose_store
from rekal.app.doctor.diagnosis import Check, CheckResult, Diagnosis
from rekal.cli.output import count_of, json_option, print_record
from rekal.cli.progress import show_work
from rekal.daemon.client import find_hung_daemon, is_reachable, is_supported
from rekal.daemon.spawn import start_worker
from rekal.errors import FOUND, NOTHING_FOUND

_WIDTH = 14


@click.command("doctor")
@click.option("--fix", is_flag=True, help="Mend what can be mended: hooks, index, vectors, permissions.")
@json_option
def command(fix: bool, as_json: bool) -> int:
    """Do each thing once, and name what is wrong with what mends it.

    The store is opened, read and asked, a sentence embedded, a planted key scrubbed; in a scratch clone a commit is
    made, captured, recalled, pushed and received; each remote that memory goes to gets a scratch ref and loses it
    again. Exit code 1 when something is wrong. Works while the store is busy.
    """
    app = find_app()
    app.require_store()
    daemon = Check("looking for the daemon", _examine_daemon)
    with show_work("looking around") as work:

        def note_step(title: str) -> None:
            work.label = title

        answer = diagnose_store(app, (daemon,), fix=fix, note_step=note_step)
    if fix:
        start_worker(app)  # for what waits
    print_record(answer, as_json, _lines)
    return NOTHING_FOUND if answer.wrong else FOUND


def _examine_daemon(app: App) -> Iterator[CheckResult]:
    if not is_supported():
        return
    hung = find_hung_daemon()
    if hung is not None:
        yield CheckResult("daemon", "wrong", f"process {hung} does not answer", "`rekal daemon --stop` ends it")
    else:
        yield CheckResult("daemon", "ok", "answers" if is_reachable() else "none runs; the next recall starts one")


def _lines(answer: Diagnosis) -> Iterator[str]:
    for one in answer.findings:
        state = "mended" if one.mended else one.state
        yield f"{state:6}  {one.name:{_WIDTH}}  {one.message}"
        if one.mend and one.state != "ok":
            yield f"{'':6}  {'':{_WIDTH}}  {one.mend}"
    notes = sum(one.state == "note" for one in answer.findings)
    more = f", {count_of(notes, 'thing')} to know" if notes else ""
    if answer.wrong:
        yield f"{count_of(answer.wrong, 'thing is', 'things are')} wrong{more}; `rekal doctor --fix` mends what it can"
    else:
        yield f"nothing is wrong{more}"
