"""``rekal doctor`` does each thing, names what is wrong, and mends what can be mended."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rekal.app.doctor import diagnose, place_checks
from rekal.app.doctor.diagnosis import Check, CheckResult
from tests.conftest import git
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession

QUICK = tuple(check for check in diagnose.CHECKS if check.title != "working in a scratch clone")


@pytest.fixture(autouse=True)
def _no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rekal.cli.verbs.doctor.start_worker", lambda app: None)


@pytest.fixture
def quick(rekal: Rekal, monkeypatch: pytest.MonkeyPatch) -> Rekal:
    """The doctor without its scratch clone, in a store with one session."""
    monkeypatch.setattr(diagnose, "CHECKS", QUICK)
    session = ClaudeSession(rekal.home, rekal.root, "one")
    session.human("Why should the retry queue live in Postgres and not in Redis?")
    session.writes(rekal.root / "queue.py", "x = 1\n", text="It survives a restart there.")
    (rekal.root / "queue.py").write_text("x = 1\n", encoding="utf-8")
    assert rekal("checkpoint").code == 0
    return rekal


def findings(rekal: Rekal, *args: str) -> dict[str, dict[str, str]]:
    """Findings by name; of several of one name the worst."""
    order = ("ok", "note", "wrong")
    found: dict[str, dict[str, str]] = {}
    for one in rekal("doctor", "--json", *args).json["findings"]:
        if one["name"] not in found or order.index(one["state"]) > order.index(found[one["name"]]["state"]):
            found[one["name"]] = one
    return found


def bad(found: dict[str, dict[str, str]]) -> set[str]:
    return {name for name, one in found.items() if one["state"] == "wrong"}


def test_nothing_is_wrong_with_a_fresh_store(quick: Rekal) -> None:
    done = quick("doctor")
    assert done.code == 0, done.out
    assert "nothing is wrong" in done.out
    found = findings(quick)
    assert found["recall"]["message"].startswith("1 of 1 sessions come back")
    assert "1 transcripts; the newest reads, 2 turns" in found["agent claude"]["message"]
    assert found["vectors"]["state"] == "note", "the tests switch embedding off, and that is said"


def test_a_hook_that_is_gone_is_named_and_mended(quick: Rekal) -> None:
    (quick.root / ".git/hooks/post-commit").unlink()
    done = quick("doctor")
    assert done.code == 1
    assert "post-commit is missing" in done.out and "1 thing is wrong" in done.out
    mended = findings(quick, "--fix")
    assert mended["hooks"]["mended"] and mended["hooks"]["state"] == "ok"
    assert (quick.root / ".git/hooks/post-commit").is_file()
    assert quick("doctor").code == 0


def test_an_index_that_is_gone_is_named_and_mended(quick: Rekal) -> None:
    quick.layout.index.unlink()
    assert "index" in bad(findings(quick))
    quick.layout.index.unlink()  # which the question that was asked had built again
    assert findings(quick, "--fix")["index"]["mended"]


def test_a_store_that_others_can_read_is_named_and_closed(quick: Rekal) -> None:
    quick.layout.directory.chmod(0o755)
    assert bad(findings(quick)) == {"store"}
    assert findings(quick, "--fix")["store"]["mended"]
    assert quick.layout.directory.stat().st_mode & 0o077 == 0


def test_a_damaged_store_says_what_brings_it_back(quick: Rekal) -> None:
    quick.layout.data.write_bytes(b"\0" * 20_000)
    found = findings(quick)
    assert found["store"]["state"] == "wrong" and "rekal checkpoint" in found["store"]["mend"]


_WRITER = """
import sys
from pathlib import Path
from rekal.store.ledger import open_ledger
from rekal.store.locks import hold_lock
data, lock = map(Path, sys.argv[1:])
with hold_lock(lock, wait=5, purpose="capturing"), open_ledger(data, read_only=False):
    print("open", flush=True)
    sys.stdin.read()
"""


def test_a_busy_store_is_not_broken(quick: Rekal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rekal.app.doctor.store_checks._PATIENCE", 0.05)
    monkeypatch.setattr("rekal.app.doctor.place_checks._PATIENCE", 0.05)
    command = [sys.executable, "-c", _WRITER, str(quick.layout.data), str(quick.layout.lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None and writer.stdout.readline() == "open\n"
        found = findings(quick)
        writer.communicate()
    assert bad(found) == set(), found
    assert found["store"]["state"] == "note" and "in use by" in found["store"]["message"]
    assert "at work" in found["worker"]["message"]


def test_a_transcript_that_nobody_can_read_is_named(quick: Rekal) -> None:
    path = ClaudeSession(quick.home, quick.root, "two").human("Hello there, how are you today?").path
    path.write_bytes(b"\x00\xff not a record\n" * 40)
    assert "agent claude" in bad(findings(quick))


def test_a_folder_from_which_nothing_was_read_is_told(quick: Rekal) -> None:
    (quick.home / ".gemini").mkdir()
    found = findings(quick)
    assert found["agent gemini"]["state"] == "note"
    assert "~/.gemini is there" in found["agent gemini"]["message"]


def test_transcripts_that_were_never_captured_are_told(rekal: Rekal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnose, "CHECKS", QUICK)
    ClaudeSession(rekal.home, rekal.root, "one").human("Why should the retry queue live in Postgres?")
    found = findings(rekal)["agent claude"]
    assert found["state"] == "note" and "none was captured" in found["message"]
    assert "rekal checkpoint --since 90d" in found["mend"]


def test_work_trees_without_a_line_are_told(quick: Rekal) -> None:
    (quick.home / ".claude").mkdir(exist_ok=True)
    git(quick.root, "worktree", "add", "-q", str(quick.root.parent / "other"), "-b", "other")
    other = quick.root.parent / "other" / "CLAUDE.md"
    other.write_text("# mine\n", encoding="utf-8")
    found = findings(quick)
    assert found["lines"]["state"] == "note" and str(other.parent) in found["lines"]["message"]


def test_another_program_of_our_name_is_told(quick: Rekal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "bin" / "rekal"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\necho another\n", encoding="utf-8")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", f"{other.parent}:/usr/bin:/bin")
    found = findings(quick)
    assert str(other) in found["program"]["message"] and "git rekal" in found["program"]["mend"]


def test_another_project_s_package_is_wrong(quick: Rekal, monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        version = "9.9"

    monkeypatch.setattr(place_checks, "distribution", lambda name: Other())
    found = findings(quick)
    assert found["program"]["state"] == "wrong" and "rekal 9.9" in found["program"]["message"]
    assert "pipx" in found["program"]["mend"]


def test_a_key_that_the_rules_let_pass_is_wrong(quick: Rekal) -> None:
    assert quick("config", "scrub.allow", "['.*']").code == 0
    assert "scrub" in bad(findings(quick))


def test_a_remote_gets_a_ref_and_loses_it(quick: Rekal, remote: Path) -> None:
    before = git(remote, "for-each-ref")
    found = findings(quick)
    assert found["remote"]["message"] == "origin took a scratch ref and gave it up again"
    assert git(remote, "for-each-ref") == before


def test_a_remote_that_does_not_answer_is_named(quick: Rekal, remote: Path) -> None:
    remote.rename(remote.with_name("gone.git"))
    found = findings(quick)
    assert "remote" in bad(found) and found["remote"]["message"].startswith("origin: ")


def test_a_check_that_fails_keeps_no_other_from_being_done(quick: Rekal, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(app: object) -> list[CheckResult]:
        raise PermissionError("no entry")

    first = Check("trying", fail)
    monkeypatch.setattr(diagnose, "CHECKS", (first, *QUICK))
    found = findings(quick)
    assert found["trying"]["message"] == "no entry"
    assert found["store"]["state"] == "ok"
