"""Copilot's command line: turns, calls, sub-agents, resuming, damage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings

from rekal.agents.contract import Where
from rekal.agents.copilot.cli import ADAPTER
from rekal.agents.formats.repo_paths import is_inside_roots
from rekal.errors import SourceError
from rekal.model import Transcript
from tests.agents.adapter_checks import Change, Counts, check_golden, counts, mutations, shared_file
from tests.agents.copilot_log import SESSION, Json, event, failed, ran, request, runs, says, start, user
from tests.agents.pieces import check_pieces, only, read, said, source_of, write_lines

PATCH = "*** Begin Patch\n*** Add File: n.py\n+import os\n*** Delete File: o.py\n*** End Patch"


def write(tmp_path: Path, *events: Json) -> Path:
    return write_lines(tmp_path / "session-state" / SESSION / "events.jsonl", events)


def parsed(tmp_path: Path, *events: Json) -> Transcript:
    return only(read(ADAPTER, write(tmp_path, *events)))


def test_a_session(tmp_path: Path) -> None:
    call = request("c1", "bash", {"command": "make test", "description": "Run the tests"})
    transcript = parsed(
        tmp_path,
        start(),
        event("system.message", role="system", content="You are"),
        user("run the tests", delivery="idle", interactionId="i"),
        event("assistant.turn_start", turnId="0"),
        says("Running them.", call),
        runs("c1", "bash", call["arguments"]),
        event("hook.start", hookType="preToolUse"),
        ran("c1", "2 passed\n<shellId: 1 completed with exit code 0>"),
        says(""),
        says("They pass."),
    )
    assert said(transcript) == [
        ("human", "run the tests"),
        ("assistant", "Running them."),
        ("assistant", "They pass."),
    ]
    (one,) = transcript.calls
    assert (one.tool, one.command, one.outcome, one.turn, one.native_id) == ("bash", "make test", "ok", 1, "c1")
    assert transcript.native_id == SESSION and transcript.turns[1].model == "model-b"
    assert (transcript.cwds, transcript.branches, transcript.actor) == (("/w/app",), ("main",), "human")
    assert transcript.started_at is not None and transcript.started_at.isoformat() == "2026-05-01T10:00:00+00:00"


def test_only_people_are_heard(tmp_path: Path) -> None:
    files = [{"type": "file", "path": "/w/app/a.py", "displayName": "a.py"}, {"type": "blob", "data": "AAAA"}]
    transcript = parsed(
        tmp_path,
        *(start(), user("look", delivery="idle"), user("", source="system", delivery="steering")),
        *(user("skill text", source="skill-x"), user("stop there", delivery="steering"), says("Stopped.")),
        event("user.message", content="and this", attachments=files),
    )
    assert said(transcript) == [
        ("human", "look"),
        ("steering", "stop there"),
        ("assistant", "Stopped."),
        ("human", "and this\n[attached: a.py]"),
    ]


def test_edits_and_failures(tmp_path: Path) -> None:
    transcript = parsed(
        tmp_path,
        *(start(), user("edit")),
        runs("c1", "edit", {"path": "/w/app/a.py", "old_str": "x = 1\nkeep", "new_str": "x = 2\nkeep"}),
        *(ran("c1"), runs("c2", "create", {"path": "/w/app/b.py", "file_text": "one\ntwo\n"}), ran("c2")),
        *(runs("c3", "apply_patch", PATCH), ran("c3")),
        *(runs("c4", "apply_patch", json.dumps({"input": PATCH})), failed("c4", "no such file")),
        *(runs("c5", "view", {"path": "/w/app/z.py"}), failed("c5", "Path does not exist")),
        *(runs("c6", "powershell", {"command": "make"}), ran("c6", "bad\n<exited with exit code 2>")),
    )
    assert [(one.native_id, one.path, one.outcome, one.wrote) for one in transcript.calls] == [
        ("c1", "/w/app/a.py", "ok", ("x = 2",)),
        ("c2", "/w/app/b.py", "ok", ("one", "two")),
        ("c3#1", "n.py", "ok", ("import os",)),
        ("c3#2", "o.py", "ok", ()),
        ("c4#1", "n.py", "error", ()),
        ("c4#2", "o.py", "error", ()),
        ("c5", "/w/app/z.py", "error", ()),
        ("c6", None, "error", ()),
    ]
    assert transcript.calls[2].cwd == "/w/app"
    assert transcript.calls[6].excerpt == "Path does not exist"


def sub_agent(key: str = "task1") -> list[Json]:
    brief = {"agent_type": "explore", "description": "Find the parser", "prompt": "find it", "name": "finder"}
    return [
        says("Asking.", request(key, "task", brief)),
        runs(key, "task", brief),
        event("subagent.started", key, toolCallId=key, agentName="explore", agentDisplayName="Explore"),
    ]


def test_sub_agents_are_sessions_of_their_own(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        *(start(), user("where is the parser"), *sub_agent()),
        user("find it", "task1", source=f"agent-{SESSION}"),
        says("Looking.", request("c1", "grep", {"path": "/w/app", "pattern": "parse"}), agent="task1"),
        *(ran("c1", agent="task1"), says("In parse.py.", agent="task1")),
        event("subagent.completed", "task1", toolCallId="task1", agentName="explore"),
        *(ran("task1", "In parse.py."), says("It is in parse.py.")),
    )
    main, sub = read(ADAPTER, path).transcripts
    assert said(main) == [
        ("human", "where is the parser"),
        ("assistant", "Asking."),
        ("assistant", "It is in parse.py."),
    ]
    assert [one.tool for one in main.calls] == ["task"]
    assert said(sub) == [("human", "find it"), ("assistant", "Looking."), ("assistant", "In parse.py.")]
    assert [(one.tool, one.path) for one in sub.calls] == [("grep", "/w/app")]
    assert (sub.native_id, sub.parent_native_id, sub.actor) == (f"{SESSION}/task1", SESSION, "agent")
    assert (sub.agent_type, sub.description, sub.spawn_depth) == ("explore", "Find the parser", 1)
    assert sub.cwds == ("/w/app",)


def test_older_sub_agents_get_their_task_as_a_prompt(tmp_path: Path) -> None:
    path = write(tmp_path, start(), user("go"), *sub_agent(), says("Found.", agent="task1"))
    _, sub = read(ADAPTER, path).transcripts
    assert said(sub) == [("human", "find it"), ("assistant", "Found.")]


def test_resuming_and_moving(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        *(start(), user("one"), says("1"), event("session.shutdown", shutdownType="routine")),
        event("session.resume", selectedModel="model-c", context={"cwd": "/w/app", "branch": "topic"}),
        event("session.context_changed", cwd="/w/app-tree", branch="other"),
        user("two"),
    )
    first = read(ADAPTER, path)
    assert said(only(first)) == [("human", "one"), ("assistant", "1"), ("human", "two")]
    assert only(first).cwds == ("/w/app", "/w/app-tree")
    assert only(first).branches == ("main", "topic", "other")
    with path.open("a", encoding="utf-8") as file:
        for one in (runs("c1", "apply_patch", PATCH), ran("c1"), says("2")):
            file.write(json.dumps(one) + "\n")
    second = only(read(ADAPTER, path, first))
    assert said(second) == [("human", "two"), ("assistant", "2")]
    assert (second.native_id, second.cwds) == (SESSION, ("/w/app", "/w/app-tree"))
    assert [(one.path, one.cwd, one.turn) for one in second.calls] == [
        ("n.py", "/w/app-tree", 0),
        ("o.py", "/w/app-tree", 0),
    ]


def test_calls_without_an_answer(tmp_path: Path) -> None:
    opened = [start(), user("go"), runs("c1", "create", {"path": "a", "file_text": "x"})]
    assert parsed(tmp_path, *opened).calls == ()
    (one,) = parsed(tmp_path, *opened, event("abort", reason="user_initiated"), user("never mind")).calls
    assert (one.outcome, one.wrote) == (None, ())


def long_session() -> list[Json]:
    return [
        *(start(), user("one"), *sub_agent("t1"), user("find it", "t1", source=f"agent-{SESSION}")),
        says("", request("c1", "bash", {"command": "ls"}), request("c2", "view", {"path": "/w/app/a"}), agent="t1"),
        *(
            ran("t1", "started"),
            ran("c1", agent="t1"),
            user("two"),
            says("Waiting."),
            user("hurry", delivery="steering"),
        ),
        *(runs("c3", "apply_patch", PATCH), ran("c2", agent="t1"), says("Found.", agent="t1"), ran("c3")),
        event("session.compaction_complete", success=True, summaryContent="So far: found."),
        *(event("subagent.completed", "t1", toolCallId="t1"), says("Done."), user("three")),
        *(runs("c4", "bash", {"command": "make"}), event("session.task_complete", summary="All done.", success=True)),
    ]


def test_reading_in_two_pieces_anywhere(tmp_path: Path) -> None:
    check_pieces(ADAPTER, write(tmp_path, *long_session()), tmp_path / "cut")


def test_summaries_titles_and_drift(tmp_path: Path) -> None:
    path = write(tmp_path, *long_session(), event("session.brand_new_thing"))
    path.with_name("workspace.yaml").write_text("id: x\nname: Find the parser\ncwd: /w/app\n", encoding="utf-8")
    found = read(ADAPTER, path)
    assert found.drift == {"session.brand_new_thing": 1}
    assert found.transcripts[0].title == "Find the parser"
    assert ("summary", "So far: found.") in said(found.transcripts[0])
    assert said(found.transcripts[0])[-1] == ("assistant", "All done.")
    path.with_name("workspace.yaml").write_text("name: [unclosed", encoding="utf-8")
    assert read(ADAPTER, path).transcripts[0].title is None


def test_damage_costs_the_line_alone(tmp_path: Path) -> None:
    path = write(tmp_path, start(), user("one"), user("two"))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"\0" * 8 + b"\n" + lines[1][:40] + lines[1] + b"broken\n" + lines[2])
    found = read(ADAPTER, path)
    assert said(only(found)) == [("human", "one"), ("human", "two")]
    assert found.skipped_bytes == 8 + 40 + len(b"broken\n")


def test_discovery(tmp_path: Path) -> None:
    home = tmp_path / ".copilot"
    write(home, start())
    write_lines(home / "session-state/old.jsonl", [start()])
    write_lines(home / "history-session-state/older.jsonl", [start()])
    (home / "session-state/empty").mkdir()
    found = [source.path.relative_to(home).as_posix() for source in ADAPTER.discover(Where(tmp_path, ()))]
    assert found == [
        f"session-state/{SESSION}/events.jsonl",
        "session-state/old.jsonl",
        "history-session-state/older.jsonl",
    ]
    assert len(list(ADAPTER.discover(Where(tmp_path / "x", (), {"COPILOT_HOME": str(home)})))) == 3
    assert not list(ADAPTER.discover(Where(tmp_path / "x", ())))


def test_a_neighbouring_repository_is_not_claimed(tmp_path: Path) -> None:
    cwds = parsed(tmp_path, start("/w/app2"), user("go")).cwds
    assert cwds == ("/w/app2",)
    assert not any(is_inside_roots(cwd, [Path("/w/app")]) for cwd in cwds)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, {"type": "user", "message": {"content": "hi"}})
    with pytest.raises(SourceError):
        read(ADAPTER, path)
    path.write_bytes(b"")
    assert read(ADAPTER, path).transcripts == ()
    assert ADAPTER.sniff(json.dumps(start()).encode())
    assert not ADAPTER.sniff(b'{"type":"user","data":{"producer":"x"}}')
    assert not ADAPTER.sniff(b'{"timestamp":"t","type":"session_meta","payload":{"id":"x"}}')


@settings(deadline=None, max_examples=60)
@given(change=mutations())
def test_odd_values_never_escape_as_other_errors(tmp_path_factory: pytest.TempPathFactory, change: Change) -> None:
    path = write_lines(tmp_path_factory.mktemp("odd") / "events.jsonl", change(long_session()))
    try:
        read(ADAPTER, path)
    except SourceError:
        return


@pytest.mark.shared
def test_golden_counts() -> None:
    folder = shared_file("fixtures/copilot/cli")
    found: dict[str, Counts] = {}
    for path in sorted(folder.rglob("*.jsonl")):
        found[path.relative_to(folder).as_posix()] = counts(ADAPTER, source_of(ADAPTER, path), folder / "none")
    check_golden("copilot_cli", found)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["r03-azure-dev-1.6MB", "r02-starcar-3.1MB-windows"])
def test_real_sessions_in_pieces(tmp_path: Path, name: str) -> None:
    path = shared_file(f"fixtures/copilot/cli/{name}.jsonl")
    check_pieces(ADAPTER, path, tmp_path, range(1, path.read_bytes().count(b"\n"), 97))
