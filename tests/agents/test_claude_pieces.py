"""Reading a Claude Code file in pieces: nothing is lost and nothing stored twice, wherever it is cut."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from rekal.agents.claude.adapter import ADAPTER
from tests.agents.claude_log import Log, long_session, read_in_pieces
from tests.agents.pieces import read


def test_any_one_or_two_cuts_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    path = long_session().write(tmp_path)
    whole = path.read_bytes()
    expected = read_in_pieces(path, whole, [])
    assert len(expected.calls) == 7
    ends = [at + 1 for at, byte in enumerate(whole) if byte == 10]
    for cuts in [*combinations(ends, 1), *combinations(ends[::2], 2), ends]:
        pieces = read_in_pieces(path, whole, cuts)
        assert pieces.lines() == expected.lines(), cuts
        assert pieces.called() == expected.called(), cuts


def test_a_cut_inside_a_line_changes_nothing(tmp_path: Path) -> None:
    path = long_session().write(tmp_path)
    whole = path.read_bytes()
    expected = read_in_pieces(path, whole, []).lines()
    for cut in range(1, len(whole), 97):
        assert read_in_pieces(path, whole, [cut]).lines() == expected, cut


def test_lines_of_one_message_are_one_turn_and_a_late_one_is_its_own(tmp_path: Path) -> None:
    log = Log()
    log.human("go")
    first = log.says("one", "m")
    log.calls("t", "Bash", "m", command="ls")
    before = log.parse(tmp_path)
    late = log.says("two", "m")
    log.says("three", "m")
    after = read(ADAPTER, log.write(tmp_path), before)
    whole = log.parse(tmp_path)
    assert [turn.content for turn in whole.transcripts[0].turns] == ["go", "one\ntwo\nthree"]
    assert [(turn.native_id, turn.content) for turn in after.transcripts[0].turns] == [(late["uuid"], "two\nthree")]
    assert whole.transcripts[0].turns[1].native_id == first["uuid"]


def test_a_call_without_result_is_held_back_and_read_again(tmp_path: Path) -> None:
    log = Log()
    log.human("go")
    log.calls("t1", command="ls")
    path = log.write(tmp_path)
    start = path.read_bytes().index(b"\n") + 1
    before = read(ADAPTER, path)
    assert before.transcripts[0].calls == ()
    assert before.offset == start
    log.result("t1", "no such file", error=True)
    after = read(ADAPTER, log.write(tmp_path), before)
    assert not after.restarted
    assert after.offset == path.stat().st_size
    (call,) = after.transcripts[0].calls
    assert (call.native_id, call.outcome, call.excerpt, call.shared) == ("t1", "error", "no such file", True)


@pytest.mark.parametrize("later", ["forget it", [{"type": "text", "text": "forget it"}]])
def test_a_later_prompt_passes_over_what_waits(tmp_path: Path, later: object) -> None:
    log = Log()
    log.human("go")
    log.calls("t1", command="sleep 9")
    log.human("[Request interrupted by user]")
    log.enqueue("hurry")
    assert log.parse(tmp_path).transcripts[0].calls == ()
    log.human(later)
    parsed = log.parse(tmp_path)
    (call,) = parsed.transcripts[0].calls
    assert (call.outcome, call.command, call.wrote) == (None, "sleep 9", ())
    assert parsed.offset == (tmp_path / f"{log.session}.jsonl").stat().st_size


def test_a_replaced_file_is_read_from_its_beginning(tmp_path: Path) -> None:
    log = Log()
    log.human("first")
    before = log.parse(tmp_path)
    other = Log(start=50)
    other.human("quite another")
    other.human("and more")
    after = read(ADAPTER, other.write(tmp_path), before)
    assert after.restarted
    assert [turn.content for turn in after.transcripts[0].turns] == ["quite another", "and more"]


def test_a_sub_agent_begun_before_this_reading_keeps_its_identity(tmp_path: Path) -> None:
    log = Log()
    log.human("go")
    root = log.human("Search", isSidechain=True)
    before = log.parse(tmp_path)
    log.says("Found it.", isSidechain=True)
    after = read(ADAPTER, log.write(tmp_path), before)
    (child,) = after.transcripts
    assert (child.native_id, child.actor) == (f"{log.session}/{root['uuid']}", "agent")
    assert [turn.content for turn in child.turns] == ["Found it."]
