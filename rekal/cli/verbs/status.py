"""``rekal status``."""

from __future__ import annotations

from collections.abc import Iterator

import click
import msgspec

from rekal.app import read_status
from rekal.app.context import find_app
from rekal.app.read_status import StoreStatus
from rekal.cli.output import json_option, print_note, print_record
from rekal.daemon.client import find_hung_daemon, is_supported
from rekal.errors import FOUND, STORE_UNUSABLE, StoreError

RESTORE = (
    "data.db is damaged: the next capture moves it aside and captures again the transcripts still on this machine; "
    "to keep older sessions put back a backup of data.db first, teammates' come back with `rekal sync`"
)


@click.command("status")
@json_option
def command(as_json: bool) -> int:
    """How the store is: what it holds, what was skipped, what waits, what is wrong."""
    app = find_app()
    app.require_store()
    try:
        answer = read_status.read_status(app)
    except StoreError as error:
        print_note(error.message)
        print_note(RESTORE if "damaged" in error.message else error.hint)
        return STORE_UNUSABLE
    hung = find_hung_daemon() if is_supported() else None
    if hung is not None:
        sentence = f"the daemon (process {hung}) does not answer: `rekal daemon --stop` ends it"
        answer = msgspec.structs.replace(answer, problems=[*answer.problems, sentence])
    print_record(answer, as_json, _lines)
    return FOUND


def _lines(a: StoreStatus) -> Iterator[str]:
    yield f"store      {a.store}" + ("" if a.enabled else "  (disabled by configuration)")
    yield f"sessions   {a.sessions} own, {a.teammates_sessions} from teammates, {a.turns} turns"
    done = f"{a.coverage.linked} linked, {a.coverage.unlinked} without a session"
    yield f"commits    {done}"
    for reason, count in a.coverage.reasons.items():
        yield f"           {count}: {reason}"
    missing = "missing" if a.turns else "nothing to index yet"
    behind = {-1: missing, 0: "current"}.get(a.index_behind, f"{a.index_behind} captures behind")
    yield f"index      {behind}"
    yield f"vectors    {f'{a.vectors.done:,} of {a.vectors.total:,}' if a.vectors else 'off'}"
    yield f"disk       data.db {a.data_bytes / 1e6:.1f} MB, index.db {a.index_bytes / 1e6:.1f} MB"
    yield f"waiting    {a.spool_waiting} events"
    yield f"hooks      {', '.join(a.hooks)}"
    for s in a.sources:
        extra = f", {s.skipped_bytes} bytes skipped" if s.skipped_bytes else ""
        extra += f", {s.unreadable} unreadable" if s.unreadable else ""
        yield f"{s.agent:<10} {s.sources} sources{extra}"
        if s.drift:
            known = ", ".join(f"{kind} ×{count}" for kind, count in sorted(s.drift.items())[:6])
            more = f" and {len(s.drift) - 6} more" if len(s.drift) > 6 else ""
            yield f"           record types this version does not know: {known}{more}"
    yield from a.shared_settings
    for problem in a.problems:
        yield f"! {problem}"
