"""Twenty thousand refs on a remote, each with a commit of its own: synced in bounds, in few words."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import git
from tests.support.installed_rekal import REKAL, Live

REFS = 20_000
_MOST_SECONDS = 30.0  # of processor time
_MOST_LINES = 5


def _make_refs(remote: Path) -> None:
    """As many refs of as many authors, each with a commit that nobody else has."""
    person = "%s <m%05d@example.com> 1767225600 +0000\n"
    lines = []
    for number in range(REFS):
        name = person % ("Member", number)
        lines.append(f"commit refs/rekal/m{number:05d}-example-com/{number:010d}\ncommitter {name}data 7\nrekal 2\n\n")
    subprocess.run(
        ["git", "fast-import", "--quiet"], input="".join(lines).encode(), cwd=remote, check=True, timeout=300
    )
    subprocess.run(["git", "pack-refs", "--all"], cwd=remote, check=True, timeout=600)
    assert len(set(git(remote, "for-each-ref", "--format=%(objectname)", "refs/rekal").split())) == REFS


def _measure(live: Live, *command: str) -> tuple[float, subprocess.CompletedProcess[str]]:
    before = sum(os.times()[2:4])
    done = subprocess.run(command, cwd=live.root, capture_output=True, text=True, check=False, timeout=600)
    return sum(os.times()[2:4]) - before, done


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_twenty_thousand_refs_cost_what_git_takes_and_few_lines(
    repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    live = Live(repo)
    remote = tmp_path / "remote.git"
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(remote))
    live.git("remote", "add", "origin", str(remote))
    live("init", "--backfill", "0", "--hooks-only", "--share", "origin")
    live.settle()
    _make_refs(remote)

    fetched, plain = _measure(live, "git", "fetch", "-q", "origin")
    assert plain.returncode == 0, plain.stderr
    synced, first = _measure(live, str(REKAL), "sync")
    again, second = _measure(live, str(REKAL), "sync")

    with capsys.disabled():
        print(f"\n{REFS} refs: git fetch {fetched:.1f} s, sync {synced:.1f} s, again {again:.1f} s of processor time")
    for seconds, done in ((synced, first), (again, second)):
        assert done.returncode in (0, 1), done
        assert seconds <= _MOST_SECONDS
        assert len((done.stdout + done.stderr).strip().split("\n")) <= _MOST_LINES, done
