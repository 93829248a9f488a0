"""Claude Code's tool calls: their files, their outcomes, and the lines they wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rekal.model import RawCall
from tests.agents.claude_log import Log
from tests.agents.pieces import only


def one_call(log: Log, folder: Path) -> RawCall:
    (call,) = only(log.parse(folder)).calls
    return call


@pytest.mark.parametrize(
    ("given", "details", "wrote"),
    [
        ({"old_string": "a\nb", "new_string": "a\nx\nb\n"}, None, ("x",)),
        ({"old_string": "a", "new_string": "a\na"}, None, ("a",)),
        ({"edits": [{"old_string": "", "new_string": "x"}, {"old_string": "y", "new_string": "z"}]}, None, ("x", "z")),
        ({"content": "one\r\n\ntwo"}, {"type": "create", "structuredPatch": []}, ("one", "two")),
        ({"content": "whole"}, {"structuredPatch": [{"lines": [" same", "-old", "+new"]}, None]}, ("new",)),
        ({"new_source": "cell"}, "text", ("cell",)),
        ({"edits": 7, "new_string": None}, None, ()),
    ],
)
def test_lines_an_edit_wrote(tmp_path: Path, given: dict[str, Any], details: object, wrote: tuple[str, ...]) -> None:
    log = Log()
    tool = "MultiEdit" if "edits" in given else "Write" if "content" in given else "Edit"
    log.calls("t", "NotebookEdit" if "new_source" in given else tool, file_path="a.py", **given)
    log.result("t", details=details)
    assert one_call(log, tmp_path).wrote == wrote


def test_a_failed_edit_wrote_nothing_and_says_why(tmp_path: Path) -> None:
    log = Log()
    log.calls("t", "Edit", file_path="a.py", old_string="a", new_string="b")
    reply = "<tool_use_error>String to replace not found" + "." * 500 + "</tool_use_error>"
    log.result("t", [{"type": "text", "text": reply}], error=True)
    call = one_call(log, tmp_path)
    assert (call.outcome, call.wrote) == ("error", ())
    assert call.excerpt is not None
    assert call.excerpt.startswith("String to replace not found")
    assert len(call.excerpt) > 400  # whole: the scrubber cuts it, after looking for secrets


def test_only_errors_have_an_excerpt(tmp_path: Path) -> None:
    log = Log()
    log.calls("t", "Bash", command="ls")
    log.result("t", "a.py\nb.py")
    call = one_call(log, tmp_path)
    assert (call.outcome, call.excerpt, call.command) == ("ok", None, "ls")


def test_parallel_calls_answered_out_of_order(tmp_path: Path) -> None:
    log = Log()
    log.calls("t1", "Read", "m", file_path="a")
    log.calls("t2", "Read", "m", file_path="b")
    log.result("t2", "no such file", error=True)
    log.result("t1")
    calls = only(log.parse(tmp_path)).calls
    assert [(call.path, call.outcome, call.turn) for call in calls] == [("a", "ok", -1), ("b", "error", -1)]


def test_several_results_in_one_record(tmp_path: Path) -> None:
    log = Log()
    log.calls("t1", "Write", "m", file_path="a", content="x")
    log.calls("t2", "Write", "m", file_path="b", content="y")
    results = [{"type": "tool_result", "tool_use_id": each, "content": "ok"} for each in ("t1", "t2")]
    log.human(results, toolUseResult={"structuredPatch": [{"lines": ["+z"]}]})
    assert [call.wrote for call in only(log.parse(tmp_path)).calls] == [("x",), ("y",)]


def test_a_call_nothing_can_answer_is_kept(tmp_path: Path) -> None:
    log = Log()
    record = log.blocks({"type": "tool_use", "name": "Bash", "input": {"command": "ls"}})
    call = one_call(log, tmp_path)
    assert (call.native_id, call.outcome, call.command) == (f"{record['uuid']}:0", None, "ls")
