"""Every verb in a work tree full of modules, programs, settings and hooks that want to be run: none of it is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rekal.cli.verb_table import VERBS
from tests.conftest import git
from tests.support.installed_rekal import REKAL, Live, worked

MODULES = """_duckdb abc ast base64 click codecs collections contextlib datetime duckdb encodings enum functools git
    hashlib importlib io json llama_cpp logging mcp msgspec numpy openai os pathlib platformdirs pydoc random re regex
    rekal shutil signal sitecustomize socket sqlite3 ssl starlette Stemmer string struct subprocess tempfile threading
    types typing usercustomize uvicorn warnings xllamacpp yaml zstandard""".split()  # noqa: SIM905 - reads as one list
PROGRAMS = """bash cat clang editor env gh git git-rekal git-remote-https gpg gpgsm less man more nice open pager python
    python3 rekal sensible-pager sh ssh ssh-keygen vi vim xdg-open""".split()  # noqa: SIM905
# Words after the verb; a verb without an entry is run alone. What does not end by itself is stopped.
WORDS = {
    "import": ["server-memory", "notes.jsonl"],
    "export": ["memories", "--out", "-"],
    "completion": ["bash"],
    "help": ["recall"],
    "config": ["recall.strictness"],
    "inject": ["status"],
    "hook": ["claude", "UserPromptSubmit"],
    "recall": ["why should the retry queue live in postgres"],
    "show": ["HEAD"],
    "find": ["postgres"],
    "why": ["queue.py:1"],
    "report": ["HEAD~1..HEAD"],
    "query": ["SELECT * FROM sessions"],
    "ingest": ["notes.md"],
    "remember": ["the retry queue lives in postgres"],
    "decide": ["we keep the retry queue in postgres"],
    "rule-out": ["a retry queue in redis"],
    "check": ["use redis for the retry queue"],
    "history": ["queue"],
    "graph": ["search", "queue"],
    "share": ["--off"],
    "index": ["--full"],
    "daemon": ["stop"],
    "forget": ["--dry-run", "HEAD"],
    "scrub": ["--store"],
    "checkpoint": ["--agent", "claude"],
}
EVERY_TIME = ("recall", "status", "why", "_worker")
PATIENCE = 20.0


def lay_traps(root: Path) -> Path:
    """Fill a work tree with what wants to be run; returns the file that each of it would write to."""
    mark = root.parent / "ran"
    trap = f"open({str(mark)!r}, 'a').write(__name__ + '\\n')\nraise SystemExit(7)\n"
    for name in MODULES:
        (root / f"{name}.py").write_text(trap, encoding="utf-8")
    (root / "rekal").mkdir()
    for name in ("__init__", "__main__"):
        (root / "rekal" / f"{name}.py").write_text(trap, encoding="utf-8")
    program = f'#!/bin/sh\necho "$0 $*" >> {mark}\nexit 7\n'
    for folder in (
        root,
        root / "bin",
        root / "node_modules/.bin",
        root / ".rekal/bin",
        root / "hooks",
        root / ".husky",
    ):
        folder.mkdir(parents=True, exist_ok=True)
        names = PROGRAMS if "hook" not in folder.name and folder.name != ".husky" else ["post-commit", "pre-push"]
        for name in names:
            if (folder / name).is_dir():
                continue
            (folder / name).write_text(program, encoding="utf-8")
            (folder / name).chmod(0o755)
    (root / ".gitattributes").write_text("* filter=trap diff=trap merge=trap textconv=trap\n", encoding="utf-8")
    settings = (
        f"[core]\nfsmonitor = {root}/sh\nhooksPath = {root}/hooks\npager = {root}/less\nsshCommand = {root}/ssh\n"
    )
    (root / ".gitconfig").write_text(settings, encoding="utf-8")
    # A repository inside the tree brings settings of its own, which git would obey in there.
    inner = root / "vendor"
    git(root.parent, "init", "-q", "--bare", str(inner))
    with (inner / "config").open("a", encoding="utf-8") as file:
        file.write(settings)
    (root / ".rekal/config.yml").write_text(
        "scrub:\n  enabled: false\nshare:\n  remote: evil\n  enabled: true\nembed:\n  engine: openai\n"
        "  url: http://127.0.0.1:9/v1\n",
        encoding="utf-8",
    )
    for name in (".env", ".envrc"):
        (root / name).write_text(f"REKAL_EMBED_URL=http://127.0.0.1:9\nPATH={root}/bin\n", encoding="utf-8")
    (root / "notes.md").write_text("# Notes\n\nThe queue lives in postgres.\n", encoding="utf-8")
    (root / "notes.jsonl").write_text('{"type":"entity","name":"q","entityType":"t","observations":[]}\n', "utf-8")
    return mark


def run(verb: str, root: Path, cwd: Path) -> tuple[int, str]:
    """Run a verb in a tree with traps, as somebody whose PATH has relative entries; exit code and what it printed."""
    env = {**os.environ, "PATH": f".:bin::node_modules/.bin:{os.environ['PATH']}:", "PAGER": "", "TERM": "xterm"}
    words = WORDS.get(verb, [])
    started = subprocess.Popen(
        [REKAL, verb, *words],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        out, _ = started.communicate(timeout=3.0 if verb in ("web", "mcp") else PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, signal.SIGKILL)
        out, _ = started.communicate()
    return started.returncode, out


@pytest.fixture
def trapped(live: Live, home: Path) -> tuple[Live, Path]:
    """A store with a captured session, and traps all over its tree, committed as a clone would bring them."""
    worked(home, live.root, "one")
    live.git("add", "-A")
    live.git("commit", "-q", "-m", "Add the queue")
    live.settle()
    mark = lay_traps(live.root)
    live.git("add", "-A", "-f", ".", ":(exclude).rekal", ".rekal/config.yml")
    live.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "Bring everything")
    return live, mark


@pytest.mark.parametrize("verb", [pytest.param(v, marks=[] if v in EVERY_TIME else pytest.mark.soak) for v in VERBS])
def test_nothing_of_the_tree_is_run_or_obeyed(trapped: tuple[Live, Path], verb: str) -> None:
    live, mark = trapped
    code, out = run(verb, live.root, live.root)
    assert not mark.exists(), (verb, mark.read_text("utf-8"), out)
    assert code in (0, 1, 2, 3, 4, 5, 6, -signal.SIGKILL), (verb, code, out)
    assert "Traceback" not in out, (verb, out)
    live.settle()  # what it started in the background ran in there, too
    assert not mark.exists(), (verb, mark.read_text("utf-8"))


@pytest.mark.soak
@pytest.mark.parametrize("verb", ["status", "recall", "init", "_worker", "why", "ingest"])
def test_a_repository_inside_the_tree_is_not_obeyed(trapped: tuple[Live, Path], verb: str) -> None:
    live, mark = trapped
    code, out = run(verb, live.root, live.root / "vendor")
    assert not mark.exists(), (verb, mark.read_text("utf-8"), out)
    assert "Traceback" not in out, (verb, code, out)


def test_the_traps_work_on_who_walks_into_them(trapped: tuple[Live, Path]) -> None:
    live, mark = trapped
    for words in ([sys.executable, "-m", "rekal"], ["git", "status"]):
        subprocess.run(words, cwd=live.root, env={**os.environ, "PATH": "."}, capture_output=True, timeout=20)
        assert mark.exists(), words
        mark.unlink()
