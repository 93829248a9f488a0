"""The hooks as shell programs: every POSIX shell at hand, odd paths, exit codes, an rekal that hangs or is gone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from rekal.install import hooks
from tests.install.install_support import Stub, events, git, script

SHELLS = [
    s for s in (["dash"], ["bash", "--posix"], ["busybox", "sh"], ["zsh", "--emulate", "sh"]) if shutil.which(s[0])
]
SHA = "5d" * 20


@pytest.fixture(params=SHELLS, ids=lambda shell: shell[0])
def shell(request: pytest.FixtureRequest) -> list[str]:
    found: list[str] = request.param
    return found


def initialised(root: Path, stub: Stub, foreign: str | None = None, name: str = "pre-push") -> Path:
    """A hook in a repository with a store; the place of the hook."""
    (root / ".git/rekal/spool").mkdir(parents=True)
    hook = root / ".git/hooks" / name
    chained = hook.with_name(f"{name}.rekal-chained")
    if foreign:
        script(chained, foreign)
    script(hook, hooks.render_hook(name, stub.path, chained).decode())
    return hook


def run(
    shell: list[str], hook: Path, *args: str, stdin: str = "", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a hook as git does: in the work tree's root."""
    return subprocess.run(
        [*shell, str(hook), *args],
        cwd=hook.parents[2],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **(env or {})},
        check=False,
    )


@pytest.mark.parametrize("folder", ["plain", 'it\'s "x"', "back\\slash", "tab\there", "naïve 日本", "a\x01b"])
def test_a_commit_in_any_directory_is_one_event(shell: list[str], folder: str, tmp_path: Path, stub: Stub) -> None:
    root = tmp_path / folder
    root.mkdir()
    git(root, "init", "-q")
    git(root, "commit", "-q", "--allow-empty", "-m", "x")
    hook = initialised(root, stub, name="post-commit")
    done = run(shell, hook)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (event,) = events(root)
    sha = git(root, "rev-parse", "HEAD").strip()
    assert event | {"at": 0} == {"kind": "commit", "sha": sha, "git_dir": str(root / ".git"), "at": 0}
    stub.calls(1)


@pytest.mark.parametrize("how", ["packed", "detached", "symbolic"])
def test_head_is_read_wherever_git_keeps_it(shell: list[str], how: str, repo: Path, stub: Stub) -> None:
    if how == "packed":
        git(repo, "pack-refs", "--all")
    elif how == "detached":
        git(repo, "checkout", "-q", "--detach")
    else:
        git(repo, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
        git(repo, "symbolic-ref", "HEAD", "refs/heads/alias")
    run(shell, initialised(repo, stub, name="post-commit"))
    assert events(repo)[0]["sha"] == git(repo, "rev-parse", "HEAD").strip()
    stub.calls(1)


def test_nothing_is_done_when_switched_off(shell: list[str], repo: Path, stub: Stub) -> None:
    hook = initialised(repo, stub, name="post-commit")
    run(shell, hook, env={"REKAL_INTERNAL": "1"})
    (repo / ".git/rekal/disabled").touch()
    run(shell, hook)
    assert events(repo) == []
    shutil.rmtree(repo / ".git/rekal")
    assert run(shell, hook).returncode == 0
    assert not (repo / ".rekal").exists()


def test_an_event_is_kept_when_rekal_is_gone(shell: list[str], repo: Path, stub: Stub) -> None:
    hook = initialised(repo, stub, name="post-commit")
    stub.path.unlink()
    done = run(shell, hook, env={"PATH": "/usr/bin:/bin"})
    assert (done.returncode, done.stderr, len(events(repo))) == (0, "", 1)


def test_rekal_is_found_elsewhere_when_it_moved(shell: list[str], repo: Path, stub: Stub) -> None:
    hook = initialised(repo, stub, name="post-commit")
    home = Path(os.environ["HOME"])
    (home / ".local/bin").mkdir(parents=True)
    stub.path.rename(home / ".local/bin/rekal")
    run(shell, hook, env={"PATH": "/usr/bin:/bin"})
    stub.calls(1)


def test_a_spool_that_cannot_be_written_is_not_the_commit_s_trouble(shell: list[str], repo: Path, stub: Stub) -> None:
    hook = initialised(repo, stub, name="post-commit")
    fake = repo.parent / "bin"
    script(fake / "mv", "#!/bin/sh\nexit 1\n")
    done = run(shell, hook, env={"PATH": f"{fake}:{os.environ['PATH']}"})
    assert (done.returncode, done.stderr) == (0, "")
    stub.calls(1)


def test_rewrites_are_pairs_and_anything_else_is_passed_over(shell: list[str], repo: Path, stub: Stub) -> None:
    hook = initialised(repo, stub, name="post-rewrite")
    other = "ab" * 20
    run(shell, hook, "rebase", stdin=f"{SHA} {other}\nnot a pair\n{other} {SHA} extra words\n\n{SHA}\n")
    (event,) = events(repo, "rewrite")
    assert (event["how"], event["pairs"]) == ("rebase", [[SHA, other], [other, SHA]])
    stub.calls(1)


@pytest.mark.parametrize("name", ["post-commit", "post-merge", "post-rewrite", "pre-push"])
@pytest.mark.parametrize("shebang", ["#!/bin/sh", "#!/usr/bin/env bash", "", "#!/usr/bin/env -S python3"])
@pytest.mark.parametrize("store", ["on", "sharing", "absent"])
def test_the_foreign_exit_code_is_the_hook_s(
    shell: list[str], name: str, shebang: str, store: str, repo: Path, stub: Stub
) -> None:
    foreign = f"{shebang}\nexit 7\n" if "python" not in shebang else f"{shebang}\nraise SystemExit(7)\n"
    hook = initialised(repo, stub, foreign, name)
    if store == "sharing":
        (repo / ".git/rekal/share-on").touch()
    elif store == "absent":
        shutil.rmtree(repo / ".git/rekal")
    stub.path.unlink() if name != "pre-push" else None
    assert run(shell, hook, "a", "b", stdin=f"{SHA} {SHA}\n", env={"PATH": "/usr/bin:/bin"}).returncode == 7
    assert not stub.stdin.exists(), "a refused push carries nothing"


@pytest.mark.parametrize("shebang", ["#!/bin/sh -e", "#!/bin/sh\nset -e", "#!/usr/bin/env bash\nset -e"])
def test_a_foreign_hook_that_stops_at_the_first_error_still_does(
    shell: list[str], shebang: str, repo: Path, stub: Stub
) -> None:
    hook = initialised(repo, stub, f"{shebang}\nfalse\nexit 0\n")
    (repo / ".git/rekal/share-on").touch()
    assert run(shell, hook, "a", "b").returncode == 1


@pytest.mark.parametrize("stdin", ["", f"refs/heads/x {SHA} refs/heads/x {SHA}\n", "no end", "two\n\n\n"])
def test_both_read_the_same_bytes(shell: list[str], stdin: str, repo: Path, stub: Stub) -> None:
    copy = repo.parent / "copy"
    hook = initialised(repo, stub, f'#!/bin/sh\ncat > "{copy}"\n')
    (repo / ".git/rekal/share-on").touch()
    assert run(shell, hook, "origin", "url", stdin=stdin).returncode == 0
    stub.calls(1)
    assert copy.read_text("utf-8") == stub.stdin.read_text("utf-8") == stdin


@pytest.mark.parametrize("with_timeout", [True, False])
def test_a_push_never_fails_and_never_waits_long_for_us(
    shell: list[str], with_timeout: bool, repo: Path, stub: Stub
) -> None:
    hook = initialised(repo, stub)
    (repo / ".git/rekal/share-on").touch()
    script(stub.path, f'#!/bin/sh\necho "$$" > "{stub.stdin}"\ncat > /dev/null\nexec tail -f /dev/null\n')
    text = hook.read_text("utf-8").replace("rekal_limit=5", "rekal_limit=0.2")
    script(hook, text if with_timeout else text.replace("command -v timeout", "command -v no-such-command"))
    assert run(shell, hook, "origin", "url", stdin="x\n").returncode == 0
    with pytest.raises(ProcessLookupError):
        os.kill(int(stub.stdin.read_text("utf-8")), signal.SIGKILL)


@pytest.mark.parametrize("flags", [[], ["-e"]], ids=["plain", "as husky runs it"])
def test_rekal_s_failure_is_not_the_push_s(shell: list[str], flags: list[str], repo: Path, stub: Stub) -> None:
    hook = initialised(repo, stub)
    (repo / ".git/rekal/share-on").touch()
    script(stub.path, "#!/bin/sh\necho 'rekal: not sent' >&2\nexit 5\n")
    done = run([*shell, *flags], hook, "origin", "url")
    assert (done.returncode, done.stderr) == (0, "rekal: not sent\n")


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="looks into /proc")
def test_the_worker_has_a_session_and_no_file_of_the_caller(repo: Path, stub: Stub) -> None:
    hook = initialised(repo, stub, name="post-commit")
    facts = repo.parent / "facts"
    look = f'#!/bin/sh\n{{ ps -o sid= -p $$; for fd in /proc/$$/fd/*; do readlink "$fd"; done; }} > "{facts}"\n'
    script(stub.path, look + stub.path.read_text("utf-8"))
    held = repo.parent / "held"
    subprocess.run(["sh", "-c", 'exec sh "$1" 9> "$2" 3> "$2"', "sh", hook, held], cwd=repo, check=True, timeout=60)
    stub.calls(1)
    session, *opened = facts.read_text("utf-8").split()
    assert session != f"{os.getsid(0)}"
    assert str(repo / ".git/rekal/worker.log") in opened
    assert str(held) not in opened


def test_templates_are_short_and_whole(tmp_path: Path) -> None:
    for name in ("post-commit", "post-merge", "post-rewrite", "pre-push"):
        text = hooks.render_hook(name, Path("/opt/rekal"), tmp_path / "none").decode()
        assert "@" not in text.replace('"$@"', "")
        assert json.dumps("/opt/rekal").strip('"') in text
