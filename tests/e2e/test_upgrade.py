"""A store of 0.1.0 that shares is opened, moved once, pushes and receives; teammates on both versions exchange."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

import pytest

from tests.conftest import git
from tests.support.installed_rekal import REKAL, Live, worked

VERSION_0_1_0 = "1d1600d"
OWN = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of 0.1.0, from its commit in our own repository."""
    packed = subprocess.run(
        ["git", "archive", VERSION_0_1_0, "rekal", "hooks"], cwd=OWN, capture_output=True, check=False, timeout=60
    )
    if packed.returncode:
        pytest.skip(f"the commit of 0.1.0, {VERSION_0_1_0}, is not here, as in a shallow clone")
    root = tmp_path_factory.mktemp("older")
    tarfile.open(fileobj=io.BytesIO(packed.stdout)).extractall(root / "tree", filter="data")  # noqa: SIM115
    # An environment of its own, for it starts workers with its own interpreter, and hooks find the command beside that.
    venv.create(root / "env")
    (packages,) = (root / "env").glob("lib/python*/site-packages")
    lines = [str(root / "tree"), *(path for path in sys.path if path.endswith("-packages"))]
    (packages / "older.pth").write_text("\n".join(lines), encoding="utf-8")
    command = root / "env" / "bin" / "rekal"
    command.write_text(f"#!{command.parent}/python\nfrom rekal.__main__ import main\n\nmain()\n", encoding="utf-8")
    command.chmod(0o755)
    return command


class Person:
    """A clone of the remote that one version of the command keeps memory in."""

    def __init__(self, root: Path, remote: Path, name: str, command: Path) -> None:
        self.name, self.command = name, command
        git(root.parent, "clone", "-q", str(remote), str(root))
        git(root, "config", "user.name", name)
        git(root, "config", "user.email", f"{name}@example.com")
        self.live = Live(root)
        self("init", "--backfill", "0", "--hooks-only", "--share", "origin")

    def __call__(self, *args: str) -> str:
        # Found by its hooks, too: they have this path in them.
        done = subprocess.run(
            [self.command, *args], cwd=self.live.root, capture_output=True, text=True, timeout=90, check=False
        )
        assert done.returncode in (0, 1), (self.name, args, done.stdout, done.stderr)
        return done.stdout

    def work(self, home: Path, topic: str) -> None:
        """Have an agent write a file, commit it, and push."""
        worked(home, self.live.root, f"{self.name}-{topic}", f"{topic}.py", f"{topic} = 'by {self.name}'\n")
        self.live.git("pull", "-q", "--rebase", "origin", "main")
        self.live.commit(topic)
        self("checkpoint")
        self.live.git("push", "-q", "origin", "HEAD:main")
        self("push")

    def sessions(self) -> set[str]:
        """The authors' names of the sessions known here."""
        self("sync")
        lines = self("query", "SELECT DISTINCT author_name FROM sessions ORDER BY 1").split("\n")
        return {line for line in lines[1:] if line and line != "(no rows)"}


@pytest.fixture
def remote(repo: Path, tmp_path: Path) -> Path:
    """A bare remote with one commit."""
    path = tmp_path / "remote.git"
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(path))
    return path


@pytest.mark.soak
def test_teammates_on_both_versions_exchange(older: Path, remote: Path, tmp_path: Path, home: Path) -> None:
    ann = Person(tmp_path / "ann", remote, "ann", older)
    vic = Person(tmp_path / "vic", remote, "vic", REKAL)
    ann.work(home, "queue")
    vic.work(home, "cache")
    ann.work(home, "pool")
    assert ann.sessions() == {"ann", "vic"}
    assert vic.sessions() == {"ann", "vic"}


def test_a_store_of_0_1_0_that_shares_goes_on(older: Path, remote: Path, tmp_path: Path, home: Path) -> None:
    ann = Person(tmp_path / "ann", remote, "ann", older)
    mel = Person(tmp_path / "mel", remote, "mel", older)
    ann.work(home, "queue")
    mel.work(home, "cache")
    assert ann.sessions() == {"ann", "mel"}
    run = ann.live.root / ".rekal" / "run"
    salt = (run / "salt").read_bytes()
    refs = git(remote, "for-each-ref", "--format=%(refname)", "refs/rekal").split()
    before = ann("query", "SELECT * FROM sessions ORDER BY id")
    ann.command = REKAL

    for _ in range(2):
        assert "ann" in ann("status")
    assert ann("query", "SELECT * FROM sessions ORDER BY id") == before
    private = ann.live.root / ".git" / "rekal"
    assert not run.exists()
    assert (private / "salt").read_bytes() == salt
    assert os.path.samestat((private / "data.db").stat(), (ann.live.root / ".rekal" / "data.db").stat())

    ann("init", "--hooks-only", "--backfill", "0")
    ann.work(home, "pool")
    assert git(remote, "for-each-ref", "--format=%(refname)", "refs/rekal").split() == refs  # no second clone id
    mel.work(home, "ring")
    for who in (ann, mel):
        assert who.sessions() == {"ann", "mel"}
        count = who("query", "SELECT count(*) FROM sessions").split("\n")[1]
        assert count == "4", who.name
    ann.live.settle()
