"""Kiro's logs: flat ones of the command line, those that IDE and CLI share; pieces, damage, counts over recordings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekal.agents.contract import Resume, Source
from rekal.agents.kiro.adapter import ADAPTER
from rekal.errors import SourceError
from tests.agents.adapter_checks import JUNK, SHARED, check_golden, counts, mutations, shared_file
from tests.agents.kiro_maker import (
    as_source,
    event,
    flat,
    flat_result,
    flat_session,
    flat_use,
    lines,
    only,
    parsed,
    put_lines,
    shared_session,
    sources,
    words,
)  # fmt: skip

STAMP = {"meta": {"timestamp": 1783600860.5}}
EDIT = {"path": "a.py", "oldStr": "x", "newStr": "x\nnew line"}

FLAT = [
    flat("Prompt", "p1", words("tidy up"), **STAMP),
    flat("AssistantMessage", "a1", words("On it."), flat_use("t1", "execute_bash", command="make")),
    flat("ToolResults", "r1", flat_result("t1", "no rule", "error")),
    flat("AssistantMessage", "a2", {"kind": "thinking", "data": {"text": "hm"}}, flat_use("t2", "str_replace", **EDIT)),
    flat("ToolResults", "r2", flat_result("t2", "ok")),
    flat("AssistantMessage", "a3", words("Tidied.")),
    flat("Clear", "c1"),
    flat("Prompt", "p2", words("tidy up"), **STAMP),
    flat("AssistantMessage", "a4", flat_use("t3", "fs_read", path="a.py")),
]

LOG = [
    event("u1", "user", content="add a probe", images=[]),
    event("s1", "turn_start", executionId="x"),
    event("r1", "assistant", 2, content="...", operationType="Reasoning"),
    event("a1", "assistant", 3, content="Reading.", operationType="Say"),
    event("c1", "tool_call", 4, toolCallId="t1", toolName="str_replace", args=EDIT, status="running"),
    event("c1r", "tool_result", 5, toolCallId="t1", success=True, content="ok"),
    event("c2", "tool_call", 6, toolCallId="t2", toolName="execute_bash", args={"command": "make"}),
    event("u2", "user", 7, content=[{"type": "text", "text": "and a second"}], source="steer"),
    event("c2r", "tool_result", 8, toolCallId="t2", success=False, content="no rule"),
    event("a2", "assistant", 9, content="Both are in.", operationType="Print"),
    event("z1", "session_start", 10, content="You are an agent"),
    event("b1", "tombstone", 11, kind="summarization", effectiveFromMessageId="a1"),
    event("m1", "assistant", 12, content="So far: probes.", operationType="Summary"),
    event("n1", "novelty", 13),
    event("c3", "tool_call", 14, toolCallId="t3", toolName="read_file", args={"path": "b.py"}),
]


def test_a_flat_session(tmp_path: Path) -> None:
    flat_session(tmp_path, "f1", *FLAT)
    transcript = only(tmp_path)
    assert lines(transcript) == [
        ("human", "tidy up"),
        ("assistant", "On it."),
        ("assistant", "Tidied."),
        ("human", "tidy up"),
    ]
    assert [(call.path or call.command, call.outcome, call.wrote, call.turn) for call in transcript.calls] == [
        ("make", "error", (), 1),
        ("a.py", "ok", ("new line",), 1),
    ]
    assert transcript.calls[0].excerpt == "no rule"
    assert transcript.turns[0].occurred_at == datetime.fromtimestamp(1783600860.5, UTC)
    assert (transcript.native_id, transcript.title, transcript.cwds) == ("f1", "Tidy up", ("/w/app",))
    assert transcript.started_at == datetime(2026, 7, 9, 10, 1, tzinfo=UTC)


def test_flat_sessions_of_other_directories_stay_out_and_subagents_are_agents(tmp_path: Path) -> None:
    flat_session(tmp_path, "f1", *FLAT, cwd="/w/app2")
    state = {"agent_name": "reviewer", "rts_model_state": {"model_info": {"model_id": "model-a"}}}
    flat_session(tmp_path, "f2", *FLAT, cwd="/w/app/lib", session_created_reason="subagent", session_state=state)
    transcript = only(tmp_path)
    assert (transcript.native_id, transcript.actor, transcript.agent_type) == ("f2", "agent", "reviewer")
    assert transcript.model == "model-a"
    assert [source.path.stem for source in sources(tmp_path, "/w/app2")] == ["f1"]
    moved = tmp_path / "elsewhere"
    (tmp_path / ".kiro").rename(moved)
    assert len(sources(tmp_path, KIRO_HOME=str(moved))) == 1 and sources(tmp_path) == []


def test_a_call_asked_again_replaces_its_draft(tmp_path: Path) -> None:
    twice = [
        flat("AssistantMessage", "a0", flat_use("t2", "str_replace", path="?")),
        flat("AssistantMessage", "a2", flat_use("t2", "str_replace", **EDIT)),
    ]
    flat_session(tmp_path, "f1", FLAT[0], *twice, FLAT[4])
    assert [(call.path, call.outcome) for call in only(tmp_path).calls] == [("a.py", "ok")]


def test_a_shared_session(tmp_path: Path) -> None:
    path = shared_session(tmp_path, "sess_1", *LOG)
    (source,) = sources(tmp_path)
    result = parsed(tmp_path, source)
    (transcript,) = result.transcripts
    assert lines(transcript) == [
        ("human", "add a probe"),
        ("assistant", "Reading."),
        ("steering", "and a second"),
        ("assistant", "Both are in."),
        ("summary", "So far: probes."),
    ]
    assert [(call.path or call.command, call.outcome, call.wrote, call.turn) for call in transcript.calls] == [
        ("a.py", "ok", ("new line",), 1),
        ("make", "error", (), 1),
    ]
    assert result.drift == {"type novelty": 1} and ADAPTER.sniff(path.read_bytes())
    assert (transcript.title, transcript.cwds, transcript.model) == ("Add probes", ("/w/app",), None)
    assert transcript.turns[1].occurred_at == datetime(2026, 9, 3, 10, 0, 3, tzinfo=UTC)


def test_an_interrupted_call_has_no_outcome(tmp_path: Path) -> None:
    stopped = event("c1r", "tool_result", 5, toolCallId="t1", success=False, content="Tool execution interrupted")
    shared_session(tmp_path, "sess_1", LOG[0], LOG[4], stopped)
    assert [(call.outcome, call.wrote) for call in only(tmp_path).calls] == [(None, ())]


def test_children_and_tangents_of_shared_sessions(tmp_path: Path) -> None:
    parent = shared_session(tmp_path, "sess_1", LOG[0])
    shared_session(tmp_path, "sess_2", LOG[0], parentSessionId="sess_1")
    shared_session(tmp_path, "sess_3", LOG[0], parentSessionId="sess_1", createdReason="tangent")
    shared_session(tmp_path, "sess_4", LOG[0], cwd="/w/app2")
    found = sources(tmp_path)
    told = [parsed(tmp_path, source).transcripts[0] for source in found]
    assert [(one.native_id, one.actor, one.parent_native_id, one.forked_from) for one in told] == [
        ("sess_1", "human", None, None),
        ("sess_2", "agent", "sess_1", None),
        ("sess_3", "human", None, "sess_1"),
    ]
    assert found[1].parent_key == str(parent) and found[0].parent_key is None


def test_without_a_description_the_bucket_names_the_directory(tmp_path: Path) -> None:
    for cwd in ("/w/app", "/w/app2"):
        shared_session(tmp_path, f"sess_{cwd[-1]}", *LOG, cwd=cwd).with_name("session.json").unlink()
    transcript = only(tmp_path)
    assert (transcript.native_id, transcript.cwds) == ("sess_p", ("/w/app",))
    assert hashlib.sha256(b"/w/app").hexdigest()[:16] == sources(tmp_path)[0].path.parents[1].name


def read_pieces(home: Path, path: Path, cuts: list[int]) -> tuple[dict[str | None, Any], dict[str | None, Any]]:
    """Turns and calls by id after reading the file as it grew to each of ``cuts``."""
    data, resume = path.read_bytes(), None
    turns: dict[str | None, Any] = {}
    calls: dict[str | None, Any] = {}
    for cut in [*cuts, len(data)]:
        path.write_bytes(data[:cut])
        result = parsed(home, as_source(path), resume)
        resume = Resume(result.offset, result.prefix_hash)
        (transcript,) = result.transcripts
        for turn in transcript.turns:
            assert turns.setdefault(turn.native_id, (turn.role, turn.content)) == (turn.role, turn.content)
        for call in transcript.calls:
            owner = transcript.turns[call.turn].native_id if call.turn >= 0 else None
            calls.setdefault(call.native_id, (call.path, call.command, call.outcome, call.wrote, owner))
        assert not result.restarted
    return turns, calls


@pytest.mark.parametrize("form", ["flat", "shared"])
def test_pieces_give_what_the_whole_gives(tmp_path: Path, form: str) -> None:
    records = FLAT if form == "flat" else LOG
    path = flat_session(tmp_path, "f1", *records) if form == "flat" else shared_session(tmp_path, "sess_1", *records)
    whole = read_pieces(tmp_path, path, [])
    ends = [end for end, byte in enumerate(path.read_bytes(), 1) if byte == 10]
    assert len(ends) == len(records) and len(whole[1]) == 2
    for cut in [*ends, *(end - 20 for end in ends)]:
        assert read_pieces(tmp_path, path, [cut]) == whole
    assert read_pieces(tmp_path, path, ends[:-1]) == whole


def test_broken_lines_cost_themselves_and_an_unreadable_log_says_so(tmp_path: Path) -> None:
    path = flat_session(tmp_path, "f1", *FLAT[:2])
    path.write_bytes(
        path.read_bytes()
        + b'{"version":"v1","kind":"Prompt","data":{"message_id":"BRO\n'
        + json.dumps(FLAT[5]).encode()
        + b"\n"
    )
    (source,) = sources(tmp_path)
    result = parsed(tmp_path, source)
    assert [content for _, content in lines(result.transcripts[0])] == ["tidy up", "On it.", "Tidied."]
    assert result.skipped_bytes > 0
    path.write_bytes(b"nothing\nof use\n")
    with pytest.raises(SourceError, match="no record can be read"):
        parsed(tmp_path, source)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), junk=st.binary(max_size=40), form=st.sampled_from(["flat", "shared"]))
def test_mutated_records_raise_source_error_at_worst(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, junk: bytes, form: str
) -> None:
    home = tmp_path_factory.mktemp("home")
    records = FLAT if form == "flat" else LOG
    path = flat_session(home, "f1") if form == "flat" else shared_session(home, "sess_1")
    meta = path.with_suffix(".json") if form == "flat" else path.with_name("session.json")
    put_lines(path, *(data.draw(mutations())(record) for record in records))
    path.write_bytes(path.read_bytes() + junk)
    meta.write_text(json.dumps(data.draw(mutations())(json.loads(meta.read_text()))))
    for source in [*sources(home), as_source(path)]:
        try:
            (transcript,) = parsed(home, source).transcripts
        except SourceError as error:
            assert str(path) in str(error)
        else:
            assert all(turn.content.strip() for turn in transcript.turns)
            assert all(-1 <= call.turn < len(transcript.turns) for call in transcript.calls)


def shared_sources() -> Iterator[Source]:
    root = SHARED / "fixtures/kiro"
    yield from (as_source(path) for path in sorted(root.rglob("*.jsonl")))
    yield from (as_source(path) for path in sorted(root.rglob("*payload.json")))
    yield as_source(root / "superbased/conversations_v2-value.json")
    yield as_source(root / "derived/data.sqlite3")
    yield from (as_source(path) for path in sorted(root.glob("constructed-ide-0.x/kiro.kiroagent/*/*/7f*.json")))


@pytest.mark.shared
def test_counts_over_the_shared_recordings(tmp_path: Path) -> None:
    root = shared_file("fixtures/kiro")
    found = {str(source.path.relative_to(root)): counts(ADAPTER, source, tmp_path) for source in shared_sources()}
    check_golden("kiro", found)


@pytest.mark.shared
def test_no_file_of_another_agent_is_claimed_and_every_own_one_is() -> None:
    root = shared_file("fixtures")
    files = [path for path in sorted(root.rglob("*")) if path.is_file()]
    claimed = {str(path.relative_to(root)) for path in files if ADAPTER.sniff(path.read_bytes()[:65536])}
    assert claimed >= {str(source.path.relative_to(root)) for source in shared_sources()}
    assert all(name.startswith("kiro/") for name in claimed)


@pytest.mark.parametrize("junk", JUNK)
def test_junk_is_not_claimed(junk: bytes) -> None:
    assert not ADAPTER.sniff(junk)
