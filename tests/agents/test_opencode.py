"""OpenCode's database: turns, calls, forks, reverts, children, noise, unfinished work, damage."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from rekal.agents.opencode.adapter import ADAPTER
from rekal.errors import SourceError
from tests.agents.opencode_store_maker import T0, Store, as_source, lines, only, parsed, said, sources, tool


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "home/.local/share/opencode/opencode.db")


def test_a_session_of_the_database(tmp_path: Path, store: Store) -> None:
    store.session("ses_1")
    store.message("ses_1", "m1", "user", said("rename the parser"))
    edit = tool(
        "edit",
        "call_1",
        {"filePath": "/w/app/parse.py", "oldString": "a = 1\nkeep = 2", "newString": "first = 1\nkeep = 2"},
        time={"start": T0 + 2100, "end": T0 + 2200},
        output="Edit applied successfully.",
        metadata={"diff": "--- parse.py\n+++ parse.py\n@@ -1,2 +1,2 @@\n-a = 1\n+first = 1\n keep = 2\n"},
    )
    store.message("ses_1", "m2", "assistant", {"type": "step-start"}, said("Renaming."), edit, said("Renamed."))
    transcript = only(tmp_path)
    assert lines(transcript) == [
        ("human", "rename the parser"),
        ("assistant", "Renaming."),
        ("assistant", "Renamed."),
    ]
    (call,) = transcript.calls
    assert (call.tool, call.path, call.outcome, call.turn) == ("edit", "/w/app/parse.py", "ok", 1)
    assert call.wrote == ("first = 1",)
    assert call.occurred_at is not None and call.occurred_at.timestamp() == (T0 + 2100) / 1000
    assert transcript.turns[1].model == "model-a" and transcript.turns[0].model is None
    assert (transcript.native_id, transcript.title, transcript.model) == ("ses_1", "Tidy the parser", "model-a")
    assert (transcript.cwds, transcript.actor) == (("/w/app",), "human")
    assert transcript.started_at is not None and transcript.started_at.timestamp() == T0 / 1000


def test_every_kind_of_edit_says_what_it_wrote(tmp_path: Path, store: Store) -> None:
    patch = (
        "*** Begin Patch\n*** Add File: new.py\n+fresh line\n*** Update File: old.py\n@@\n-gone\n+come\n*** End Patch"
    )
    store.session("ses_1")
    store.message("ses_1", "m1", "user", said("go"))
    store.message(
        "ses_1",
        "m2",
        "assistant",
        tool("write", "c1", {"filePath": "/w/app/a.py", "content": "one line\ntwo line\n"}),
        tool("edit", "c2", {"filePath": "a.py", "oldString": "x\ny", "newString": "x\nz new"}),
        tool("multiedit", "c3", {"filePath": "a.py", "edits": [{"oldString": "p", "newString": "q line"}]}),
        tool("apply_patch", "c4", {"patchText": patch}),
        tool("edit", "c5", {"filePath": "a.py", "newString": "never"}, "error", error="oldString not found"),
    )
    calls = only(tmp_path).calls
    assert [(call.tool, call.path, call.wrote) for call in calls] == [
        ("write", "/w/app/a.py", ("one line", "two line")),
        ("edit", "a.py", ("z new",)),
        ("multiedit", "a.py", ("q line",)),
        ("apply_patch", "new.py", ("fresh line",)),
        ("apply_patch", "old.py", ("come",)),
        ("edit", "a.py", ()),
    ]
    assert [
        call.native_id.endswith(mark) for call, mark in zip(calls[3:5], ("#1", "#2"), strict=True) if call.native_id
    ]
    assert (calls[5].outcome, calls[5].excerpt) == ("error", "oldString not found")


def test_a_shell_command_that_failed_completed_all_the_same(tmp_path: Path, store: Store) -> None:
    store.session("ses_1")
    store.message("ses_1", "m1", "user", said("go"))
    store.message(
        "ses_1",
        "m2",
        "assistant",
        tool("bash", "c1", {"command": "make", "workdir": "/w/app/lib"}, output="no rule", metadata={"exit": 2}),
        tool("bash", "c2", {"command": "ls"}, output="a.py", metadata={"exit": 0}),
        tool("invalid", "c3", {"tool": "nosuch", "error": "unknown tool"}, output="The arguments are invalid"),
    )
    calls = only(tmp_path).calls
    assert [(call.command, call.outcome, call.excerpt) for call in calls] == [
        ("make", "error", "no rule"),
        ("ls", "ok", None),
        (None, "error", "The arguments are invalid"),
    ]
    assert calls[0].cwd == "/w/app/lib" and calls[1].cwd == "/w/app"


def test_noise_is_left_out(tmp_path: Path, store: Store) -> None:
    store.session("ses_1", title="New session - 2026-02-01T10:00:00.000Z")
    store.message(
        "ses_1",
        "m1",
        "user",
        said("look at a.py"),
        said('Called the Read tool with the following input: {"filePath":"a.py"}', synthetic=True),
        said("hidden", ignored=True),
        {"type": "file", "mime": "text/plain", "filename": "a.py", "url": "data:text/plain;base64,eA=="},
    )
    store.message("ses_1", "m2", "user", said("Called the Read tool with the following input: {}"))
    store.message("ses_1", "m3", "assistant", {"type": "reasoning", "text": "hm"}, {"type": "hologram"}, said("Seen."))
    (source,) = sources(tmp_path)
    result = parsed(source)
    assert lines(result.transcripts[0]) == [("human", "look at a.py"), ("assistant", "Seen.")]
    assert result.transcripts[0].title is None
    assert result.drift == {"part hologram": 1}


def test_a_compaction_gives_a_summary(tmp_path: Path, store: Store) -> None:
    store.session("ses_1")
    store.message("ses_1", "m1", "user", said("start"))
    store.message("ses_1", "m2", "user", {"type": "compaction", "auto": True})
    store.message("ses_1", "m3", "assistant", said("We started."), summary=True)
    assert lines(only(tmp_path)) == [("human", "start"), ("summary", "We started.")]


def test_a_child_names_its_parent(tmp_path: Path, store: Store) -> None:
    store.session("ses_1")
    store.message("ses_1", "m1", "user", said("delegate"))
    store.session("ses_2", title="Look around (@explore subagent)", parent="ses_1")
    store.message("ses_2", "m2", "user", said("look around"), agent="explore")
    store.session("ses_3", title="Deeper", parent="ses_2")
    store.message("ses_3", "m3", "user", said("deeper"), agent="general")
    found = {source.key.split("#")[1]: source for source in sources(tmp_path)}
    assert found["ses_2"].parent_key == found["ses_1"].key and found["ses_1"].parent_key is None
    children = [parsed(found[sid]).transcripts[0] for sid in ("ses_2", "ses_3")]
    assert [(child.actor, child.parent_native_id, child.agent_type, child.spawn_depth) for child in children] == [
        ("agent", "ses_1", "explore", 1),
        ("agent", "ses_2", "general", 2),
    ]
    assert children[0].description == "Look around (@explore subagent)"


def test_a_fork_shares_the_turns_it_copied(tmp_path: Path, store: Store) -> None:
    call = tool("bash", "c1", {"command": "ls"}, time={"start": T0 + 5, "end": T0 + 6}, output="a")
    store.session("ses_1")
    store.message("ses_1", "m1", "user", said("start"))
    store.message("ses_1", "m2", "assistant", said("Started."), call, said("Started."))
    store.session("ses_2", title="Tidy the parser (fork #1)")
    store.clock = T0
    store.message("ses_2", "n1", "user", said("start"))
    store.message("ses_2", "n2", "assistant", said("Started."), call, said("Started."))
    store.message("ses_2", "n3", "user", said("go another way"))
    first, second = (parsed(source).transcripts[0] for source in sources(tmp_path))
    assert [turn.native_id for turn in first.turns] == [turn.native_id for turn in second.turns[:3]]
    assert len({turn.native_id for turn in second.turns}) == 4
    assert all(turn.shared for turn in second.turns) and first.calls == second.calls


def test_the_same_words_without_a_time_are_not_taken_for_a_copy(tmp_path: Path, store: Store) -> None:
    for sid in ("ses_1", "ses_2"):
        store.session(sid)
        store.message(sid, f"{sid}-m", "user", said("go on"), time={})
    store.run("UPDATE message SET time_created = 0")
    first, second = (parsed(source).transcripts[0].turns[0] for source in sources(tmp_path))
    assert first.native_id != second.native_id and not first.shared and first.content == second.content


@pytest.mark.parametrize(
    ("revert", "left"),
    [
        ({"messageID": "m3"}, ["start", "One.", "Two."]),
        ({"messageID": "m2", "partID": "m2-1"}, ["start", "One."]),
        ({"messageID": "nowhere"}, ["start", "One.", "Two.", "undone", "Gone."]),
    ],
)
def test_what_was_reverted_is_left_out(tmp_path: Path, store: Store, revert: dict[str, str], left: list[str]) -> None:
    store.session("ses_1")
    store.message("ses_1", "m1", "user", said("start"))
    store.message("ses_1", "m2", "assistant", said("One."), said("Two."))
    store.message("ses_1", "m3", "user", said("undone"))
    store.message("ses_1", "m4", "assistant", said("Gone."))
    store.run("UPDATE session SET revert = ?", json.dumps(revert))
    assert [content for _, content in lines(only(tmp_path))] == left


def test_a_session_that_goes_on_moves_its_revision_and_gains_its_new_turns(tmp_path: Path, store: Store) -> None:
    store.session("ses_1")
    store.session("ses_2")
    store.message("ses_2", "x1", "user", said("other"))
    store.message("ses_1", "m1", "user", said("start"))
    before = {source.key: source for source in sources(tmp_path)}
    store.message("ses_1", "m2", "assistant", said("Started."))
    after = {source.key: source for source in sources(tmp_path)}
    moved = [key for key in before if before[key] != after[key]]
    assert [key.split("#")[1] for key in moved] == ["ses_1"]
    old, new = parsed(before[moved[0]]).transcripts[0], parsed(after[moved[0]]).transcripts[0]
    assert old.turns[0] == new.turns[0] and [turn.content for turn in new.turns] == ["start", "Started."]


def test_work_in_progress_waits(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rekal.agents.opencode.adapter.time_ns", lambda: (T0 + 60_000) * 1_000_000)
    store.session("ses_1")
    store.message("ses_1", "m1", "user", said("start"))
    open_time = {"created": T0 + 2000}
    store.message(
        "ses_1",
        "m2",
        "assistant",
        said("Done with this.", time={"start": T0, "end": T0 + 1}),
        tool("bash", "c1", {"command": "make"}, "running", time={"start": T0 + 3}),
        said("Half a sent", time={"start": T0 + 4}),
        time=open_time,
    )
    first = only(tmp_path)
    assert lines(first) == [("human", "start"), ("assistant", "Done with this.")] and first.calls == ()
    store.message("ses_1", "m3", "user", said("queued meanwhile"))
    assert only(tmp_path).calls == ()
    store.message("ses_1", "m4", "assistant", said("On to the next."))
    last = only(tmp_path)
    assert [turn.content for turn in last.turns] == [
        "start", "Done with this.", "Half a sent", "queued meanwhile", "On to the next.",
    ]  # fmt: skip
    assert [(call.command, call.outcome, call.wrote) for call in last.calls] == [("make", None, ())]


def test_a_text_without_end_is_taken_once_nobody_writes_any_more(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.session("ses_1")
    store.message("ses_1", "m1", "user", said("start"))
    running = tool("bash", "c1", {"command": "make"}, "running")
    half = said("Half a sent", time={"start": T0})
    store.message("ses_1", "m2", "assistant", half, running, time={"created": T0 + 2000})
    for minutes, content in ((59, ["start"]), (61, ["start", "Half a sent"])):
        now = (store.clock + 1 + minutes * 60_000) * 1_000_000
        monkeypatch.setattr("rekal.agents.opencode.adapter.time_ns", lambda now=now: now)
        transcript = only(tmp_path)
        assert [turn.content for turn in transcript.turns] == content and transcript.calls == ()


def test_only_sessions_of_the_repository_are_listed(tmp_path: Path, store: Store) -> None:
    for n, directory in enumerate(["/w/app", "/w/app2", "/w/app/lib", "/w", "/w/application"]):
        store.session(f"ses_{n}", directory)
    assert [source.key.split("#")[1] for source in sources(tmp_path)] == ["ses_0", "ses_2", "ses_3"]
    assert [source.key.split("#")[1] for source in sources(tmp_path, "/w/app2")] == ["ses_1", "ses_3"]


def test_a_database_being_written_exclusively_is_still_read(tmp_path: Path, store: Store) -> None:
    store.session("ses_1")
    store.message("ses_1", "m1", "user", said("start"))
    with closing(sqlite3.connect(store.path, isolation_level=None)) as live:
        live.execute("PRAGMA journal_mode=delete")
        live.execute("BEGIN EXCLUSIVE")
        assert lines(only(tmp_path)) == [("human", "start")]
        live.execute("ROLLBACK")


def test_a_broken_row_costs_itself_and_a_broken_database_says_so(tmp_path: Path, store: Store) -> None:
    store.session("ses_1")
    store.message("ses_1", "m1", "user", said("start"))
    store.message("ses_1", "m2", "assistant", said("Lost."), said("Kept."))
    store.run("UPDATE part SET data = '{\"type\"' WHERE id = 'm2-0'")
    (source,) = sources(tmp_path)
    result = parsed(source)
    assert lines(result.transcripts[0]) == [("human", "start"), ("assistant", "Kept.")] and result.skipped_bytes == 7
    store.path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    store.path.with_name("opencode.db-wal").unlink(missing_ok=True)
    (broken,) = sources(tmp_path)
    with pytest.raises(SourceError):
        parsed(broken)


def test_a_session_that_is_gone_says_so(tmp_path: Path, store: Store) -> None:
    store.session("ses_1")
    (source,) = sources(tmp_path)
    store.run("DELETE FROM session")
    with pytest.raises(SourceError, match="no longer holds"):
        parsed(source)


def test_a_database_is_recognised_and_read_whole(tmp_path: Path, store: Store) -> None:
    store.session("ses_1")
    store.session("ses_2", "/elsewhere")
    with closing(sqlite3.connect(store.path)) as live:
        live.execute("PRAGMA wal_checkpoint(truncate)")
    assert ADAPTER.sniff(store.path.read_bytes()[:65536])
    assert [transcript.native_id for transcript in parsed(as_source(store.path)).transcripts] == ["ses_1", "ses_2"]
