"""Cursor's IDE databases and command-line chats."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rekal.errors import SourceError
from tests.agents.cursor_maker import (
    T0,
    Ide,
    answer,
    human,
    line,
    lines,
    only,
    parsed,
    put_all,
    sources,
    tool,
    transcript_file,
    user_folder,
)  # fmt: skip


def test_a_composer(tmp_path: Path) -> None:
    Ide(tmp_path).composer(
        "c1",
        human("rename it", modelInfo={"modelName": "model-a"}),
        {"type": 2, "text": "", "capabilityType": 30, "thinking": {"text": "hm", "signature": "s"}},
        answer("Renaming."),
        tool(
            "search_replace", {"file_path": "/w/app/a.py", "old_string": "a = 1\nkeep", "new_string": "first = 1\nkeep"}
        ),
        tool("run_terminal_cmd", {"command": "make"}, result=json.dumps({"output": "no rule", "exitCode": 2})),
        answer("Renamed."),
    )
    transcript = only(tmp_path)
    assert lines(transcript) == [("human", "rename it"), ("assistant", "Renaming."), ("assistant", "Renamed.")]
    assert [turn.native_id for turn in transcript.turns] == ["c1-0", "c1-2", "c1-5"]
    edit, shell = transcript.calls
    assert (edit.path, edit.outcome, edit.wrote, edit.turn) == ("/w/app/a.py", "ok", ("first = 1",), 1)
    assert (shell.command, shell.outcome, shell.excerpt) == ("make", "error", "no rule")
    assert (transcript.title, transcript.model, transcript.cwds) == ("Tidy the parser", "model-a", ("/w/app",))
    assert transcript.started_at is not None and transcript.started_at.timestamp() == T0 / 1000
    assert transcript.turns[0].occurred_at is not None and transcript.turns[0].occurred_at.microsecond == 500_000


def test_the_diff_a_tool_reports_beats_the_sketch_it_was_given(tmp_path: Path) -> None:
    sketch = {"target_file": "a.py", "code_edit": "# ... existing code ...\nnew line here\n"}
    result = {"diff": {"chunks": [{"diffString": "  ctx\n- old\n+ applied line"}]}}
    patch = {
        "file_path": "b.py",
        "patch": "*** Begin Patch\n*** Update File: b.py\n@@\n-x\n+patched line\n*** End Patch",
    }
    Ide(tmp_path).composer(
        "c1",
        human("go"),
        tool("edit_file", sketch),
        tool("edit_file", sketch, result=json.dumps(result)),
        tool("apply_patch", patch),
        tool("edit_file", sketch, "error", error=json.dumps({"clientVisibleErrorMessage": "no such file"})),
        tool("edit_file", sketch, userDecision="rejected"),
        tool("edit_file", sketch, "cancelled"),
    )
    calls = only(tmp_path).calls
    assert [(call.path, [word.strip() for word in call.wrote], call.outcome) for call in calls] == [
        ("a.py", ["new line here"], "ok"),
        ("a.py", ["applied line"], "ok"),
        ("b.py", ["patched line"], "ok"),
        ("a.py", [], "error"),
        ("a.py", [], None),
        ("a.py", [], None),
    ]
    assert calls[3].excerpt == "no such file"


def test_what_runs_waits_until_it_ends_or_is_passed_over(tmp_path: Path) -> None:
    ide = Ide(tmp_path)
    running = tool("run_terminal_cmd", {"command": "make"}, "started")
    ide.composer("c1", human("go"), running, answer("Half a sent"), status="generating")
    before = only(tmp_path)
    assert lines(before) == [("human", "go")] and before.calls == ()
    ide.composer("c1", human("go"), running, answer("Half a sentence."), human("stop"))
    after = only(tmp_path)
    assert [content for _, content in lines(after)] == ["go", "Half a sentence.", "stop"]
    assert [(call.command, call.outcome) for call in after.calls] == [("make", None)]


def test_a_growing_composer_moves_its_revision_even_when_its_time_stands(tmp_path: Path) -> None:
    ide = Ide(tmp_path)
    ide.composer("c1", human("go"), tool("read_file", {"target_file": "a.py"}, "started"))
    ide.composer("c2", human("other"))
    seen = [{source.key: source for source in sources(tmp_path)}]
    done = tool("read_file", {"target_file": "a.py"}, "completed", result='{"contents":"x"}')
    ide.composer("c1", human("go"), done)
    seen.append({source.key: source for source in sources(tmp_path)})
    ide.composer("c1", human("go"), done, answer("Read."))
    seen.append({source.key: source for source in sources(tmp_path)})
    for before, after in pairwise(seen):
        assert [key.split("#")[1] for key in before if before[key] != after[key]] == ["c1"]
    first, last = (parsed(tmp_path, by_key[f"{ide.path}#c1"]).transcripts[0] for by_key in (seen[0], seen[2]))
    assert [turn.content for turn in last.turns] == ["go", "Read."] and first.turns[0] == last.turns[0]


def test_drafts_empty_and_sibling_composers_are_left_out_and_children_named(tmp_path: Path) -> None:
    ide = Ide(tmp_path)
    ide.composer("parent", human("go"), subComposerIds=["child"])
    ide.composer("child", human("look around"), answer("Looked."))
    ide.composer("empty")
    ide.composer("best", human("go"), isBestOfNSubcomposer=True)
    ide.composer("empty-state-draft", human("half typed"))
    ide.composer("emptied", human("go"))
    with closing(sqlite3.connect(ide.path)) as live, live:
        live.execute("DELETE FROM cursorDiskKV WHERE key LIKE 'bubbleId:emptied:%'")
    found = {source.key.split("#")[1]: source for source in sources(tmp_path)}
    assert sorted(found) == ["child", "parent"]
    child = parsed(tmp_path, found["child"]).transcripts[0]
    assert (child.actor, child.parent_native_id, child.spawn_depth) == ("agent", "parent", 1)
    assert found["child"].parent_key == found["parent"].key


def test_the_composer_of_another_project_is_not_listed_where_its_folder_is_known(tmp_path: Path) -> None:
    ide = Ide(tmp_path)
    for name, folder in {"ours": "/w/app", "theirs": "/w/app2", "inside": "/w/app/lib"}.items():
        ide.composer(name, human("go", None), workspaceIdentifier={"id": "h", "uri": {"fsPath": folder}})
    with closing(sqlite3.connect(ide.path)) as live, live:
        live.execute(
            "CREATE TABLE composerHeaders (composerId TEXT, workspaceId TEXT, lastUpdatedAt INTEGER, value TEXT)"
        )
        for name, folder in {"ours": "/w/app", "theirs": "/w/app2", "inside": "/w/app/lib"}.items():
            value = {"name": name, "workspaceIdentifier": {"id": "h", "uri": {"fsPath": folder}}}
            live.execute("INSERT INTO composerHeaders VALUES (?, 'h', 1, ?)", (name, json.dumps(value)))
    found = sources(tmp_path)
    assert [source.key.split("#")[1] for source in found] == ["inside", "ours"]
    assert [parsed(tmp_path, source).transcripts[0].cwds for source in found] == [("/w/app/lib",), ("/w/app",)]


@pytest.mark.parametrize(
    "rows",
    [
        {"composer.composerData": {"allComposers": [{"composerId": "11111111-1111-4111-8111-111111111111"}]}},
        {"composer.composerData": {"selectedComposerIds": ["11111111-1111-4111-8111-111111111111"]}},
        {
            "workbench.panel.composerChatViewPane.a": {
                "workbench.panel.aichat.view.11111111-1111-4111-8111-111111111111": {}
            }
        },
    ],
)
def test_the_workspace_that_lists_a_composer_gives_its_directory(tmp_path: Path, rows: dict[str, Any]) -> None:
    Ide(tmp_path).composer("11111111-1111-4111-8111-111111111111", human("go", None))
    for name, folder in {"a": "file:///w/app", "b": "vscode-remote://ssh-remote%2Bbox/w/app"}.items():
        file = user_folder(tmp_path) / "workspaceStorage" / name / "workspace.json"
        put_all(file.with_name("state.vscdb"), "ItemTable", rows)
        file.write_text(json.dumps({"folder": folder}), encoding="utf-8")
    assert only(tmp_path).cwds == ("/w/app",)


def test_without_any_folder_the_files_touched_give_the_directory(tmp_path: Path) -> None:
    reads = [tool("read_file", {"target_file": f"/w/app/{name}"}) for name in ("src/a.py", "tests/b.py")]
    Ide(tmp_path).composer("c1", human("go", None), *reads)
    assert only(tmp_path).cwds == ("/w/app",)


def test_a_conversation_kept_inside_the_composer(tmp_path: Path) -> None:
    inline = [{"type": 1, "bubbleId": "b1", "text": "old ways"}, {"type": 2, "bubbleId": "b2", "text": "Indeed."}]
    Ide(tmp_path).composer("c1", conversation=inline)
    assert lines(only(tmp_path)) == [("human", "old ways"), ("assistant", "Indeed.")]


def test_the_tabs_of_old_chats(tmp_path: Path) -> None:
    file = user_folder(tmp_path) / "workspaceStorage/h/workspace.json"
    bubbles = [
        {"type": "user", "id": "u1", "text": "how"},
        {"type": "ai", "id": "a1", "rawText": "So.", "modelType": "model-a"},
    ]
    tab = {"tabId": "t1", "chatTitle": "Early", "lastSendTime": T0, "bubbles": bubbles}
    key = "workbench.panel.aichat.view.aichat.chatdata"
    put_all(file.with_name("state.vscdb"), "ItemTable", {key: {"tabs": [tab, {"tabId": "t2", "bubbles": []}]}})
    file.write_text(json.dumps({"folder": "file:///w/app"}), encoding="utf-8")
    transcript = only(tmp_path)
    assert lines(transcript) == [("human", "how"), ("assistant", "So.")]
    assert (transcript.native_id, transcript.title, transcript.cwds) == ("t1", "Early", ("/w/app",))


def test_broken_rows_cost_themselves_and_a_broken_database_says_so(tmp_path: Path) -> None:
    ide = Ide(tmp_path)
    ide.composer("c1", human("go"), answer("Lost."), answer("Kept."))
    ide.composer("c2", human("gone"))
    put_all(ide.path, "cursorDiskKV", {"bubbleId:c1:c1-1": '{"type":2,', "composerData:c2": "{broken"})
    first, second = sources(tmp_path)
    result = parsed(tmp_path, first)
    assert lines(result.transcripts[0]) == [("human", "go"), ("assistant", "Kept.")] and result.skipped_bytes == 10
    with pytest.raises(SourceError, match="no readable composer c2"):
        parsed(tmp_path, second)
    transcript_file(tmp_path, "w-app", "t1.jsonl", line("user", "still here"))
    ide.path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    broken, other = sources(tmp_path)
    with pytest.raises(SourceError):
        parsed(tmp_path, broken)
    assert lines(parsed(tmp_path, other).transcripts[0]) == [("human", "still here")]


def test_the_ide_wins_over_its_transcript(tmp_path: Path) -> None:
    Ide(tmp_path).composer("c1", human("from the database"))
    transcript_file(tmp_path, "w-app", "c1/c1.jsonl", line("user", "from the transcript"))
    transcript_file(tmp_path, "w-app", "c2/c2.jsonl", line("user", "only a transcript"))
    texts = [parsed(tmp_path, source).transcripts[0].turns[0].content for source in sources(tmp_path)]
    assert texts == ["from the database", "only a transcript"]


def test_a_locked_database_is_read_all_the_same(tmp_path: Path) -> None:
    ide = Ide(tmp_path)
    ide.composer("c1", human("go"))
    with closing(sqlite3.connect(ide.path, isolation_level=None)) as live:
        live.execute("BEGIN EXCLUSIVE")
        assert lines(only(tmp_path)) == [("human", "go")]
        live.execute("ROLLBACK")
