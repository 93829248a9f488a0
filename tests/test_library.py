"""``from rekal import Memory``: eight typed methods, and nothing else is public."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import rekal as package
from rekal import Memory
from rekal.errors import NotInitialised, UsageError
from tests.conftest import git
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession


def test_the_methods_over_sessions_and_memories(rekal: Rekal) -> None:
    session = ClaudeSession(rekal.home, rekal.root, "queue")
    session.human("Jobs get lost when the worker restarts. Make the job queue durable.")
    code = "def enqueue(connection, job):\n    connection.execute('INSERT INTO jobs VALUES (%s)', [job])\n"
    session.writes(rekal.root / "queue.py", code, text="I put the job queue into Postgres and ruled Redis out.")
    (rekal.root / "queue.py").write_text(code, encoding="utf-8")
    git(rekal.root, "add", ".")
    git(rekal.root, "commit", "-q", "-m", "Keep jobs in Postgres")
    rekal("_worker")
    rekal("checkpoint")
    before = Path.cwd()
    memory = Memory(rekal.root)
    assert memory.recall("why is the job queue in Postgres and not in Redis").verdict == "INJECT"
    assert memory.why("queue.py:2").recorded == 1
    kept = memory.remember("Jobs live in Postgres.", type="decision", because="we have it already", tags=["db"])
    assert (kept.state, kept.type, kept.tags) == ("proposed", "decision", ("db",))
    assert memory.check("Rename the readme").level == "CLEAR"
    assert memory.forget(kept.id[:12]).state == "retracted"
    assert Memory(rekal.root, agent=False).remember("Deploys happen on Mondays.").state == "accepted"
    assert Path.cwd() == before


def test_documents_are_ingested_searched_and_given(rekal: Rekal, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    stage = "The main stage stands on the east quay because the west quay floods at spring tide."
    (notes / "stage.md").write_text(f"# Festival\n\n{stage}\n", encoding="utf-8")
    memory = Memory(rekal.root)
    assert memory.ingest(notes).sources == {"added": 1}
    (row,) = memory.search("why does the main stage stand on the east quay")
    assert (row.path, row.type) == ("notes/stage.md", "markdown")
    block = memory.recall_block("why does the main stage stand on the east quay")
    assert block.startswith("<rekal-memory>\nFrom memory.")
    assert stage in block
    assert memory.recall_block("why does the main stage stand on the east quay", exclude=["stage.md"]) == ""
    assert memory.recall_block("rotate the tls certificates of the ingress") == ""
    assert memory.recall_block("why does the main stage stand on the east quay", timeout=0.0) == ""


def test_errors_are_sentences(rekal: Rekal, tmp_path: Path) -> None:
    with pytest.raises(NotInitialised, match="no repository"):
        Memory(tmp_path.parent).recall("why")
    with pytest.raises(UsageError, match="too short"):
        Memory(rekal.root).forget("a")


def test_nothing_else_is_public_and_the_package_is_light() -> None:
    assert package.__all__ == ["Memory"]
    public = {name for name, _ in inspect.getmembers(Memory, inspect.isfunction) if not name.startswith("_")}
    assert public == {"recall", "search", "ingest", "recall_block", "why", "check", "remember", "forget"}
    code = "import sys, rekal; print(sorted(m for m in sys.modules if m.startswith('rekal')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "['rekal']"
    with pytest.raises(AttributeError):
        _ = package.nothing
