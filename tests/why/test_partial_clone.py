"""``why`` in a partial clone that lacks old versions of a file: one sentence, no fetch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import git
from tests.support.app import Rekal


def test_why_says_what_a_partial_clone_lacks(
    repo: Path, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rekal.cli.verbs.init.start_worker", lambda app: None)
    for number in range(3):
        with (repo / "queue.py").open("a", encoding="utf-8") as file:
            file.write(f"line = {number}\n")
        git(repo, "add", "queue.py")
        git(repo, "commit", "-q", "-m", f"c{number}")
    git(repo, "config", "uploadpack.allowFilter", "true")
    part = tmp_path / "part"
    git(tmp_path, "-c", "protocol.file.allow=always", "clone", "-q", "--filter=blob:none", f"file://{repo}", str(part))
    git(part, "config", "remote.origin.url", str(tmp_path / "nowhere"))
    rekal = Rekal(part, home, capsys)
    assert rekal("init", "--backfill", "0", "--hooks-only").code == 0
    done = rekal("why", "queue.py:1")
    assert done.err.startswith("rekal: this partial clone lacks versions of queue.py; run `git blame queue.py`")
    assert done.err.count("\n") == 1
