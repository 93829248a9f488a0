"""Hand-written Codex records in the real shape."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

from tests.agents.pieces import write_lines

Json = dict[str, Any]

SESSION = "0199a000-0000-7000-8000-00000000000a"
PARENT = "01990000-0000-7000-8000-00000000000b"
TURNS = [f"0199a00{n}-0000-7000-8000-0000000000{n:02d}" for n in range(1, 10)]
_SECONDS = count()


def record(kind: str, **payload: Any) -> Json:
    """One enveloped record; every record is a second younger than the one before."""
    second = next(_SECONDS)
    stamp = f"2026-03-01T{10 + second // 3600 % 12:02d}:{second // 60 % 60:02d}:{second % 60:02d}.000Z"
    return {"timestamp": stamp, "type": kind, "payload": payload}


def meta(native_id: str = SESSION, cwd: str = "/w/app", **more: Any) -> Json:
    return record(
        "session_meta",
        id=native_id,
        timestamp="2026-03-01T10:00:00.000Z",
        cwd=cwd,
        originator="codex-tui",
        cli_version="0.144.0",
        **{"source": "cli", "git": {"branch": "main", "commit_hash": "abc"}, **more},
    )


def event(kind: str, **more: Any) -> Json:
    return record("event_msg", type=kind, **more)


def item(kind: str, **more: Any) -> Json:
    return record("response_item", type=kind, **more)


def context(turn: int = 0, cwd: str = "/w/app", model: str = "model-a") -> Json:
    return record("turn_context", turn_id=TURNS[turn], cwd=cwd, model=model, approval_policy="never")


def started(turn: int = 0) -> Json:
    return event("task_started", turn_id=TURNS[turn])


def done(turn: int = 0) -> Json:
    return event("task_complete", turn_id=TURNS[turn], last_agent_message="(repeated)")


def heard(text: str) -> Json:
    """The model's input from the user."""
    return item("message", role="user", content=[{"type": "input_text", "text": text}])


def typed(text: str) -> list[Json]:
    """A prompt: what the model got, then what was typed."""
    return [heard(text), event("user_message", message=text, images=[])]


def answer(text: str) -> list[Json]:
    """An answer, in both of its copies."""
    content = [{"type": "output_text", "text": text}]
    return [event("agent_message", message=text), item("message", role="assistant", content=content)]


def call(key: str, name: str, arguments: Any) -> Json:
    return item("function_call", name=name, call_id=key, arguments=json.dumps(arguments))


def custom(key: str, name: str, text: str) -> Json:
    return item("custom_tool_call", name=name, call_id=key, input=text, status="completed")


def output(key: str, said: Any = "Exit code: 0\nWall time: 0.1 seconds\nOutput:\nfine\n") -> Json:
    return item("function_call_output", call_id=key, output=said)


def prompt(turn: int, text: str) -> list[Json]:
    """A task from its start to its prompt."""
    return [started(turn), context(turn), *typed(text)]


def write(folder: Path, *records: Json, name: str = f"rollout-2026-03-01T10-00-00-{SESSION}.jsonl") -> Path:
    return write_lines(folder / name, records)


PATCH = "*** Begin Patch\n*** Add File: b.md\n+# Notes\n*** Add File: c.md\n+# More\n*** End Patch"
CHANGE = {"/w/app/z.md": {"type": "add", "content": "zed\n"}}
LONG = [
    meta(),
    *prompt(0, "first"),
    *answer("Working."),
    call("c1", "exec_command", {"cmd": "make"}),
    output("c1"),
    *typed("and mind the docs"),
    custom("c2", "apply_patch", PATCH),
    output("c2", '{"output":"Success","metadata":{"exit_code":0}}'),
    done(0),
    *prompt(1, "second"),
    custom("c3", "exec", "await tools.exec_command({cmd: 'ls'}); await tools.apply_patch(p)"),
    event("patch_apply_end", call_id="exec-9", success=True, changes=CHANGE),
    output("c3", [{"type": "input_text", "text": "Script completed\nOutput:\n"}]),
    call("c4", "exec_command", {"cmd": "sleep 9"}),
    event("entered_review_mode", target={}),
    event("user_message", message="Review the current changes."),
    event("exited_review_mode"),
    *answer("Reviewed."),
    done(1),
    *prompt(2, "third"),
    call("c5", "update_plan", {"plan": []}),
    output("c5", "Plan updated"),
]
