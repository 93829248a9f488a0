"""Record types that this version does not know are counted and shown, and cost nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.agents.pieces import write_lines
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession
from tests.support.conversations import STORES, Conversation, Round

UNKNOWN: dict[str, tuple[dict[str, object], str]] = {
    "claude": ({"type": "hologram", "sessionId": "x"}, "hologram"),
    "codex": ({"timestamp": "2026-03-02T09:00:00Z", "type": "hologram", "payload": {}}, "hologram"),
    "copilot cli": ({"type": "hologram", "data": {}, "id": "h", "timestamp": "2026-03-02T09:00:00Z"}, "hologram"),
    "cursor transcript": ({"role": "hologram", "message": {"content": []}}, "hologram"),
    "gemini log": ({"id": "h", "timestamp": "2026-03-02T09:00:00Z", "type": "hologram", "content": ""}, "hologram"),
    "kiro flat": ({"version": "v1", "kind": "Hologram", "data": {}}, "Hologram"),
    "kiro shared": ({"id": "h", "timestamp": "2026-03-02T09:00:00Z", "payload": {"type": "hologram"}}, "hologram"),
}
"""By store: a record as the agent might write one day, and the word by which it is shown."""


@pytest.mark.parametrize("store", UNKNOWN)
def test_unknown_records_are_counted_as_drift(
    rekal: Rekal, home: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.delenv("XDG_DATA_HOME")
    record, word = UNKNOWN[store]
    rounds = [Round("What is new?", rekal.root / "a.py", "a line here\n", "Everything.")]
    STORES[store](Conversation(home, rekal.root, "drifting", rounds))
    (path,) = (path for path in home.rglob("*.jsonl") if "What is new" in path.read_text("utf-8"))
    with path.open("a", encoding="utf-8") as file:
        for number in range(2):
            file.write(json.dumps(record | ({"id": f"h{number}"} if "id" in record else {})) + "\n")
    done = rekal("checkpoint", "--json")
    assert (done.code, done.json["sessions"], done.json["warnings"]) == (0, 1, [])
    (source,) = rekal("status", "--json").json["sources"]
    assert (sum(source["drift"].values()), source["unreadable"]) == (2, 0)
    assert any(word in kind for kind in source["drift"])
    shown = rekal("status").out
    assert f"{word} ×2" in shown and "record types this version does not know" in shown


def test_drift_adds_up_over_readings_and_sources(rekal: Rekal, home: Path) -> None:
    for name in ("one", "two"):
        session = ClaudeSession(home, rekal.root, name).human("Hello")
        for _ in range(2):
            session._write({"type": "hologram", "sessionId": session.session_id})
            assert rekal("checkpoint").code == 0
            session.says("Again.")
    assert rekal("checkpoint").code == 0
    assert rekal("status", "--json").json["sources"][0]["drift"] == {"hologram": 4}


def test_skipped_bytes_are_shown(rekal: Rekal, home: Path) -> None:
    session = ClaudeSession(home, rekal.root).human("Hello")
    whole = session.path.read_bytes()
    session.path.write_bytes(whole + b"no record\n" + whole)
    assert rekal("checkpoint").code == 0
    assert rekal("status", "--json").json["sources"][0]["skipped_bytes"] == 10
    assert "10 bytes skipped" in rekal("status").out


def test_more_kinds_than_fit_are_counted(rekal: Rekal, home: Path) -> None:
    session = ClaudeSession(home, rekal.root).human("Hello")
    records = [json.loads(line) for line in session.path.read_text("utf-8").splitlines()]
    odd = [{"type": f"hologram{n}", "sessionId": session.session_id} for n in range(8)]
    write_lines(session.path, [*records, *odd])
    assert rekal("checkpoint").code == 0
    assert "and 2 more" in rekal("status").out
