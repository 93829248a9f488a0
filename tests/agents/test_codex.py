"""Codex roll-outs: who said what, what the calls did, what is a copy, what is noise."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekal.agents.codex.adapter import ADAPTER
from rekal.agents.codex.code_mode import script_calls, script_patches
from rekal.agents.codex.noise import typed_text
from rekal.model import RawCall, Transcript
from tests.agents.codex_log import (
    SESSION,
    TURNS,
    answer,
    call,
    context,
    custom,
    done,
    event,
    heard,
    item,
    meta,
    output,
    prompt,
    record,
    started,
    typed,
    write,
)
from tests.agents.pieces import only, read, said

PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-old\n+new line\n*** Add File: b.md\n+# Notes\n*** End Patch"


def parsed(tmp_path: Path, *records: dict[str, object]) -> Transcript:
    return only(read(ADAPTER, write(tmp_path, *records)))


def told(one: RawCall) -> tuple[object, ...]:
    return (one.tool, one.native_id, one.path, one.command, one.outcome, one.wrote)


def test_a_session_of_two_tasks(tmp_path: Path) -> None:
    transcript = parsed(
        tmp_path,
        meta(),
        item("message", role="developer", content=[{"type": "input_text", "text": "<permissions>"}]),
        *prompt(0, "rename the parser"),
        *answer("Renaming."),
        call("call_1", "exec_command", {"cmd": "git mv a.py b.py", "workdir": "/w/app"}),
        output("call_1", "Command: git mv a.py b.py\nProcess exited with code 0\nOutput:\n"),
        *answer("Renamed."),
        done(0),
        *prompt(1, "thanks"),
        done(1),
    )
    assert said(transcript) == [
        ("human", "rename the parser"),
        ("assistant", "Renaming."),
        ("assistant", "Renamed."),
        ("human", "thanks"),
    ]
    (only_call,) = transcript.calls
    assert told(only_call) == ("exec_command", "call_1", None, "git mv a.py b.py", "ok", ())
    assert only_call.turn == 1
    assert transcript.turns[1].model == "model-a" and transcript.turns[0].model is None
    assert transcript.native_id == SESSION and transcript.actor == "human"
    assert (transcript.cwds, transcript.branches, transcript.model) == (("/w/app",), ("main",), "model-a")
    assert transcript.started_at is not None and transcript.started_at.isoformat() == "2026-03-01T10:00:00+00:00"
    assert len({turn.native_id for turn in transcript.turns}) == 4


def test_a_second_prompt_within_a_task_steers_it(tmp_path: Path) -> None:
    transcript = parsed(
        tmp_path,
        *(meta(), *prompt(0, "go"), *typed("but not there"), *answer("ok"), done(0), *prompt(1, "next")),
    )
    assert [role for role, _ in said(transcript)] == ["human", "steering", "assistant", "human"]


def test_an_interrupted_task_is_not_steered(tmp_path: Path) -> None:
    aborted = event("turn_aborted", turn_id=TURNS[0], reason="interrupted")
    transcript = parsed(tmp_path, meta(), *prompt(0, "go"), aborted, *typed("again"))
    assert [role for role, _ in said(transcript)] == ["human", "human"]


def test_without_typed_events_the_models_input_counts_once_it_was_answered(tmp_path: Path) -> None:
    environment = heard("<environment_context>\n  <cwd>/w/app</cwd>\n</environment_context>")
    asked = [meta(), context(), environment, heard("what is this")]
    assert said(parsed(tmp_path, *asked)) == []
    assert said(parsed(tmp_path, *asked, *answer("A parser."))) == [
        ("human", "what is this"),
        ("assistant", "A parser."),
    ]


def completed(kind: str, words: str) -> dict[str, object]:
    return event("item_completed", item={"type": kind, "id": "x", "content": [{"type": "text", "text": words}]})


def test_completed_items_of_paginated_histories(tmp_path: Path) -> None:
    transcript = parsed(
        tmp_path,
        *(meta(history_mode="paginated"), started(), context(), heard("count"), completed("UserMessage", "count")),
        *(completed("AgentMessage", "One."), *answer("One."), *answer("Two."), completed("AgentMessage", "Two.")),
        *(completed("AgentMessage", "Three."), completed("UserMessage", "enough")),
    )
    assert said(transcript) == [
        ("human", "count"),
        ("assistant", "One."),
        ("assistant", "Two."),
        ("assistant", "Three."),
        ("steering", "enough"),
    ]


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ("# AGENTS.md instructions for /w/app\n\n<INSTRUCTIONS>be brief</INSTRUCTIONS>", None),
        ("<environment_context>\n<cwd>/w</cwd>\n</environment_context>", None),
        ("<turn_aborted>\nThe user interrupted", None),
        ("<skill>\n<name>x</name>", None),
        ("You are agent one, see /root for notes. You are the primary agent", None),
        ("# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nfix a.py\n", "fix a.py"),
        ("\n# Files mentioned by the user:\n\n## x.png\n\n## My request for Codex:\nlike this", "like this"),
        ('<image name="[Image #1]">\n</image>\nmatch this', "match this"),
        ("# My own heading\ntext", "# My own heading\ntext"),
        ("   ", None),
    ],
)
def test_what_was_typed(sent: str, meant: str | None) -> None:
    assert typed_text(sent) == meant


def test_edits_come_from_the_report_where_there_is_one(tmp_path: Path) -> None:
    changes = {
        "/w/app/src/a.py": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-old\n+new line\n", "move_path": None},
        "/w/app/b.md": {"type": "add", "content": "# Notes\nmore\n"},
        "/w/app/c.md": {"type": "delete", "content": "gone\n"},
    }
    transcript = parsed(
        tmp_path,
        *(meta(), *prompt(0, "edit"), custom("call_1", "apply_patch", PATCH)),
        event("patch_apply_end", call_id="call_1", success=True, changes=changes),
        item("custom_tool_call_output", call_id="call_1", output='{"output":"Success","metadata":{"exit_code":0}}'),
    )
    assert [told(one) for one in transcript.calls] == [
        ("apply_patch", "call_1#1", "/w/app/src/a.py", None, "ok", ("new line",)),
        ("apply_patch", "call_1#2", "/w/app/b.md", None, "ok", ("# Notes", "more")),
        ("apply_patch", "call_1#3", "/w/app/c.md", None, "ok", ()),
    ]


def test_edits_from_the_patch_itself_are_relative_to_the_turn(tmp_path: Path) -> None:
    failed = "apply_patch verification failed: Failed to find expected lines in b.md"
    transcript = parsed(
        tmp_path,
        *(meta(), started(), context(cwd="/w/app/sub"), *typed("edit")),
        *(call("call_1", "apply_patch", {"patch": PATCH}), output("call_1", "Success. Updated the following files:")),
        *(custom("call_2", "apply_patch", PATCH), output("call_2", failed)),
        call(
            "call_3", "shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF"], "workdir": "/w/lib"}
        ),
        output("call_3", '{"output":"done","metadata":{"exit_code":0}}'),
    )
    assert [(one.native_id, one.path, one.cwd, one.outcome, one.wrote) for one in transcript.calls] == [
        ("call_1#1", "src/a.py", "/w/app/sub", "ok", ("new line",)),
        ("call_1#2", "b.md", "/w/app/sub", "ok", ("# Notes",)),
        ("call_2#1", "src/a.py", "/w/app/sub", "error", ()),
        ("call_2#2", "b.md", "/w/app/sub", "error", ()),
        ("call_3#1", "src/a.py", "/w/lib", "ok", ("new line",)),
        ("call_3#2", "b.md", "/w/lib", "ok", ("# Notes",)),
    ]
    assert transcript.calls[2].excerpt == failed
    assert transcript.cwds == ("/w/app", "/w/app/sub")


@pytest.mark.parametrize(
    ("said_by_tool", "outcome"),
    [
        ("Exit code: 2\nWall time: 1 seconds\nOutput:\nboom", "error"),
        ("Command: make\nChunk ID: 1\nProcess exited with code 0\nOutput:\nExit code: 9", "ok"),
        ("Chunk ID: 1\nProcess running with session ID 7\nOutput:\n", None),
        ("aborted by user after 2.1s", "error"),
        ("Plan updated", "ok"),
        ([{"type": "input_text", "text": "Script failed\nError: no"}], "error"),
        ({"content": "denied", "success": False}, "error"),
        ({"type": "input_text", "text": "a.txt"}, "ok"),
        ("", "ok"),
    ],
)
def test_outcomes(tmp_path: Path, said_by_tool: object, outcome: str | None) -> None:
    records = [meta(), *prompt(0, "go"), call("c", "exec_command", {"cmd": "make"}), output("c", said_by_tool)]
    (one,) = parsed(tmp_path, *records).calls
    assert one.outcome == outcome


def test_a_program_is_told_call_by_call(tmp_path: Path) -> None:
    source = (
        "// tools.exec_command({cmd: 'never'})\n"
        "const [a, b] = await Promise.all([tools.exec_command({cmd: \"git status\", workdir: '/w/app'}),\n"
        "  tools.exec_command({'cmd': `grep \"x\" \\`f\\``})]);\n"
        'const patch = "*** Begin Patch\\n*** Add File: n.py\\n+print(\\"hi\\")\\n*** End Patch";\n'
        "await tools.apply_patch(patch); await tools.mcp__docs__search({query: 'q'}); text(a.output);"
    )
    records = [meta(), *prompt(0, "go"), custom("c", "exec", source)]
    finished = output("c", [{"type": "input_text", "text": "Script completed\nWall time 0.2 seconds\nOutput:\n"}])
    assert [told(one) for one in parsed(tmp_path, *records, finished).calls] == [
        ("exec_command", "c#1", None, "git status", "ok", ()),
        ("exec_command", "c#2", None, 'grep "x" `f`', "ok", ()),
        ("mcp__docs__search", "c#3", None, None, "ok", ()),
        ("apply_patch", "c#4", "n.py", None, "ok", ('print("hi")',)),
    ]
    change = {"/w/app/n.py": {"type": "add", "content": 'print("hi")\n'}}
    report = event("patch_apply_end", call_id="exec-1", success=True, changes=change)
    reported = parsed(tmp_path, *records, report, finished).calls
    assert [(one.native_id, one.path) for one in reported if one.tool == "apply_patch"] == [("exec-1", "/w/app/n.py")]


def test_commands_that_a_program_lists() -> None:
    listed = 'const all = [["a", {cmd: "make", workdir: "/w"}], ["b", {cmd: "ls"}]];'
    source = listed + " for (const [, x] of all) await tools.exec_command(x);"
    assert [one.arguments for one in script_calls(source)] == [{"cmd": "make", "workdir": "/w"}, {"cmd": "ls"}]
    assert script_calls('tools.exec_command({cmd: "echo \\ud83d\\ude00 \\u{e9}\\x41"})')[0].arguments == {
        "cmd": "echo \U0001f600 éA"
    }
    joined = 'tools.apply_patch(["*** Begin Patch", "*** Delete File: x", "*** End Patch"].join("\\n"))'
    assert [file.path for file in script_patches(joined)] == ["x"]


def test_calls_without_an_answer(tmp_path: Path) -> None:
    records = [meta(), *prompt(0, "go"), custom("c", "apply_patch", PATCH)]
    assert parsed(tmp_path, *records).calls == ()
    passed_over = parsed(tmp_path, *records, *prompt(1, "leave it")).calls
    assert [(one.outcome, one.wrote) for one in passed_over] == [(None, ()), (None, ())]


def test_compaction_titles_and_drift(tmp_path: Path) -> None:
    repeated = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}]
    path = write(
        tmp_path,
        *(meta(), *prompt(0, "go"), record("compacted", message="So far: went.", replacement_history=repeated)),
        *(event("context_compacted"), event("thread_name_updated", thread_name="Going")),
        *(event("brand_new"), record("newer_kind"), item("newest_item")),
    )
    parsed_file = read(ADAPTER, path)
    assert said(only(parsed_file)) == [("human", "go"), ("summary", "So far: went.")]
    assert only(parsed_file).title == "Going"
    assert parsed_file.drift == {"event_msg/brand_new": 1, "newer_kind": 1, "response_item/newest_item": 1}
