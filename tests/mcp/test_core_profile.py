"""The core profile costs an agent little, and tells it what sessions and memories know."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from rekal.mcp.mcp_server import RekalServer
from rekal.mcp.tool_profiles import INSTRUCTIONS, PROFILES
from tests.conftest import git
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession

CODE = "def enqueue(connection, job):\n    connection.execute('INSERT INTO jobs VALUES (%s)', [job])\n"


@pytest.fixture
def server(rekal: Rekal) -> RekalServer:
    session = ClaudeSession(rekal.home, rekal.root, "queue")
    session.human("Jobs get lost when the worker restarts. Make the job queue durable.")
    session.writes(rekal.root / "queue.py", CODE, text="I put the job queue into Postgres and ruled Redis out.")
    (rekal.root / "queue.py").write_text(CODE, encoding="utf-8")
    git(rekal.root, "add", ".")
    git(rekal.root, "commit", "-q", "-m", "Keep jobs in Postgres")
    rekal("_worker")
    rekal("checkpoint")
    return RekalServer("core", cwd=rekal.root)


def test_schemas_and_instructions_are_small_and_flat() -> None:
    tools = [tool.contract for tool in RekalServer("core", cwd=Path("/")).tools.values()]
    size = len(json.dumps(tools, separators=(",", ":"))) + len(INSTRUCTIONS["core"])
    assert size / 4 <= 1500
    assert len(tools) <= 6
    for tool in tools:
        assert len(tool["name"]) <= 30
        for schema in tool["inputSchema"]["properties"].values():
            assert schema["type"] in ("string", "integer", "array")
            assert not {"anyOf", "oneOf", "$ref", "default"} & set(schema)


@pytest.mark.parametrize("profile", PROFILES)
def test_instructions_are_short_enough_for_every_client(profile: str) -> None:
    assert len(INSTRUCTIONS[profile].encode()) <= 2048
    assert all(len(tool.contract["description"]) <= 1024 for tool in RekalServer(profile, cwd=Path("/")).tools.values())


def test_recall_read_session_and_why(server: RekalServer) -> None:
    answer = server.answer("recall", {"question": "why is the job queue in Postgres and not in Redis"})
    assert not answer.error
    assert answer.structured is None  # nothing is sent twice
    text = answer.texts[0]
    assert text.startswith("INJECT")
    assert "ruled Redis out" in text
    assert len(text) / 4 <= 2000
    handle = next(word for word in text.split() if re.fullmatch(r"[0-9a-z]{10}:\d+", word))
    assert "ruled Redis out" in server.answer("read_session", {"session": handle}).texts[0]
    why = server.answer("why", {"target": "queue.py:2"}).texts[0]
    assert handle.partition(":")[0] in why
    old = handle.replace(":", "#")  # as earlier versions printed it
    assert "ruled Redis out" in server.answer("read_session", {"session": old}).texts[0]


def test_silence_is_an_answer(server: RekalServer) -> None:
    answer = server.answer("recall", {"question": "how do we rotate the TLS certificates of the ingress"})
    assert not answer.error
    assert answer.texts[0].startswith("SILENCE")


def test_remember_check_and_forget(server: RekalServer) -> None:
    said = {
        "text": "Redis for the job queue",
        "type": "dead_end",
        "because": "one more service",
        "when": ["import redis"],
    }
    made = server.answer("remember", said).texts[0]
    assert made.startswith("proposed ")
    checked = server.answer("check", {"plan": "Use Redis: import redis in queue.py"}).texts[0]
    assert checked.splitlines()[0] == "RULED-OUT"
    assert "one more service" in checked
    assert server.answer("check", {"plan": "Rename the readme"}).texts[0] == "CLEAR"
    assert server.answer("forget", {"memory": made.split()[1]}).texts[0].startswith("retracted ")


def test_failures_are_errors_with_one_sentence(server: RekalServer, tmp_path: Path) -> None:
    assert server.answer("read_session", {"session": "zzzz"}).error
    assert server.answer("why", {"target": "nothing.py:1"}).error
    assert server.answer("check", {"plan": "  "}).error
    assert server.answer("forget", {"memory": "zzzz"}).error
    assert server.answer("forget", {"memory": ""}).error
    outside = RekalServer("core", cwd=tmp_path.parent).answer("recall", {"question": "why"})
    assert outside.error
    assert "personal store" in outside.texts[0]


def test_the_recall_profile(rekal: Rekal, server: RekalServer) -> None:
    found = RekalServer("recall", cwd=rekal.root)
    assert set(found.tools) == {"recall_search", "memory_save", "recall_remember", "recall_forget", "recall_stats"}
    assert found.answer("recall_search", {"query": "zebra crossing"}).texts == ("No results found.",)
    saved = found.answer("recall_remember", {"text": "Deploys happen on Mondays."}).texts[0]
    assert saved.startswith("Saved memory (id=")
    text = found.answer("recall_search", {"query": "deploys Mondays"}).texts[0]
    assert "] Deploys happen on Mondays." in text
    assert "1 results" in text
    assert found.answer("recall_stats", {}).texts[0].startswith("Total: 1")
    id_ = saved.partition("id=")[2].partition(",")[0]
    assert found.answer("recall_forget", {"memory_id": id_}).texts[0] == f"Deleted memory {id_}"
    assert found.answer("recall_forget", {"memory_id": 7}).error


def test_an_answer_is_bounded_whatever_is_asked_for(rekal: Rekal) -> None:
    long = "The job queue lives in Postgres, since jobs were lost when the worker restarted. " * 200
    for number in range(8):
        session = ClaudeSession(
            rekal.home, rekal.root, f"queue {number}", start=datetime(2026, 3, number + 1, tzinfo=UTC)
        )
        session.human(f"Why does the job queue live in Postgres and not in Redis? Case {number}.")
        session.says(f"Case {number}. {long}")
    assert rekal("checkpoint").code == 0
    server = RekalServer("core", cwd=rekal.root)
    for more in ({}, {"limit": 20, "budget": 1_000_000}, {"limit": 20, "budget": 1800}):
        text = server.answer("recall", {"question": "why is the job queue in Postgres and not in Redis", **more}).texts[
            0
        ]
        assert text.startswith("INJECT")
        assert len(text) / 4 <= 2000


def test_outside_a_repository_answers_say_whose_store_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REKAL_DATA_HOME", str(tmp_path / "own"))
    made = RekalServer("core", cwd=tmp_path).answer("remember", {"text": "I prefer tabs.", "type": "preference"})
    assert not made.error
    assert "personal" in made.texts[0]
