"""Codex roll-outs that hold more than their own talk: copied history, reviews, turns taken back."""

from __future__ import annotations

from pathlib import Path

from rekal.agents.codex.adapter import ADAPTER
from rekal.model import Transcript
from tests.agents.codex_log import (
    PARENT,
    SESSION,
    answer,
    call,
    context,
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


def parsed(tmp_path: Path, *records: dict[str, object]) -> Transcript:
    return only(read(ADAPTER, write(tmp_path, *records)))


def test_replayed_history_is_left_out(tmp_path: Path) -> None:
    spawn = {"parent_thread_id": PARENT, "depth": 1, "agent_nickname": "Ada", "agent_role": "explorer"}
    old = "01990001-0000-7000-8000-000000000001"
    transcript = parsed(
        tmp_path,
        meta(forked_from_id=PARENT, source={"subagent": {"thread_spawn": spawn}}),
        meta(PARENT, git={"branch": "other"}),
        event("task_started", turn_id=old),
        record("turn_context", turn_id=old, cwd="/elsewhere", model="model-b"),
        *(*typed("the parent's prompt"), *answer("the parent's answer")),
        *(call("call_0", "exec_command", {"cmd": "ls"}), output("call_0")),
        *(*prompt(0, "look at the tests"), *answer("Looked.")),
    )
    assert said(transcript) == [("human", "look at the tests"), ("assistant", "Looked.")]
    assert (transcript.native_id, transcript.parent_native_id) == (SESSION, PARENT)
    assert (transcript.actor, transcript.agent_type, transcript.description) == ("agent", "explorer", "Ada")
    assert (transcript.spawn_depth, transcript.forked_from) == (1, None)
    assert (transcript.calls, transcript.cwds, transcript.branches) == ((), ("/w/app",), ("main",))


def test_inherited_history_may_be_counted_instead(tmp_path: Path) -> None:
    records = [meta(subagent_history_start_ordinal=4), *prompt(0, "theirs")[:3], *prompt(1, "ours")]
    typed_events = [
        {**one, "ordinal": place} for place, one in enumerate([*records[:3], *typed("theirs")[1:], *records[4:]])
    ]
    assert said(parsed(tmp_path, *typed_events)) == [("human", "ours")]


def test_a_fork_names_its_origin_and_keeps_its_own_turns(tmp_path: Path) -> None:
    copied = [event("task_started", turn_id="01990001-0000-7000-8000-000000000001"), *typed("before")]
    transcript = parsed(tmp_path, meta(forked_from_id=PARENT), meta(PARENT), *copied, *prompt(0, "after"))
    assert said(transcript) == [("human", "after")]
    assert (transcript.forked_from, transcript.parent_native_id, transcript.actor) == (PARENT, None, "human")


def test_a_repeated_description_does_not_hide_the_session(tmp_path: Path) -> None:
    transcript = parsed(tmp_path, meta(), *prompt(0, "one"), meta(cwd="/w/app/sub"), *prompt(1, "two"))
    assert said(transcript) == [("human", "one"), ("human", "two")]
    assert transcript.cwds == ("/w/app", "/w/app/sub")


def test_a_sub_agent_is_told_its_task_by_letter(tmp_path: Path) -> None:
    spawn = {"parent_thread_id": PARENT, "depth": 2, "agent_path": "/root/tests", "agent_role": None}
    letter = {"author": "/root", "recipient": "/root/tests"}
    words = [{"type": "input_text", "text": "Message Type: NEW_TASK\nPayload:\nread the tests"}]
    transcript = parsed(
        tmp_path,
        *(meta(source={"subagent": {"thread_spawn": spawn}}), started(), context()),
        *(item("agent_message", content=words, **letter), *answer("Read.")),
        item("agent_message", author="/root/tests", recipient="/root", content=words),
    )
    assert said(transcript) == [("human", "read the tests"), ("assistant", "Read.")]


def test_reviews(tmp_path: Path) -> None:
    ask = event("user_message", message="Review the current code changes and provide findings.")
    transcript = parsed(
        tmp_path,
        *(meta(), *prompt(0, "go"), done(0), event("entered_review_mode", target={}), started(1), ask, ask),
        *(heard("<user_action>\n<action>review</action>"), event("exited_review_mode", review_output={})),
        *(*answer("One finding."), done(1)),
    )
    assert said(transcript) == [("human", "go"), ("assistant", "One finding.")]
    assert parsed(tmp_path, meta(source={"subagent": "review"})).agent_type == "review"
    assert parsed(tmp_path, meta(source="exec")).actor == "agent"


def test_a_rolled_back_turn_is_left_out(tmp_path: Path) -> None:
    rolled = event("thread_rolled_back", num_turns=1)
    transcript = parsed(
        tmp_path,
        *(meta(), *prompt(0, "keep"), *answer("kept"), done(0), *prompt(1, "drop"), *answer("dropped")),
        *(call("c", "exec_command", {"cmd": "rm x"}), output("c"), done(1), rolled, *prompt(2, "instead")),
    )
    assert said(transcript) == [("human", "keep"), ("assistant", "kept"), ("human", "instead")]
    assert transcript.calls == ()
