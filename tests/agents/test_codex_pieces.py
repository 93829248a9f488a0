"""Codex roll-outs read as they grow: in two pieces anywhere, from the open turn on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rekal.agents.codex.adapter import ADAPTER
from tests.agents.adapter_checks import shared_file
from tests.agents.codex_log import (
    LONG,
    PARENT,
    SESSION,
    Json,
    answer,
    call,
    context,
    done,
    event,
    heard,
    meta,
    output,
    prompt,
    started,
    typed,
    write,
)
from tests.agents.pieces import Kept, check_pieces, flat, keep, only, read, said


def untyped(turn: int, text: str) -> list[Json]:
    """A task whose prompt stands in the model's input alone."""
    return [started(turn), context(turn), heard(text)]


def completed(kind: str, words: str) -> Json:
    return event("item_completed", item={"type": kind, "id": "x", "content": [{"type": "text", "text": words}]})


ITEMS = [
    *(
        meta(),
        heard("<environment_context>"),
        *untyped(0, "one"),
        *answer("1."),
        call("c1", "exec_command", {"cmd": "ls"}),
    ),
    *(output("c1"), *untyped(1, "two"), {"timestamp": "x", "type": "response_item", "payload": {"type": "reasoning"}}),
    *(context(1), heard("and more"), *answer("2."), heard("three"), *answer("3."), heard("four")),
]
PAGED = [
    *(meta(), *untyped(0, "one"), completed("UserMessage", "one"), completed("AgentMessage", "1."), *answer("1.")),
    *(*answer("2."), completed("AgentMessage", "2."), *untyped(1, "two"), completed("UserMessage", "two")),
    *(completed("UserMessage", "quick"), *answer("3."), done(1)),
]
FORKED = [
    *(meta(forked_from_id=PARENT), meta(PARENT), event("task_started", turn_id="01990001-0000-7000-8000-000000000001")),
    *(
        *typed("before"),
        *answer("Copied."),
        *prompt(0, "after"),
        *answer("Own."),
        *prompt(1, "later"),
        *answer("Later."),
    ),
]


@pytest.mark.parametrize("log", [LONG, ITEMS, PAGED, FORKED])
def test_reading_in_two_pieces_anywhere(tmp_path: Path, log: list[Json]) -> None:
    check_pieces(ADAPTER, write(tmp_path, *log), tmp_path / "cut")


def test_a_turn_read_before_it_was_rolled_back_stays(tmp_path: Path) -> None:
    path = write(tmp_path, *LONG, event("thread_rolled_back", num_turns=1), *prompt(3, "instead"))
    whole: Kept = {}
    keep(whole, read(ADAPTER, path))
    assert not any("third" in str(record) for record in flat(whole)[SESSION])
    kept: Kept = {}
    first = read(ADAPTER, write(tmp_path, *LONG))
    keep(kept, first)
    keep(
        kept,
        read(ADAPTER, write(tmp_path, *LONG, event("thread_rolled_back", num_turns=1), *prompt(3, "instead")), first),
    )
    assert {"third", "instead"} <= {record[-1] for record in flat(kept)[SESSION]}


def test_a_new_reading_starts_at_the_open_turn(tmp_path: Path) -> None:
    path = write(tmp_path, *LONG)
    first = read(ADAPTER, path)
    at = path.read_bytes()[first.offset :].split(b"\n", 1)[0]
    assert json.loads(at)["payload"]["turn_id"] == prompt(2, "")[0]["payload"]["turn_id"]
    with path.open("a", encoding="utf-8") as file:
        for one in answer("Third."):
            file.write(json.dumps(one) + "\n")
    again = read(ADAPTER, path, first)
    assert said(only(again)) == [("human", "third"), ("assistant", "Third.")]
    assert (only(again).native_id, only(again).cwds, only(again).turns[1].model) == (SESSION, ("/w/app",), "model-a")
    path.write_text(json.dumps(meta()) + "\n", encoding="utf-8")
    assert read(ADAPTER, path, again).restarted


@pytest.mark.shared
@pytest.mark.parametrize("name", ["r05-git-sync-0.118-subagent-small", "r20-entire-graph-0.144.3-review-mode"])
def test_real_sessions_in_pieces(tmp_path: Path, name: str) -> None:
    path = shared_file(f"fixtures/codex/{name}.jsonl")
    check_pieces(ADAPTER, path, tmp_path, range(1, path.read_bytes().count(b"\n"), 9))
