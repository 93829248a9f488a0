"""What tests of captures share."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.capture.test_link import commit, work
from tests.support.app import Rekal
from tests.support.conversations import STORES, Conversation, Round, moment
from tests.support.earlier_work import EarlierWork


@pytest.fixture
def past(rekal: Rekal, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EarlierWork:
    """A conversation with every agent, and a commit of each."""
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name)
    for number, (store, write) in enumerate(STORES.items()):
        path = rekal.root / f"part{number}.py"
        write(
            Conversation(home, rekal.root, f"past {number}", [Round(f"Ask {store}", path, f"line {number}\n", "Done.")])
        )
        work(rekal.root, path.name, f"line {number}\n")
        commit(rekal.root, moment(0, 120 + number), store)
    for event in rekal.layout.spool.glob("*.json"):
        event.unlink()
    template = tmp_path / "template"
    shutil.copytree(rekal.layout.directory, template / "store")
    shutil.copytree(rekal.layout.run, template / "run")
    return EarlierWork(rekal, template)
