"""Repositories for the tests with real processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.installed_rekal import REKAL, Live, answer_readily


@pytest.fixture(autouse=True)
def _bounded_machine(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    assert REKAL.is_file(), f"{REKAL} is missing: install the project (`make test` does)"
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    answer_readily(home)


@pytest.fixture
def live(repo: Path) -> Live:
    """A repository with a store, hooks and nothing captured."""
    command = Live(repo)
    command("init", "--backfill", "0", "--hooks-only")
    command.settle()
    return command
