"""The user's push to hosts of every kind ends as it would without us, and memory goes nowhere it may not."""

from __future__ import annotations

import errno
import io
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import git
from tests.support.app import Ran, Rekal
from tests.support.git_hosts import Host, black_hole, hosting
from tests.support.installed_rekal import Live, worked
from tests.transport.test_push import on, session

NO_ANSWER = re.compile(
    r"rekal: memory was not sent \(git push did not answer within [01]\.\d s\); it goes with the next push\n"
)
REJECTED = "hint: Updates were rejected"


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    """A host with an empty repository ``app.git``."""
    folder = tmp_path / "host"
    folder.mkdir()
    bare(folder / "app.git")
    with hosting(folder) as host:
        yield host


def bare(path: Path) -> Path:
    """An empty repository that takes pushes."""
    git(path.parent, "init", "-q", "--bare", "-b", "main", str(path))
    git(path, "config", "http.receivepack", "true")
    return path


@pytest.fixture
def sharing(rekal: Rekal, host: Host, monkeypatch: pytest.MonkeyPatch) -> Rekal:
    """A repository with one session whose commit is about to be pushed to the host."""
    monkeypatch.setattr("rekal.transport.push.HOOK_SECONDS", 1.0)
    git(rekal.root, "remote", "add", "origin", host.url("app.git"))
    assert rekal("share", "origin").code == 0
    session(rekal, "queue")
    host.asked.clear()
    return rekal


def hook(rekal: Rekal, monkeypatch: pytest.MonkeyPatch, remote: str = "origin", url: str | None = None) -> Ran:
    """What the pre-push hook runs, for a push of main."""
    head = git(rekal.root, "rev-parse", "HEAD").strip()
    monkeypatch.setattr("sys.stdin", io.StringIO(f"refs/heads/main {head} refs/heads/main {'0' * 40}\n"))
    url = url or git(rekal.root, "remote", "get-url", remote).strip()
    ran = rekal("push", "--hook", remote, url)
    assert ran.code == 0
    return ran


def stuck(path: Path, noted: Path) -> Path:
    """A program that notes its arguments and waits for a pipe that nobody writes."""
    pipe = path.with_suffix(".pipe")
    os.mkfifo(pipe)
    path.write_text(f'#!/bin/sh\necho "$@" >> {noted}\nexec cat {pipe}\n', encoding="utf-8")
    path.chmod(0o755)
    return pipe


def nobody_reads(pipe: Path) -> bool:
    """Whether no process waits for the pipe."""
    try:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    except OSError as error:
        return error.errno == errno.ENXIO
    return False


def test_memory_goes_with_the_first_push_to_an_empty_host(
    sharing: Rekal, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hook(sharing, monkeypatch).err == ""
    assert len(on(host.root / "app.git")) == 1
    assert git(host.root / "app.git", "symbolic-ref", "HEAD").strip() == "refs/heads/main"


@pytest.mark.parametrize("drips", [False, True], ids=["silent", "slow"])
def test_a_host_that_does_not_answer_costs_the_deadline(
    sharing: Rekal, host: Host, monkeypatch: pytest.MonkeyPatch, drips: bool
) -> None:
    host.silent, host.drips = range(1, 99), drips

    ran = hook(sharing, monkeypatch)

    assert NO_ANSWER.fullmatch(ran.err)
    assert host.left.wait(10)  # no process of ours holds the connection
    assert on(host.root / "app.git") == []
    host.silent = ()
    assert hook(sharing, monkeypatch).err == ""
    assert len(on(host.root / "app.git")) == 1


def test_a_port_that_answers_nothing_costs_the_deadline(sharing: Rekal, monkeypatch: pytest.MonkeyPatch) -> None:
    with black_hole() as url:
        git(sharing.root, "remote", "set-url", "origin", url)
        monkeypatch.setattr("rekal.app.share._default_branch", lambda app, remote: "main")
        assert sharing("share", "origin").code == 0
        assert NO_ANSWER.fullmatch(hook(sharing, monkeypatch).err)


def test_a_helper_that_would_prompt_is_ended_and_nothing_asks(
    sharing: Rekal, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.private = True
    helped, asked = tmp_path / "helped", tmp_path / "asked"
    pipe = stuck(tmp_path / "helper", helped)
    stuck(tmp_path / "askpass", asked)
    git(sharing.root, "config", "credential.helper", str(tmp_path / "helper"))
    git(sharing.root, "config", "core.askPass", str(tmp_path / "askpass"))
    monkeypatch.setenv("GIT_ASKPASS", str(tmp_path / "askpass"))
    monkeypatch.setenv("SSH_ASKPASS", str(tmp_path / "askpass"))

    ran = hook(sharing, monkeypatch)

    assert NO_ANSWER.fullmatch(ran.err)
    assert helped.read_text("utf-8") == "get\n"
    assert nobody_reads(pipe)
    assert not asked.exists()
    assert on(host.root / "app.git") == []


def test_without_a_helper_a_private_host_refuses_and_nothing_asks(
    sharing: Rekal, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.private = True
    stuck(tmp_path / "askpass", tmp_path / "asked")
    git(sharing.root, "config", "core.askPass", str(tmp_path / "askpass"))

    ran = hook(sharing, monkeypatch)

    assert ran.err.startswith("rekal: memory was not sent (git push failed:")
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "asked").exists()


def test_a_helper_that_knows_lets_memory_through(sharing: Rekal, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.private = True
    git(sharing.root, "config", "credential.helper", "!f() { echo username=dev; echo password=right; }; f")

    assert hook(sharing, monkeypatch).err == ""
    assert len(on(host.root / "app.git")) == 1


def test_an_ssh_that_would_ask_is_told_not_to_and_ended(
    sharing: Rekal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = stuck(tmp_path / "ssh", tmp_path / "called")
    monkeypatch.setattr("rekal.app.share._default_branch", lambda app, remote: "main")
    git(sharing.root, "remote", "set-url", "origin", "ssh://host.invalid/app.git")
    assert sharing("share", "origin").code == 0
    monkeypatch.setenv("GIT_SSH_COMMAND", str(tmp_path / "ssh"))
    monkeypatch.setenv("GIT_SSH_VARIANT", "ssh")

    assert NO_ANSWER.fullmatch(hook(sharing, monkeypatch).err)
    assert "-o BatchMode=yes" in (tmp_path / "called").read_text("utf-8")
    assert nobody_reads(pipe)


@pytest.mark.parametrize("case", ["renamed", "deleted", "fork", "raw URL of the same place"])
def test_memory_goes_to_the_allowed_name_at_its_place_only(
    sharing: Rekal, host: Host, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare(host.root / "fork.git")
    root, url = sharing.root, host.url("app.git")
    name = {"renamed": "upstream", "deleted": "gone", "fork": "fork", "raw URL of the same place": url}[case]
    if case == "renamed":
        git(root, "remote", "rename", "origin", "upstream")
    elif case == "deleted":
        git(root, "remote", "remove", "origin")
        git(root, "remote", "add", "gone", url)
    elif case == "fork":
        url = host.url("fork.git")
        git(root, "remote", "add", "fork", url)

    ran = hook(sharing, monkeypatch, name, url)

    assert ran.err.count("\n") == 1
    assert host.asked == []
    assert on(host.root / "app.git") == on(host.root / "fork.git") == []


@pytest.fixture
def pushing(live: Live, home: Path, host: Host) -> Live:
    """A repository with hooks, sharing with the host on, and a captured commit that is not pushed."""
    live.git("remote", "add", "origin", host.url("app.git"))
    live("share", "origin")
    worked(home, live.root, "one")
    live.commit("Add the queue")
    live.settle()
    host.asked.clear()
    return live


def pushed(root: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """The user's `git push`, whatever comes of it."""
    command = ["git", *args, "push", "origin", "main"]
    return subprocess.run(
        command, cwd=root, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=False
    )


def test_the_users_push_ends_as_without_us_and_memory_follows_it(pushing: Live, host: Host) -> None:
    app, away = host.root / "app.git", host.root / "away.git"
    plain = ("-c", "core.hooksPath=/dev/null")

    host.private = True
    assert pushed(pushing.root, *plain).returncode == pushed(pushing.root).returncode == 128
    host.private = False
    app.rename(away)
    assert pushed(pushing.root, *plain).returncode == pushed(pushing.root).returncode == 128
    away.rename(app)
    assert on(app) == []

    # Git asks the host, runs the hook, whose question is never answered, and then sends.
    host.asked.clear()
    host.silent = {2}
    done = pushed(pushing.root)
    assert (done.returncode, "memory was not sent" in done.stderr) == (0, True)
    assert host.left.wait(10)
    assert git(app, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/main"]

    pushing.commit("Nothing of an agent's", "--allow-empty")
    assert pushed(pushing.root).returncode == 0
    assert len(on(app)) == 1

    pushing.git("reset", "-q", "--hard", "HEAD~1")
    pushing.commit("Another history", "--allow-empty")
    refused, plainly = pushed(pushing.root), pushed(pushing.root, *plain)
    assert refused.returncode == plainly.returncode == 1
    assert REJECTED in refused.stderr
