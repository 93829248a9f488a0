"""No setting of the user or the repository changes what rekal reads from git, or makes git run something."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from rekal.errors import GitError
from rekal.git import Repo, find_repo, limit_time
from rekal.git.patch_ids import compute_patch_ids
from rekal.git.repo import measure_objects, read_objects
from rekal.why.blame import blame_file
from tests.conftest import git

HOSTILE = {
    "color.ui": "always",
    "core.quotePath": "true",
    "diff.algorithm": "patience",
    "diff.context": "9",
    "diff.mnemonicPrefix": "true",
    "diff.noprefix": "true",
    "i18n.logOutputEncoding": "ISO-8859-1",
    "log.showSignature": "true",
}


def facts(repo: Repo) -> list[object]:
    """Everything that is read of the history."""
    shas = repo.run("rev-list", "--reverse", "HEAD").split()
    commits = repo.commits(shas)
    lines = [(line.text, line.sha) for line in blame_file(repo, "grüße.txt").lines]
    return [commits, repo.commit("HEAD"), repo.changes(commits), compute_patch_ids(repo, shas), lines]


@pytest.fixture
def history(repo: Path) -> Path:
    for number in range(3):
        text = "".join(f"line {n} of {number if n == 5 else 0}\n" for n in range(12))
        (repo / "grüße.txt").write_text(text, encoding="utf-8")
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "-m", f"Grüße, die {number}.")
    return repo


def test_settings_change_nothing_that_is_read(history: Path) -> None:
    before = facts(find_repo(history))
    for key, value in HOSTILE.items():
        git(history, "config", key, value)

    assert facts(find_repo(history)) == before


def test_nothing_that_settings_name_is_run(history: Path, tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{trace}'\n", encoding="ascii")
    program.chmod(0o755)
    hooks = history / ".git" / "hooks"
    for name in ("reference-transaction", "post-index-change"):
        (hooks / name).write_bytes(program.read_bytes())
        (hooks / name).chmod(0o755)
    (history / ".gitattributes").write_text("* diff=evil\n", encoding="ascii")
    git(history, "add", ".gitattributes")
    git(history, "commit", "-q", "-m", "drivers")
    drivers = ("diff.evil.command", "diff.evil.textconv")
    for key in ("diff.external", "core.fsmonitor", "core.pager", *drivers):
        git(history, "config", key, str(program))
    trace.unlink(missing_ok=True)
    repo = find_repo(history)

    facts(repo)
    repo.run("update-ref", "refs/rekal/x/0123456789", str(repo.head()))

    assert not trace.exists()


def test_no_read_fetches_what_a_partial_clone_lacks(history: Path, tmp_path: Path) -> None:
    git(history, "config", "uploadpack.allowFilter", "true")
    part = tmp_path / "part"
    git(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{history}", str(part))
    fetches = tmp_path / "fetches"
    wrapper = tmp_path / "upload-pack"
    wrapper.write_text(f"#!/bin/sh\necho x >> '{fetches}'\nexec git-upload-pack \"$@\"\n", encoding="ascii")
    wrapper.chmod(0o755)
    git(part, "config", "remote.origin.uploadpack", str(wrapper))
    repo = find_repo(part)
    shas = repo.run("rev-list", "HEAD").split()
    blob = repo.run("rev-parse", "HEAD:grüße.txt").strip()

    assert measure_objects(repo, [blob, shas[0]]).keys() == {shas[0]}
    assert read_objects(repo, [blob, f"{shas[0]}:grüße.txt", shas[0]]).keys() == {shas[0]}
    assert compute_patch_ids(repo, shas) == {}
    assert [change.path for change in repo.changes(repo.commits(shas[:1]))[shas[0]]] == ["grüße.txt"]
    assert not fetches.exists()


def test_a_damaged_object_costs_itself(history: Path) -> None:
    repo = find_repo(history)
    shas = repo.run("rev-list", "-n3", "HEAD").split()
    blobs = [repo.run("rev-parse", f"{sha}:grüße.txt").strip() for sha in shas]
    loose = history / ".git/objects" / blobs[1][:2] / blobs[1][2:]
    loose.chmod(0o644)
    loose.write_bytes(b"noise")

    assert read_objects(repo, blobs).keys() == {blobs[0], blobs[2]}
    # The change into the damaged version and the change out of it cannot be told any more.
    assert compute_patch_ids(repo, shas).keys() == {shas[2]}


def test_a_damaged_branch_does_not_hide_the_others(history: Path) -> None:
    git(history, "checkout", "-q", "-b", "unrelated")
    git(history, "commit", "-q", "--allow-empty", "-m", "gone")
    sha = git(history, "rev-parse", "HEAD").strip()
    git(history, "commit", "-q", "--allow-empty", "-m", "tip")
    git(history, "checkout", "-q", "main")
    (history / ".git/objects" / sha[:2] / sha[2:]).unlink()
    repo = find_repo(history)
    first = repo.commits(repo.run("rev-list", "main").split()[-1:])[0]

    assert set(repo.run("rev-list", "main").split()) <= set(repo.commits_since(first.committed_at))


def test_no_process_outlives_the_limit_around_it(history: Path, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    signer = tmp_path / "signer"
    signer.write_text(f"#!/bin/sh\necho $$ >> '{pids}'\nexec sleep 60\n", encoding="ascii")
    signer.chmod(0o755)
    git(history, "config", "gpg.program", str(signer))
    repo = find_repo(history)
    tree = repo.run("rev-parse", "HEAD^{tree}").strip()
    begun = time.monotonic()

    with limit_time(0.8), pytest.raises(GitError, match="did not answer"):
        repo.run("commit-tree", tree, "-S", "-m", "x", timeout=60.0)

    assert time.monotonic() - begun < 10
    for pid in pids.read_text("ascii").split():
        state = subprocess.run(["ps", "-o", "stat=", "-p", pid], capture_output=True, text=True, check=False).stdout
        assert state.strip()[:1] in ("", "Z")
