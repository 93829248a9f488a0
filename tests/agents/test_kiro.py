"""Kiro's database and the IDE before 1.0."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekal.agents.kiro.adapter import ADAPTER
from rekal.errors import SourceError
from tests.agents.adapter_checks import mutations
from tests.agents.kiro_maker import (
    T0,
    action,
    as_source,
    converse,
    database,
    execution,
    flat,
    flat_session,
    ide_folder,
    ide_session,
    lines,
    only,
    parsed,
    prompt,
    put,
    response,
    result,
    results,
    said,
    sources,
    uses,
    words,
)  # fmt: skip

WRITE = {"command": "create", "path": "/w/app/a", "file_text": "one\ntwo"}
SHELL = {"command": "make", "working_dir": "/w/app/lib"}
TALK = [
    prompt("make a file", uses("m1", "Making it.", ("t1", "fs_write", WRITE))),
    results(result("t1", ""), answer=uses("m2", "", ("t2", "execute_bash", SHELL))),
    results(result("t2", {"exit_status": "2", "stdout": "", "stderr": "no rule"}), answer=response("m3", "It fails.")),
]


def test_a_conversation_of_the_database(tmp_path: Path) -> None:
    converse(tmp_path, "c1", TALK)
    transcript = only(tmp_path)
    assert lines(transcript) == [("human", "make a file"), ("assistant", "Making it."), ("assistant", "It fails.")]
    assert [turn.native_id for turn in transcript.turns] == ["m1:prompt", "m1", "m3"]
    write, shell = transcript.calls
    assert (write.path, write.wrote, write.outcome, write.command) == ("/w/app/a", ("one", "two"), "ok", None)
    assert (shell.command, shell.outcome, shell.excerpt, shell.cwd) == ("make", "error", "no rule", "/w/app/lib")
    assert transcript.turns[0].occurred_at == datetime(2026, 7, 9, 4, 30, 16, 195641, tzinfo=UTC)
    assert transcript.turns[1].occurred_at == datetime.fromtimestamp(T0 / 1000, UTC)
    assert (transcript.native_id, transcript.cwds, transcript.model) == ("c1", ("/w/app",), None)


def test_a_call_waits_for_its_result_and_a_prompt_passes_it_over(tmp_path: Path) -> None:
    converse(tmp_path, "c1", TALK[:1])
    assert only(tmp_path).calls == ()
    converse(tmp_path, "c1", [TALK[0], prompt("stop", response("m9", "Stopped."))])
    assert [(call.outcome, call.wrote) for call in only(tmp_path).calls] == [(None, ())]
    cancelled = {"CancelledToolUses": {"prompt": "no, wait", "tool_use_results": [result("t1", "", "Error")]}}
    item = prompt("x", response("m9", "Waiting."))
    item["user"]["content"] = cancelled
    converse(tmp_path, "c1", [TALK[0], item])
    transcript = only(tmp_path)
    assert [(call.outcome, call.wrote) for call in transcript.calls] == [(None, ())]
    assert lines(transcript)[2:] == [("human", "no, wait"), ("assistant", "Waiting.")]


def test_a_conversation_that_goes_on_moves_its_revision_and_keeps_its_ids(tmp_path: Path) -> None:
    converse(tmp_path, "c1", TALK[:2])
    converse(tmp_path, "c2", TALK[:1])
    before = sources(tmp_path)
    converse(tmp_path, "c1", TALK, updated=T0 + 5)
    after = sources(tmp_path)
    assert before[0].key == after[0].key and before[0] != after[0] and before[1] == after[1]
    first, last = (parsed(tmp_path, found).transcripts[0] for found in (before[0], after[0]))
    converse(tmp_path, "c1", [*TALK, prompt("again", response("m8", "Again."))], updated=T0 + 6)
    assert only_named(tmp_path, "c1").turns[:3] == last.turns == first.turns


def only_named(home: Path, name: str) -> Any:
    (source,) = [source for source in sources(home) if source.key.endswith(f"#{name}")]
    return parsed(home, source).transcripts[0]


def test_the_newest_of_several_rows_wins_and_other_directories_stay_out(tmp_path: Path) -> None:
    converse(tmp_path, "c1", TALK[:1], "/w/app", T0)
    converse(tmp_path, "c1", [prompt("newer", response("m9", "Yes."))], "/w/elsewhere", T0 + 9)
    converse(tmp_path, "c2", TALK, "/w/app2")
    converse(tmp_path, "c3", TALK, "C:\\w\\app")
    transcript = only(tmp_path)
    assert lines(transcript) == [("human", "newer"), ("assistant", "Yes.")]
    assert transcript.cwds == ("/w/elsewhere", "/w/app")


def test_the_first_table_and_amazon_q(tmp_path: Path) -> None:
    pair = [{"content": {"Prompt": {"prompt": "old ways"}}}, response("m1", "Indeed.")]
    value = {"conversation_id": "q1", "history": [pair], "latest_summary": ["What came before.", None]}
    with closing(sqlite3.connect(database(tmp_path))) as live, live:
        for key in ("/w/app", "/w/app2"):
            live.execute("INSERT INTO conversations VALUES (?, ?)", (key, json.dumps(value)))
    transcript = only(tmp_path)
    assert lines(transcript) == [("summary", "What came before."), ("human", "old ways"), ("assistant", "Indeed.")]
    assert (transcript.native_id, transcript.cwds) == ("q1", ("/w/app",))


def test_a_broken_value_says_so_and_costs_no_other(tmp_path: Path) -> None:
    path = converse(tmp_path, "c1", "{not json")
    converse(tmp_path, "c2", TALK)
    broken, good = sources(tmp_path)
    with pytest.raises(SourceError, match="no readable conversation c1") as refused:
        parsed(tmp_path, broken)
    assert "not json" not in str(refused.value) and len(parsed(tmp_path, good).transcripts) == 1
    whole = parsed(tmp_path, as_source(path))
    assert len(whole.transcripts) == 1 and whole.drift == {"unreadable conversation": 1}
    assert ADAPTER.sniff(path.read_bytes()[:65536])
    path.write_bytes(path.read_bytes()[:30])
    (damaged,) = sources(tmp_path)
    with pytest.raises(SourceError):
        parsed(tmp_path, damaged)


def test_the_database_wins_over_the_flat_log(tmp_path: Path) -> None:
    converse(tmp_path, "c1", [prompt("from the database", response("m1", "Yes."))])
    flat_session(tmp_path, "c1", flat("Prompt", "p1", words("from the log")))
    assert lines(only(tmp_path))[0] == ("human", "from the database")


def test_a_locked_database_is_read_all_the_same(tmp_path: Path) -> None:
    path = converse(tmp_path, "c1", TALK)
    with closing(sqlite3.connect(path, isolation_level=None)) as live:
        live.execute("BEGIN EXCLUSIVE")
        assert len(only(tmp_path).turns) == 3
        live.execute("ROLLBACK")


def test_a_saved_conversation_is_recognised(tmp_path: Path) -> None:
    path = put(tmp_path / "saved.json", {"conversation_id": "c1", "history": TALK})
    assert ADAPTER.sniff(path.read_bytes())
    assert len(parsed(tmp_path, as_source(path)).transcripts[0].turns) == 3


def test_a_session_of_the_old_ide_takes_its_answers_from_its_executions(tmp_path: Path) -> None:
    file = ide_session(
        tmp_path,
        "s1",
        said("user", "# System Prompt\nbe kind", "m0"),
        said("user", "<EnvironmentContext>\nfiles\n</EnvironmentContext>\nfix the login", "m1"),
        said("assistant", "On it.", "m2", "x1"),
        said("user", "thanks", "m3"),
        said("assistant", "On it.", "m4", "gone"),
        said("assistant", "Welcome.", "m5", "gone"),
    )
    execution(
        tmp_path,
        "x1",
        action("a1", "readFiles", given={"files": [{"path": "a.py"}, {"path": "b.py"}]}),
        action("a2", "replace", "Accepted", {"file": "a.py", "originalContent": "x", "modifiedContent": "x\nnew line"}),
        action("a3", "replace", "Rejected", {"file": "a.py", "originalContent": "x", "modifiedContent": "never"}),
        action("a4", "runCommand", given={"command": "make"}, exitCode=2, output="no rule"),
        action("a5", "say", message="Fixed the login."),
    )
    execution(tmp_path, "x2", action("a1", "say", message="Of another session."))
    transcript = only(tmp_path)
    assert lines(transcript) == [
        ("human", "fix the login"),
        ("assistant", "Fixed the login."),
        ("human", "thanks"),
        ("assistant", "Welcome."),
    ]
    assert [(call.tool, call.path or call.command, call.outcome, call.wrote) for call in transcript.calls] == [
        ("readFiles", "a.py", "ok", ()),
        ("readFiles", "b.py", "ok", ()),
        ("replace", "a.py", "ok", ("new line",)),
        ("replace", "a.py", None, ()),
        ("runCommand", "make", "error", ()),
    ]
    assert transcript.calls[4].excerpt == "no rule" and transcript.calls[1].native_id == "x1/a1#2"
    assert (transcript.title, transcript.cwds) == ("Fix login", ("/w/app",))
    assert transcript.started_at == datetime.fromtimestamp(T0 / 1000, UTC) and ADAPTER.sniff(file.read_bytes())


def test_an_execution_that_still_runs_tells_what_is_done(tmp_path: Path) -> None:
    ide_session(tmp_path, "s1", said("user", "go", "m1"), said("assistant", "On it.", "m2", "x1"))
    ide_session(tmp_path, "s2", said("user", "elsewhere", "m1"), cwd="/w/app2")
    running = action("a2", "runCommand", "Running", {"command": "make"})
    execution(
        tmp_path,
        "x1",
        action("a1", "say", message="Going."),
        running,
        action("a3", "say", "Running", message="Ha"),
        status="running",
    )
    (before,) = sources(tmp_path)
    first = parsed(tmp_path, before).transcripts[0]
    assert lines(first) == [("human", "go"), ("assistant", "Going.")] and first.calls == ()
    done = action("a2", "runCommand", given={"command": "make"}, exitCode=0)
    execution(tmp_path, "x1", action("a1", "say", message="Going."), done, action("a3", "say", message="Had."))
    (after,) = sources(tmp_path)
    last = parsed(tmp_path, after).transcripts[0]
    assert (
        before != after and last.turns[:2] == first.turns and last.turns[2].content == "Had." and len(last.calls) == 1
    )


def test_the_oldest_chat_files(tmp_path: Path) -> None:
    folder = execution(tmp_path, "x1").parents[1]
    talk = [
        {"role": "human", "content": "<identity>\nYou are Kiro"},
        {"role": "bot", "content": "On it."},
        {"role": "human", "content": "add a test"},
        {"role": "tool", "content": "file body"},
        {"role": "bot", "content": "Added."},
    ]
    meta = {"modelId": "model-a", "workflow": "act", "startTime": T0, "endTime": T0 + 1}
    path = put(folder / "1.chat", {"executionId": "e1", "actionId": "act", "chat": talk, "metadata": meta})
    sorting = [{"role": "human", "content": "add a test"}, {"role": "bot", "content": '{"chat":0.1,"do":0.9,"spec":0}'}]
    put(folder / "2.chat", {"executionId": "e2", "actionId": "act", "chat": sorting, "metadata": meta})
    first, second = (parsed(tmp_path, source).transcripts[0] for source in sources(tmp_path))
    assert lines(first) == [("human", "add a test"), ("assistant", "Added.")] and second.turns == ()
    assert (first.native_id, first.model, first.cwds) == ("e1", "model-a", ("/w/app",))
    assert ADAPTER.sniff(path.read_bytes()) and ide_folder(tmp_path).is_dir()


@settings(max_examples=40, deadline=None)
@given(changes=st.lists(mutations(), min_size=3, max_size=3))
def test_a_mutated_conversation_raises_source_error_at_worst(
    tmp_path_factory: pytest.TempPathFactory, changes: list[Any]
) -> None:
    home = tmp_path_factory.mktemp("home")
    path = converse(home, "c1", [change(item) for change, item in zip(changes, TALK, strict=True)])
    for source in sources(home):
        try:
            (transcript,) = parsed(home, source).transcripts
        except SourceError as error:
            assert str(path) in str(error)
        else:
            assert all(-1 <= call.turn < len(transcript.turns) for call in transcript.calls)


@settings(max_examples=40, deadline=None)
@given(change=mutations(), place=st.integers(0, 2))
def test_a_mutated_ide_session_raises_source_error_at_worst(
    tmp_path_factory: pytest.TempPathFactory, change: Any, place: int
) -> None:
    home = tmp_path_factory.mktemp("home")
    session = ide_session(home, "s1", said("user", "go", "m1"), said("assistant", "On it.", "m2", "x1"))
    edit = action("a1", "replace", "Accepted", {"file": "a.py", "originalContent": "x", "modifiedContent": "y"})
    file = execution(home, "x1", edit, action("a2", "say", message="Going."))
    target = [session, session.with_name("sessions.json"), file][place]
    put(target, change(json.loads(target.read_text())))
    for source in sources(home):
        try:
            (transcript,) = parsed(home, source).transcripts
        except SourceError as error:
            assert str(home) in str(error)
        else:
            assert all(turn.content.strip() for turn in transcript.turns)
