"""All checks in order, and the mending of what can be mended."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from rekal.app.context import App
from rekal.app.doctor import place_checks, remote_check, scratch_clone, store_checks
from rekal.app.doctor.diagnosis import Check, CheckResult, Diagnosis
from rekal.errors import RekalError

CHECKS = (
    Check("looking for the program", place_checks.examine_program),
    Check("asking git", place_checks.examine_git),
    Check("reading the settings", store_checks.examine_settings),
    Check("opening the store", store_checks.examine_ledger, store_checks.repair_ledger),
    Check("looking at the workers", store_checks.examine_workers),
    Check("scrubbing a planted key", scratch_clone.examine_scrubbing),
    Check("reading transcripts", place_checks.examine_agents),
    Check("looking at the hooks", place_checks.examine_hooks, place_checks.mend_hooks),
    Check("looking at the agents' lines", place_checks.examine_lines),
    Check("comparing the index", store_checks.examine_index, store_checks.repair_index),
    Check("embedding a sentence", store_checks.examine_vectors, store_checks.repair_vectors),
    Check("asking questions", store_checks.examine_recall, store_checks.repair_recall),
    Check("working in a scratch clone", scratch_clone.examine_scratch_clone),
    Check("reaching the remotes", remote_check.examine_remotes),
)


def diagnose_store(
    app: App, more: tuple[Check, ...] = (), *, fix: bool, note_step: Callable[[str], None] = lambda title: None
) -> Diagnosis:
    """Do everything once. With ``fix`` repair what is wrong and can be, and look at it again.

    ``more`` are checks of the caller's; ``note_step`` hears what is being done.
    """
    findings: list[CheckResult] = []
    for check in (*CHECKS, *more):
        note_step(check.title)
        seen = list(_examine(app, check))
        if fix and check.repair and any(one.mend and one.state != "ok" for one in seen):
            note_step(f"mending: {check.title}")
            seen = _mend(app, check, seen)
        findings += seen
    return Diagnosis(findings, sum(one.state == "wrong" for one in findings))


def _examine(app: App, check: Check) -> Iterator[CheckResult]:
    """One check that cannot be done is a finding, and keeps no other from being done."""
    try:
        yield from check.examine(app)
    except (RekalError, OSError) as error:
        message = error.message if isinstance(error, RekalError) else str(error)
        yield CheckResult(check.title, "wrong", message, error.hint if isinstance(error, RekalError) else "")


def _mend(app: App, check: Check, before: list[CheckResult]) -> list[CheckResult]:
    assert check.repair is not None
    try:
        check.repair(app)
    except (RekalError, OSError) as error:
        return [*before, CheckResult(check.title, "wrong", f"it could not be mended: {error}")]
    after = list(_examine(app, check))
    if after and all(one.state == "ok" for one in after):
        first = next(one for one in before if one.state != "ok")
        said = f"{after[0].message}; was: {first.message}"
        after[0] = msgspec.structs.replace(after[0], message=said, mended=True)
    return after
