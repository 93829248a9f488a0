"""What a checkout brings under `.rekal` is neither code nor authority, and `git clean -fdx` takes no memory."""

from __future__ import annotations

import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from rekal.app.context import App, check_places
from rekal.errors import Refused
from rekal.files import write_atomically
from rekal.git import find_repo
from rekal.git.run import absolute_entries
from rekal.store import spool
from rekal.store.database import open_database
from rekal.store.guard import keep_second_name, restore_first_name
from rekal.store.layout import Layout
from rekal.store.ledger import open_ledger


def _app(repo: Path) -> App:
    return App(find_repo(repo), repo.parent, {})


def _git(repo: Path, *args: str) -> None:
    subprocess.run(["git", *args], cwd=repo, check=True, capture_output=True, timeout=20)


def _make_store(app: App) -> Layout:
    app.layout.create()
    with open_ledger(app.layout.data, read_only=False, create=True):
        pass
    keep_second_name(app.layout)
    return app.layout


@pytest.mark.parametrize("name", ["data.db", "index.db", "run/config.yml", "vectors/a.vec", "spool/a.json"])
def test_a_tracked_file_is_refused(repo: Path, name: str) -> None:
    path = repo / ".rekal" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x")
    _git(repo, "add", "-f", ".rekal")
    with pytest.raises(Refused, match=f"git tracks .rekal/{name}"):
        check_places(_app(repo))
    assert not (repo / ".git/rekal").exists()


def test_a_tracked_file_is_refused_when_it_comes_later(repo: Path) -> None:
    app = _app(repo)
    layout = _make_store(app)
    check_places(app)
    (layout.directory / "index.db").write_bytes(b"forged")
    _git(repo, "add", "-f", ".rekal/index.db")
    with pytest.raises(Refused, match="git tracks"):
        check_places(app)


def test_shared_settings_may_be_tracked(repo: Path) -> None:
    (repo / ".rekal").mkdir()
    (repo / ".rekal/config.yml").write_text("enabled: true\n", "utf-8")
    _git(repo, "add", "-f", ".rekal")
    check_places(_app(repo))


@pytest.mark.parametrize("name", [".rekal", ".rekal/data.db", ".rekal/vectors", ".rekal/run", ".rekal/README"])
def test_a_link_is_refused(repo: Path, name: str) -> None:
    target = repo.parent / "elsewhere"
    target.mkdir()
    (repo / name).parent.mkdir(exist_ok=True)
    (repo / name).symlink_to(target)
    with pytest.raises(Refused, match="is a link"):
        check_places(_app(repo))


def test_a_directory_in_place_of_a_database_is_refused(repo: Path) -> None:
    (repo / ".rekal/index.db").mkdir(parents=True)
    with pytest.raises(Refused, match="is not a file"):
        check_places(_app(repo))


def test_untracked_settings_without_a_proof_in_the_git_directory_are_not_taken(repo: Path) -> None:
    run = repo / ".rekal/run"
    run.mkdir(parents=True)
    (run / "config.yml").write_text('{"transport": {"share": "full"}}', "utf-8")
    (repo / ".git/info").mkdir(exist_ok=True)
    (repo / ".git/info/exclude").write_text("", "utf-8")
    app = _app(repo)
    check_places(app)
    assert app.config.transport.share == "none"


def test_a_store_of_0_1_0_is_moved_once(repo: Path) -> None:
    run, old_spool = repo / ".rekal/run", repo / ".rekal/spool"
    (run / "leases").mkdir(parents=True)
    old_spool.mkdir()
    (run / "config.yml").write_text('{"transport": {"share": "full"}}', "utf-8")
    (run / "salt").write_text("5a" * 16, "utf-8")
    (run / "leases/origin").write_text("1" * 40, "utf-8")
    spool.put_event(old_spool, spool.CommitEvent("1" * 40))
    (repo / ".git/info").mkdir(exist_ok=True)
    (repo / ".git/info/exclude").write_text("# >>> managed by rekal\n/.rekal/*\n# <<< managed by rekal\n", "utf-8")
    # A move that was cut short has left the salt in its new place.
    (repo / ".git/rekal").mkdir()
    shutil.move(run / "salt", repo / ".git/rekal/salt")

    for _ in range(2):
        app = _app(repo)
        check_places(app)
        assert app.config.transport.share == "full"
        assert (repo / ".git/rekal/salt").read_text("utf-8") == "5a" * 16
        assert (repo / ".git/rekal/leases/origin").read_text("utf-8") == "1" * 40
        assert len(spool.read_spooled(app.layout.spool).events) == 1
        assert not run.exists()
        assert not old_spool.exists()


def test_the_only_copy_outlives_git_clean(repo: Path) -> None:
    layout = _make_store(_app(repo))
    before = layout.data.read_bytes()
    _git(repo, "clean", "-fdxq")
    assert not layout.directory.exists()
    assert restore_first_name(layout)
    assert layout.data.read_bytes() == before
    assert "put back" in layout.log.read_text("utf-8")
    assert not restore_first_name(layout)


def test_the_second_name_follows_a_file_that_was_replaced(repo: Path) -> None:
    layout = _make_store(_app(repo))
    write_atomically(layout.data, b"another")
    keep_second_name(layout)
    assert layout.second.read_bytes() == b"another"
    assert [p.name for p in layout.run.iterdir() if p.name.startswith(".")] == []


def test_nobody_else_gets_into_the_store(repo: Path) -> None:
    layout = _make_store(_app(repo))
    for directory in (layout.directory, layout.run, layout.spool):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_a_connection_reads_no_file_elsewhere(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("private", "utf-8")
    (tmp_path / "store").mkdir()
    con = open_database(tmp_path / "store/a.db", read_only=False)
    with pytest.raises(Exception, match="disabled by configuration"):
        con.execute(f"SELECT content FROM read_text('{secret}')")
    con.close()


def test_relative_entries_of_path_are_left_out() -> None:
    assert absolute_entries(".::bin:/usr/bin:./x:/bin") == "/usr/bin:/bin"
