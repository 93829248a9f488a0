"""Cursor's command-line chats, and mutated rows of both kinds of database."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekal.agents.cursor.adapter import ADAPTER
from rekal.errors import SourceError
from tests.agents.adapter_checks import mutations
from tests.agents.cursor_maker import (
    Ide,
    answer,
    as_source,
    chat,
    human,
    lines,
    only,
    parsed,
    put,
    put_all,
    sources,
    tool,
)  # fmt: skip

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "You are an agent"},
    {"role": "user", "content": "<user_info>\nOS: linux\nWorkspace Path: /w/app\n</user_info>"},
    {"role": "user", "content": [{"type": "text", "text": "<user_query>\ngo on\n</user_query>"}]},
    {
        "role": "assistant",
        "content": [
            {"type": "reasoning", "text": "hm"},
            {"type": "text", "text": "Going."},
            {"type": "tool-call", "toolCallId": "x1", "toolName": "Shell", "args": {"command": "make"}},
            {
                "type": "tool-call",
                "toolCallId": "x2",
                "toolName": "Write",
                "args": {"path": "/w/app/a", "contents": "one"},
            },
        ],
    },
    {
        "role": "tool",
        "content": [
            {"type": "tool-result", "toolCallId": "x1", "toolName": "Shell", "result": "Exit code: 2\n\nno rule"},
            {"type": "tool-result", "toolCallId": "x2", "toolName": "Write", "result": "Wrote contents"},
        ],
    },
    {"role": "user", "content": [{"type": "text", "text": "<user_query>\ngo on\n</user_query>"}]},
]


@pytest.mark.parametrize("root", [True, False])
def test_a_chat_of_the_command_line(tmp_path: Path, root: bool) -> None:
    path = chat(tmp_path, "/w/app", "chat-1", CHAT, root=root)
    transcript = only(tmp_path)
    twice = [("human", "go on")] if root else []
    assert lines(transcript) == [("human", "go on"), ("assistant", "Going."), *twice]
    assert len({turn.native_id for turn in transcript.turns}) == len(transcript.turns)
    shell, write = transcript.calls
    assert (shell.command, shell.outcome, write.wrote, write.outcome) == ("make", "error", ("one",), "ok")
    assert (transcript.native_id, transcript.title, transcript.model) == ("chat-1", "Shell chat", "model-a")
    assert transcript.cwds == ("/w/app",) and ADAPTER.sniff(path.read_bytes()[:65536])


def test_a_chat_that_goes_on_keeps_its_ids_and_waits_for_results(tmp_path: Path) -> None:
    chat(tmp_path, "/w/app", "chat-1", CHAT[:4])
    (before,) = sources(tmp_path)
    first = parsed(tmp_path, before).transcripts[0]
    assert first.calls == ()
    chat(tmp_path, "/w/app", "chat-1", CHAT)
    (after,) = sources(tmp_path)
    last = parsed(tmp_path, after).transcripts[0]
    assert (before.size, before.mtime_ns) != (after.size, after.mtime_ns)
    assert last.turns[: len(first.turns)] == first.turns and len(last.turns) == 3 and len(last.calls) == 2


def test_a_chat_of_another_directory_keeps_that_directory(tmp_path: Path) -> None:
    chat(tmp_path, "/w/app2", "chat-2", CHAT[2:3])
    assert only(tmp_path).cwds == ("/w/app2",)


def test_a_chat_that_cannot_be_read_says_so_without_its_key(tmp_path: Path) -> None:
    path = chat(tmp_path, "/w/app", "chat-1", CHAT)
    meta = {"agentId": "chat-1", "latestRootBlobId": "none", "blobEncryptionKey": "sentinel"}
    with closing(sqlite3.connect(path)) as live, live:
        live.execute("UPDATE blobs SET data = x'00ff00ff'")
        live.execute("UPDATE meta SET value = ?", (json.dumps(meta).encode().hex(),))
    with pytest.raises(SourceError, match="may be encrypted") as refused:
        parsed(tmp_path, as_source(path))
    assert "sentinel" not in str(refused.value)
    put(path, "unrelated", key="x")
    with closing(sqlite3.connect(path)) as live, live:
        live.execute("UPDATE meta SET value = 'zz'")
    with pytest.raises(SourceError, match="no readable description"):
        parsed(tmp_path, as_source(path))


@settings(max_examples=40, deadline=None)
@given(changes=st.lists(mutations(), min_size=len(CHAT), max_size=len(CHAT)))
def test_mutated_messages_raise_source_error_at_worst(
    tmp_path_factory: pytest.TempPathFactory, changes: list[Any]
) -> None:
    home = tmp_path_factory.mktemp("home")
    path = chat(home, "/w/app", "chat-1", [change(message) for change, message in zip(changes, CHAT, strict=True)])
    try:
        (transcript,) = parsed(home, as_source(path)).transcripts
    except SourceError as error:
        assert str(path) in str(error)
        return
    assert all(-1 <= call.turn < len(transcript.turns) for call in transcript.calls)


@settings(max_examples=40, deadline=None)
@given(change=mutations(), place=st.integers(0, 3))
def test_mutated_rows_raise_source_error_at_worst(
    tmp_path_factory: pytest.TempPathFactory, change: Any, place: int
) -> None:
    home = tmp_path_factory.mktemp("home")
    ide = Ide(home)
    shell = tool("run_terminal_cmd", {"command": "make"}, result=json.dumps({"output": "x", "exitCode": 2}))
    ide.composer("c1", human("go"), answer("Gone."), shell)
    key = ["composerData:c1", "bubbleId:c1:c1-0", "bubbleId:c1:c1-1", "bubbleId:c1:c1-2"][place]
    with closing(sqlite3.connect(ide.path)) as live:
        (value,) = live.execute("SELECT value FROM cursorDiskKV WHERE key = ?", (key,)).fetchone()
    put_all(ide.path, "cursorDiskKV", {key: change(json.loads(value))})
    for source in sources(home):
        try:
            (transcript,) = parsed(home, source).transcripts
        except SourceError as error:
            assert str(ide.path) in str(error)
        else:
            assert all(turn.content.strip() for turn in transcript.turns)


def test_chats_of_editors_and_of_a_named_folder_are_found(tmp_path: Path) -> None:
    home = tmp_path / "home"
    first = chat(home, "/w/app", "c1", CHAT)
    for place in (home / ".cursor/acp-sessions/c2", tmp_path / "data/chats" / first.parents[1].name / "c3"):
        place.mkdir(parents=True)
        (place / "store.db").write_bytes(first.read_bytes())
    found = [source.path.parent.name for source in sources(home, CURSOR_DATA_DIR=str(tmp_path / "data"))]
    assert sorted(found) == ["c1", "c2", "c3"]
    assert sorted(source.path.parent.name for source in sources(home)) == ["c1", "c2"]
