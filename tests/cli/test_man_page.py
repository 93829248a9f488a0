"""The manual page has every verb and option, is roff that man accepts, and git finds it by its name."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import click
import pytest

from rekal.cli.main import Verbs, root_command
from rekal.cli.verb_table import HIDDEN, VERBS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "man" / "git-rekal.1"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The pages where a wheel puts them, with man told to look there."""
    if not shutil.which("man"):
        pytest.skip("man is not on this machine")
    folder = tmp_path / "share" / "man" / "man1"
    shutil.copytree(ROOT / "man", folder)
    monkeypatch.setenv("MANPATH", str(folder.parent))
    # git takes a name for one of its commands where a program stands for it.
    program = tmp_path / "bin" / "git-rekal"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 9\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return folder


def run(*words: str) -> str:
    env = {**os.environ, "PAGER": "cat", "MANPAGER": "cat", "GIT_PAGER": "cat", "MANWIDTH": "100", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(words, capture_output=True, text=True, env=env, timeout=60, check=True)
    assert done.stderr == ""
    return done.stdout


def test_a_wheel_brings_the_pages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    shared = project["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert shared == {"man": "share/man/man1"}
    assert (ROOT / "man" / "rekal.1").read_text("utf-8") == ".so man1/git-rekal.1\n"


def test_every_verb_and_option_stands_in_the_page() -> None:
    text = PAGE.read_text("utf-8").replace("\\-", "-")
    assert isinstance(root_command, Verbs)
    for name in sorted(set(VERBS) - HIDDEN):
        assert f".SS rekal {name}" in text
        command = root_command.get_command(click.Context(root_command), name)
        assert command is not None
        for option in (o for p in command.params if isinstance(p, click.Option) and not p.hidden for o in p.opts):
            assert option in text, (name, option)


def test_man_takes_it_without_a_warning(installed: Path) -> None:
    assert "memory for coding agents" in run("man", "--warnings", "-l", str(installed / "git-rekal.1"))


@pytest.mark.parametrize("words", [("man", "rekal"), ("man", "git-rekal"), ("git", "help", "rekal")])
def test_it_is_found_by_its_names(installed: Path, words: tuple[str, ...]) -> None:
    assert "rekal doctor [OPTIONS]" in run(*words)


def test_git_shows_it_for_git_rekal_help(installed: Path) -> None:
    assert "rekal doctor [OPTIONS]" in run("git", "rekal", "--help")
