"""Every verb, in a clone that brings modules, programs, hooks, settings and stores: none is run or obeyed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rekal.cli.verb_table import VERBS
from tests.conftest import git
from tests.support.installed_rekal import REKAL, Live, worked

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

# What Python would import from the work tree: its own modules that we use, those of our dependencies, and ours.
MODULES = sorted(
    {name for name in sys.stdlib_module_names if not name.startswith("_")}
    | {"click", "duckdb", "msgspec", "numpy", "regex", "yaml", "zstandard", "mcp", "anyio", "jsonschema", "starlette"}
    | {"uvicorn", "jinja2", "xllamacpp", "llama_cpp", "sitecustomize", "usercustomize", "rekal", "pydantic", "httpx"}
)
PROGRAMS = ("git", "rekal", "python", "python3", "sh", "flock", "ssh", "gpg", "less", "more", "env", "cat", "timeout")
# "flock" and its like, found by a hook; with an empty entry the work tree is searched as well.
PATHS = ("", ".", "bin", "./bin")
HOOKS = (
    "post-commit",
    "post-merge",
    "post-checkout",
    "post-rewrite",
    "pre-push",
    "prepare-commit-msg",
    "reference-transaction",
)
CONFIG = """\
transport: {remote: evil, push: true}
share: {remotes: [evil]}
embed: {engine: http, endpoint: "http://127.0.0.1:9/v1", model: evil}
scrub: {email: keep, ip: keep, enabled: false, allow: [".*"]}
capture: {tool_output: all}
recall: {strictness: 0, daemon: "on"}
"""
# Words that a verb needs to get as far as its work.
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "recall": ("why is the retry queue in postgres",),
    "show": ("HEAD",),
    "find": ("queue",),
    "why": ("queue.py:1",),
    "report": ("HEAD~1..HEAD",),
    "query": ("SELECT * FROM sessions",),
    "remember": ("The queue has one lock",),
    "decide": ("The queue stays in postgres", "--because", "it locks"),
    "rule-out": ("Redis for the queue", "--because", "it loses"),
    "check": ("use Redis",),
    "history": ("0123456789",),
    "link": ("0123456789", "related_to", "0123456789"),
    "supersede": ("0123456789", "another"),
    "import": ("queue.py",),
    "ingest": (".",),
    "hook": ("claude", "start"),
    "completion": ("bash",),
    "share": ("origin",),
    "forget": ("--yes", "--text", "nothing has these words"),
    "scrub": ("--store",),
    "web": ("--port", "0"),
    "daemon": ("--status",),
    "clean": ("--dry-run",),
    "doctor": (),
}


class Trap:
    """A directory of marks: whatever runs that should not leaves its name there."""

    def __init__(self, marks: Path) -> None:
        self.marks = marks
        marks.mkdir()

    def module(self, name: str) -> str:
        return f"open({str(self.marks)!r} + '/module-{name}', 'w').close()\n"

    def program(self, name: str) -> str:
        return f"#!/bin/sh\n: > '{self.marks}/{name}'\nexit 1\n"

    def take(self) -> list[str]:
        found = sorted(path.name for path in self.marks.iterdir())
        for name in found:
            (self.marks / name).unlink()
        return found


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def _fill(root: Path, trap: Trap) -> None:
    """What a hostile repository can have in its commits, but for `.rekal`."""
    for name in MODULES:
        _write(root / f"{name}.py", trap.module(name))
        _write(root / "src" / name / "__init__.py", trap.module(f"{name}-package"))
    for name in PROGRAMS:
        for folder in ("", "bin"):
            _write(root / folder / name, trap.program(f"program-{folder}-{name}"), 0o755)
    for name in HOOKS:
        for folder in ("hooks", ".githooks", ".husky", ".husky/_"):
            _write(root / folder / name, trap.program(f"hook-{name}"), 0o755)
    _write(root / ".gitattributes", "* filter=evil diff=evil merge=evil working-tree-encoding=UTF-8 ident\n")
    settings = f"[alias]\n\tlog = !touch {trap.marks}/alias\n[core]\n\tfsmonitor = touch {trap.marks}/fsmonitor\n"
    _write(root / ".gitconfig", settings + f"\tpager = touch {trap.marks}/pager\n\thooksPath = .githooks\n")
    _write(root / "config", settings)
    _write(root / ".git-blame-ignore-revs", "HEAD\n--output=x\n")
    _write(root / ".env", f"REKAL_EMBED_ENGINE=http\nGIT_SSH_COMMAND=touch {trap.marks}/env\n")
    _write(root / "pyvenv.cfg", "home = .\n")


def _fill_store(root: Path, trap: Trap, whole: bool) -> None:
    """A `.rekal` in the commits: only the settings that may be there, or all that was ever kept there."""
    _write(root / ".rekal/config.yml", CONFIG)
    if not whole:
        return
    for name in ("data.db", "index.db", "run/salt", "run/manifest.json", "manifest.json", "salt", "run/lock"):
        _write(root / ".rekal" / name, '{"files": ["../../outside"]}\n')
    _write(root / ".rekal/run/spool/1.json", '{"kind": "commit"}')
    _write(root / ".rekal/hooks/post-commit", trap.program("rekal-hook"), 0o755)
    (root / ".rekal/vectors").symlink_to(trap.marks.parent)


@pytest.fixture(params=["settings", "whole"])
def clone(request: pytest.FixtureRequest, tmp_path: Path, repo: Path, home: Path) -> tuple[Live, Trap]:
    trap = Trap(tmp_path / "marks")
    _fill(repo, trap)
    _fill_store(repo, trap, request.param == "whole")
    git(repo, "add", "-A", "-f")
    git(repo, "commit", "-q", "-m", "hostile")
    git(tmp_path, "clone", "-q", "--bare", str(repo), "remote.git")
    root = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "remote.git", str(root))
    # Drivers that the user has for other repositories, which `.gitattributes` chooses here.
    for key in ("diff.evil.command", "diff.evil.textconv", "merge.evil.driver"):
        git(root, "config", "--global", key, f"touch {trap.marks}/{key};:")
    return Live(root), trap


def _run(live: Live, *words: str) -> None:
    """Run a verb as somebody with a careless PATH does; whatever it answers, it ends or is ended."""
    env = {**os.environ, "PATH": os.pathsep.join([*PATHS, os.environ["PATH"]]), "PYTHONPATH": ""}
    with subprocess.Popen(
        [REKAL, *words], cwd=live.root, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            output, _ = process.communicate(timeout=4 if words[0] in ("web", "mcp") else 60)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            assert words[0] in ("web", "mcp"), (words, output)
    assert "Traceback" not in output, (words, output)
    assert "unexpected error" not in output, (words, output)


def test_the_traps_work(clone: tuple[Live, Trap]) -> None:
    live, trap = clone
    # Many of these modules are broken when they are ours: what counts is that the work tree's were run.
    subprocess.run([sys.executable, "-c", "import click"], cwd=live.root, check=False, capture_output=True, timeout=60)
    assert [name for name in trap.take() if name.startswith("module-")]
    env = {**os.environ, "PATH": f".{os.pathsep}{os.environ['PATH']}"}
    shell = shutil.which("sh") or "/bin/sh"
    subprocess.run([shell, "-c", "git status; ssh"], cwd=live.root, env=env, check=False, timeout=60)
    assert trap.take() == ["program--git", "program--ssh"]
    live.git("--no-pager", "show", "--ext-diff", "--textconv", "HEAD", "--", "git.py")
    (live.root / "README.md").write_text("changed\n")
    live.git("diff", "--", "README.md")
    assert [name for name in trap.take() if name.startswith("diff.")]


def test_no_verb_runs_or_obeys_what_the_clone_brought(clone: tuple[Live, Trap], home: Path) -> None:
    live, trap = clone
    outside = {path: path.lstat().st_mtime_ns for path in (trap.marks.parent,)}
    _run(live, "init", "--backfill", "0")
    worked(home, live.root, "one")
    live.git("commit", "-q", "--allow-empty", "-m", "x")
    ran = {}
    for verb in [*(name for name in VERBS if name != "clean"), "clean"]:
        for words in dict.fromkeys([(verb,), (verb, *ARGUMENTS.get(verb, ()))]):
            _run(live, *words)
            if found := trap.take():
                ran[words] = found
    assert ran == {}
    assert set(outside) == {trap.marks.parent}
    assert not (trap.marks.parent / "outside").exists()
    refs = git(trap.marks.parent / "remote.git", "for-each-ref", "--format=%(refname)").split()
    assert not [ref for ref in refs if "evil" in ref]


def test_no_hook_of_git_runs_or_obeys_what_the_clone_brought(clone: tuple[Live, Trap], home: Path) -> None:
    live, trap = clone
    _run(live, "init", "--backfill", "0")
    trap.take()
    real = shutil.which("git")
    assert real
    env = {**os.environ, "PATH": os.pathsep.join([*PATHS, os.environ["PATH"]])}
    for number, words in enumerate(
        [("commit", "-q", "--allow-empty", "-m", "x"), ("checkout", "-q", "-b", "other"), ("merge", "-q", "main"),
         ("commit", "-q", "--allow-empty", "--amend", "-m", "y"), ("rebase", "-q", "main"),
         ("push", "-q", "origin", "HEAD:main"), ("fetch", "-q")]
    ):  # fmt: skip
        worked(home, live.root, f"n{number}", f"n{number}.py")
        subprocess.run([real, *words], cwd=live.root, env=env, check=False, timeout=60, capture_output=True)
        # Git itself looks for ssh, gpg and editors in PATH: none is needed here, so that all marks are hooks' doing.
        assert trap.take() == [], words
    _run(live, "_worker")
    assert trap.take() == []
