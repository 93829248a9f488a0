"""Directories that cannot be written and disks that are full."""

from __future__ import annotations

import contextlib
import ctypes
import json
import random
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import git
from tests.support.app import Ran
from tests.support.claude import ClaudeSession
from tests.support.installed_rekal import ASKED, Live, worked
from tests.support.store_contents import canonical

_PR_CAPBSET_DROP, _OVERRIDES = 24, (1, 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


def _bound_by_modes() -> None:
    """In the child, before it starts: root, too, is then refused what a file's mode forbids."""
    for capability in _OVERRIDES if sys.platform == "linux" else ():
        ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def _sentence(ran: Ran, code: int, words: str) -> None:
    lines = ran.err.splitlines()
    assert (ran.code, len(lines)) == (code, 1), ran
    assert lines[0].startswith("rekal: "), ran
    assert words in lines[0], ran
    assert not any(raw in ran.err for raw in ("Traceback", "IO Error", "unexpected")), ran


@pytest.fixture
def sealed(live: Live, home: Path) -> Iterator[Live]:
    """A store with one session that nobody may write any more."""
    worked(home, live.root, "one")
    live.commit("Add the queue")
    live.settle()
    places = (live.layout.directory, live.layout.run)
    paths = [path for place in places for path in (place, *place.rglob("*"))]
    modes = {path: path.stat().st_mode for path in paths}
    for path, mode in modes.items():
        path.chmod(mode & ~0o222)
    yield live
    for path, mode in modes.items():
        path.chmod(mode)


def test_a_read_only_store_is_read_and_says_why_it_is_not_written(sealed: Live, home: Path) -> None:
    asked = sealed("recall", ASKED, preexec_fn=_bound_by_modes)
    assert asked.out.startswith("INJECT")
    assert "was not noted" in asked.err
    for words in (("find", "postgres"), ("log",), ("status",)):
        assert sealed(*words, preexec_fn=_bound_by_modes).err == ""
    worked(home, sealed.root, "two")
    for words in (("checkpoint",), ("index", "--full"), ("init",)):
        _sentence(sealed(*words, code=None, preexec_fn=_bound_by_modes), 4, "permission")
    before = canonical(sealed.layout.data)
    sealed("_worker", code=None, preexec_fn=_bound_by_modes)
    assert canonical(sealed.layout.data) == before


def test_init_where_nothing_may_be_written(repo: Path) -> None:
    repo.chmod(0o555)
    try:
        _sentence(Live(repo)("init", code=None, preexec_fn=_bound_by_modes), 4, "ermission")
        assert sorted(p.name for p in repo.iterdir()) == [".git", "README.md"]
        assert git(repo, "config", "--get-regexp", "^core").strip()
    finally:
        repo.chmod(0o755)


def _talk(home: Path, root: Path) -> None:
    """A session of two megabytes that no compression makes smaller."""
    draw = random.Random(1)
    session = ClaudeSession(home, root, "long")
    for _ in range(20):
        session.human(" ".join(f"{draw.getrandbits(60):x}" for _ in range(6000)))


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 MB."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", place], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_a_full_disk_loses_nothing_and_capture_goes_on_when_there_is_room(small: Path, home: Path) -> None:
    root = small / "app"
    git(small, "init", "-q", str(root))
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    live = Live(root)
    live("init", "--backfill", "0", "--hooks-only")
    live.settle()
    native = worked(home, root, "one")
    live.commit("Add the queue")
    live.settle()
    before = canonical(live.layout.data)
    _talk(home, root)
    ballast = small / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    _sentence(live("checkpoint", code=None), 4, "the disk is full")
    live("_worker", code=4)
    live("recall", ASKED, code=None)
    ballast.unlink()
    assert canonical(live.layout.data) == before
    assert not list(live.layout.directory.glob("*damaged*"))
    live("checkpoint")
    assert len(live.rows("SELECT native_id FROM sessions")) == 2
    assert native in live.recalled(ASKED)


def test_a_limit_on_file_size_counts_as_a_full_disk(live: Live, home: Path) -> None:
    _talk(home, live.root)
    limit = live.layout.data.stat().st_size

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    shutil.copy(live.layout.data, live.root.parent / "before.db")
    _sentence(live("checkpoint", code=None, preexec_fn=limited), 4, "the disk is full")
    assert canonical(live.layout.data) == canonical(live.root.parent / "before.db")
    live("checkpoint")
    assert live.rows("SELECT count(*) FROM sessions") == [[1]]


def test_a_transcript_that_may_not_be_read_costs_itself_only(live: Live, home: Path) -> None:
    native = worked(home, live.root, "one")
    hidden = ClaudeSession(home, live.root, "two").human("Nobody may read this")
    hidden.path.chmod(0)
    said = json.loads(live("checkpoint", "--json", preexec_fn=_bound_by_modes).out)["warnings"]
    assert len(said) == 1
    assert "Permission denied" in said[0]
    assert live.rows("SELECT native_id FROM sessions") == [[native]]
    hidden.path.chmod(0o600)
    live("checkpoint")
    assert len(live.rows("SELECT native_id FROM sessions")) == 2
