"""What Claude Code's records mean."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rekal.agents.claude.adapter import ADAPTER
from rekal.agents.contract import Adapter, Where
from rekal.errors import SourceError
from rekal.model import Transcript
from tests.agents.claude_log import SESSION, Log, sidechain
from tests.agents.pieces import only, read, said, write_lines


def parsed(log: Log, folder: Path) -> Transcript:
    return only(log.parse(folder))


def test_a_small_session(tmp_path: Path) -> None:
    log = Log()
    prompt = log.human("fix the typo")
    log.says("Fixing.", "m1")
    log.cwd = "/w/app/docs"
    log.calls("t1", "Read", "m1", file_path="/w/app/docs/a.md")
    log.result("t1")
    found = log.parse(tmp_path)
    transcript = only(found)
    assert (transcript.agent, transcript.native_id, transcript.actor) == ("claude", SESSION, "human")
    assert said(transcript) == [("human", "fix the typo"), ("assistant", "Fixing.")]
    assert transcript.cwds == ("/w/app", "/w/app/docs")
    assert (transcript.branches, transcript.model, transcript.title) == (("main",), "claude-opus-4", "fix the typo")
    assert transcript.started_at == datetime(2026, 2, 3, 10, 0, 1, tzinfo=UTC)
    assert (transcript.turns[0].native_id, transcript.turns[0].shared) == (prompt["uuid"], True)
    (call,) = transcript.calls
    assert (call.tool, call.turn, call.path, call.cwd, call.outcome) == (
        "Read",
        1,
        "/w/app/docs/a.md",
        "/w/app/docs",
        "ok",
    )
    assert (found.skipped_bytes, dict(found.drift), found.restarted) == (0, {}, False)


def test_what_the_client_made_up_is_dropped(tmp_path: Path) -> None:
    log = Log()
    log.human("go")
    log.says("API Error: overloaded", "m1", isApiErrorMessage=True)
    log.blocks({"type": "text", "text": "No response requested."}, model="<synthetic>")
    log.human("injected", isMeta=True)
    log.human("text of a skill", sourceToolUseID="t1")
    log.human("done", origin={"kind": "task-notification"}, promptSource="system")
    log.human("<task-notification>\n<task-id>x</task-id>\n</task-notification>")
    log.blocks({"type": "thinking", "thinking": "secret thoughts"})
    assert said(parsed(log, tmp_path)) == [("human", "go")]


def test_only_what_a_person_said_is_a_persons(tmp_path: Path) -> None:
    log = Log()
    log.human("typed", origin={"kind": "human"}, promptSource="typed")
    log.human("of a hook", origin={"kind": "hook"})
    log.human("of something new", origin={"kind": "daydream"})
    log.human("asked by something new", promptSource="oracle")
    log.human(
        '<channel source="plugin:chat" user="ann">from a channel</channel>', isMeta=True, origin={"kind": "channel"}
    )
    log.human("5 total, listing of a tool", toolUseResult={"stdout": "total 0", "stderr": ""})
    found = parsed(log, tmp_path)
    assert said(found) == [("human", "typed"), ("human", "from a channel")]


def test_a_source_of_prompts_that_is_not_known_is_counted(tmp_path: Path) -> None:
    log = Log()
    log.human("go")
    log.human("of something new", origin={"kind": "daydream"})
    log.human("of a hook", origin={"kind": "hook"})
    assert dict(log.parse(tmp_path).drift) == {"origin daydream": 1}


def test_compaction_and_an_accepted_plan(tmp_path: Path) -> None:
    log = Log()
    log.human("Implement the following plan:\n\n# Cache", planContent="# Cache")
    log.chain("system", subtype="compact_boundary", logicalParentUuid="x")
    log.human("What happened so far.", isCompactSummary=True)
    log.human("This session is being continued from a previous conversation that ran out of context. Done: X")
    roles = [role for role, _ in said(parsed(log, tmp_path))]
    assert roles == ["assistant", "summary", "summary"]


def test_steering_is_heard_once(tmp_path: Path) -> None:
    log = Log()
    log.human("go")
    log.enqueue("use tabs")
    log.queued("use tabs")
    log.human("use tabs", promptSource="queued")
    log.enqueue([{"type": "text", "text": "and spaces"}])
    log.queued([{"type": "text", "text": "only the attachment"}])
    log.enqueue("<task-notification>done</task-notification>")
    log.enqueue("/theme")
    log.queued("<task-notification>done</task-notification>")
    log.queued("machine", commandMode="task-notification")
    log.queued("machine", origin={"kind": "task-notification"})
    log.side("queue-operation", operation="dequeue")
    log.human("use tabs")
    assert said(parsed(log, tmp_path)) == [
        ("human", "go"),
        ("steering", "use tabs"),
        ("steering", "and spaces"),
        ("steering", "only the attachment"),
        ("human", "use tabs"),
    ]


def test_titles(tmp_path: Path) -> None:
    log = Log()
    log.side("summary", summary="Of another session", leafUuid="unknown")
    prompt = log.human("first prompt\nsecond line")
    assert parsed(log, tmp_path).title == "first prompt"
    log.side("summary", summary="Of this session", leafUuid=prompt["uuid"])
    assert parsed(log, tmp_path).title == "Of this session"
    log.side("ai-title", aiTitle="Early")
    log.side("ai-title", aiTitle="Late")
    assert parsed(log, tmp_path).title == "Late"
    log.side("custom-title", customTitle="Chosen")
    log.side("ai-title", aiTitle="Later still")
    assert parsed(log, tmp_path).title == "Chosen"


def test_a_continued_reading_takes_no_title_from_its_first_prompt(tmp_path: Path) -> None:
    log = Log()
    log.human("first")
    before = log.parse(tmp_path)
    log.human("second")
    assert only(read(ADAPTER, log.write(tmp_path), before)).title is None


def test_a_resumed_copy_shares_its_turns_and_names_its_origin(tmp_path: Path) -> None:
    log = Log()
    log.human("hello")
    log.says("Hi.", "m1")
    first = parsed(log, tmp_path)
    copy = "5e55a000-0000-4000-8000-000000000002"
    log.records[1]["sessionId"] = copy
    log.records[1]["timestamp"] = "2026-03-01T00:00:00Z"
    log.human("hello again")
    second = only(read(ADAPTER, log.write(tmp_path, copy)))
    assert (second.native_id, second.forked_from) == (copy, SESSION)
    assert first.forked_from is None
    shared = [(turn.native_id, turn.content, turn.shared) for turn in second.turns]
    assert shared[:2] == [(turn.native_id, turn.content, True) for turn in first.turns]


def test_records_copied_within_one_file_count_once(tmp_path: Path) -> None:
    log = Log()
    log.human("hello")
    log.says("Hi.", "m1")
    log.records += log.records[:]
    assert said(parsed(log, tmp_path)) == [("human", "hello"), ("assistant", "Hi.")]


def test_sub_agents_inside_the_file(tmp_path: Path) -> None:
    log = Log()
    log.human("test it")
    log.calls("t1", "Task", prompt="Run the tests", subagent_type="runner", description="Tests")
    log.records += sidechain(log)
    log.result("t1")
    main, child = log.parse(tmp_path).transcripts
    assert said(main) == [("human", "test it")]
    assert (child.actor, child.parent_native_id) == ("agent", SESSION)
    assert (child.agent_type, child.description) == ("runner", "Tests")
    assert said(child) == [
        ("human", "Run the tests"),
        ("assistant", "Running.\nStill running."),
        ("assistant", "All passed."),
    ]
    assert [call.command for call in child.calls] == ["pytest"]


@pytest.mark.parametrize("folder", ["", f"{SESSION}/subagents", f"{SESSION}/subagents/workflows/w1"])
def test_sub_agents_in_files_of_their_own(tmp_path: Path, folder: str) -> None:
    log = Log()
    log.human("Search for it", isSidechain=True, agentId="ab12")
    log.says("Found.", isSidechain=True, agentId="ab12", attributionAgent="explorer")
    path = write_lines(tmp_path / folder / "agent-ab12.jsonl", log.records)
    child = only(read(ADAPTER, path))
    assert (child.native_id, child.parent_native_id, child.actor) == (f"{SESSION}/ab12", SESSION, "agent")
    assert (child.agent_type, child.title) == ("explorer", None)
    meta = {"agentType": "scout", "description": "Look around", "spawnDepth": 2, "toolUseId": "t"}
    path.with_suffix(".meta.json").write_text(json.dumps(meta), encoding="utf-8")
    child = only(read(ADAPTER, path))
    assert (child.agent_type, child.description, child.spawn_depth) == ("scout", "Look around", 2)
    path.with_suffix(".meta.json").write_text("{broken", encoding="utf-8")
    assert read(ADAPTER, path).skipped_bytes == len("{broken")


def test_records_without_ids_are_known_by_place_and_content(tmp_path: Path) -> None:
    lines = [{"type": "user", "message": {"content": text}} for text in ("yes", "yes", "no")]
    turns = only(read(ADAPTER, write_lines(tmp_path / "s.jsonl", lines))).turns
    assert [turn.content for turn in turns] == ["yes", "yes", "no"]
    assert len({turn.native_id for turn in turns}) == 3
    assert not any(turn.shared for turn in turns)
    exported = only(read(ADAPTER, write_lines(tmp_path / "x.json", [{"loglines": [*lines, None]}])))
    assert [turn.content for turn in exported.turns] == ["yes", "yes", "no"]
    assert len({turn.native_id for turn in exported.turns}) == 3


def test_unknown_record_types_are_counted(tmp_path: Path) -> None:
    log = Log()
    log.human("go")
    log.side("hologram")
    log.side("hologram")
    log.records.append({"no": "type"})
    assert dict(log.parse(tmp_path).drift) == {"hologram": 2, "": 1}


def test_text_is_valid_unicode(tmp_path: Path) -> None:
    log = Log()
    log.human("half \ud83d here", cwd="/w/\udc00")
    transcript = parsed(log, tmp_path)
    assert said(transcript) == [("human", "half \ufffd here")]
    assert transcript.cwds == ("/w/\ufffd",)


def test_a_damaged_line_costs_only_itself(tmp_path: Path) -> None:
    log = Log()
    log.human("one")
    log.human("two")
    path = log.write(tmp_path)
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + first[:100] + second + b"garbage\n")
    found = read(ADAPTER, path)
    assert said(only(found)) == [("human", "one"), ("human", "two")]
    assert found.skipped_bytes == 108


def test_a_file_of_nothing_is_refused_and_an_empty_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\x00\x01garbage\nmore\n")
    with pytest.raises(SourceError, match="no record"):
        read(ADAPTER, path)
    path.write_bytes(b"")
    assert read(ADAPTER, path).transcripts == ()


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b'{"type":"user","message":{"content":"x"}}\n', True),
        (b'{"type":"summary","summary":"x","leafUuid":"y"}\n', True),
        (b'{"type":"file-history-snapshot","snapshot":{}}\n', True),
        (b'\n{"type":"queue-operation","sessionId":"x"}\n', True),
        (b'{"parentUuid":null,"sessionId":"x","message":{"content":"cut of', True),
        (b'{\n "loglines": [', True),
        (b'{"timestamp":"x","type":"session_meta","payload":{}}\n', False),
        (b'{"role":"user","message":{"content":[]},"type":"user"}\n', False),
        (b'{"type":"session.start","data":{"sessionId":"x"}}\n', False),
        (b"", False),
        (b"SQLite format 3\0", False),
        (b"[" * 100_000, False),
    ],
)
def test_sniff(head: bytes, expected: bool) -> None:
    assert ADAPTER.sniff(head) is expected


def test_the_adapter_keeps_the_contract(tmp_path: Path) -> None:
    adapter: Adapter = ADAPTER
    assert adapter.name == "claude"
    assert list(adapter.discover(Where(tmp_path, (tmp_path,)))) == []
