"""``rekal stats``: what the ledger and the counters of use hold, by week, and no word of a question."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from rekal.store.usage_log import UseCount, add_use, read_uses, week_of
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession

WHEN = datetime(2026, 3, 4, 12, tzinfo=UTC)


def captured(rekal: Rekal) -> None:
    session = ClaudeSession(rekal.home, rekal.root, "one", start=WHEN)
    session.human("Why should the retry queue live in Postgres and not in Redis?")
    session.writes(rekal.root / "queue.py", "x = 1\n", text="A retry queue in Postgres survives a restart.")
    assert rekal("checkpoint").code == 0


def test_an_empty_store_has_no_weeks(rekal: Rekal) -> None:
    done = rekal("stats")
    assert done.code == 1 and done.out == "(nothing is captured or asked yet)\n"


def test_sessions_and_turns_stand_in_their_week(rekal: Rekal) -> None:
    captured(rekal)
    week = rekal("stats", "--json").json["weeks"][0]
    assert (week["week"], week["sessions"], week["turns"]) == ("2026-W10", 1, 2)
    assert week["agents"] == {"claude": 1}


def test_recalls_are_counted_by_verdict_with_what_they_print(rekal: Rekal) -> None:
    captured(rekal)
    shown = rekal("recall", "why does the retry queue live in postgres").out
    assert shown.startswith("INJECT")
    rekal("recall", "how do we bake bread with rye flour")
    total = rekal("stats", "--json").json["total"]
    assert total["verdicts"] == {"INJECT": 1, "SILENCE": 1}
    assert total["printed"] >= len(shown) // 4
    kept = b"".join(path.read_bytes() for path in rekal.layout.usage.iterdir())
    assert b"rye" not in kept and b"postgres" not in kept


def test_an_opened_session_counts_once_it_is_captured(rekal: Rekal) -> None:
    captured(rekal)
    handle = rekal("sessions", "--json").json["sessions"][0]["id"]
    rekal("show", handle)
    assert rekal("checkpoint").code == 0
    weeks = {week["week"]: week["opened"] for week in rekal("stats", "--json").json["weeks"]}
    assert weeks[week_of(datetime.now(UTC))] == 1


def test_the_table_has_a_row_a_week_and_a_sum(rekal: Rekal) -> None:
    captured(rekal)
    rekal("recall", "why does the retry queue live in postgres")
    lines = rekal("stats").out.splitlines()
    assert lines[0].split()[:4] == ["week", "sessions", "turns", "commits"]
    assert [line.split()[0] for line in lines[1:4]] == [week_of(datetime.now(UTC)), "2026-W10", "total"]
    assert len({len(line) for line in lines[:4]}) == 1, "the columns stand under their heads"
    assert len(rekal("stats", "-n", "1").out.splitlines()) == 4


def test_uses_are_summed_by_week_kind_and_name(tmp_path: Path) -> None:
    for tokens in (10, 20):
        add_use(tmp_path / "usage", "recall", "INJECT", tokens, WHEN)
    add_use(tmp_path / "usage", "inject", "prompt", 5, WHEN + timedelta(days=7))
    with (tmp_path / "usage" / "2026-W10.txt").open("ab") as file:
        file.write(b"recall INJECT ten\n\xff\n")  # cut short by a full disk, say
    assert read_uses(tmp_path / "usage") == [
        UseCount("2026-W10", "recall", "INJECT", 2, 30),
        UseCount("2026-W11", "inject", "prompt", 1, 5),
    ]


def test_recalls_wait_in_one_file_and_are_no_backlog(rekal: Rekal) -> None:
    captured(rekal)
    for _ in range(3):
        rekal("recall", "why does the retry queue live in postgres")
    assert [path.name for path in rekal.layout.spool.iterdir()] == ["recalls.jsonl"]
    assert rekal("status", "--json").json["spool_waiting"] == 0
    assert rekal("checkpoint").code == 0
    assert list(rekal.layout.spool.iterdir()) == []
    assert rekal("query", "SELECT count(*) FROM recall_edges").out.count("3") == 1


def test_forgetting_takes_a_question_out_of_the_waiting_ones_and_no_other(rekal: Rekal) -> None:
    captured(rekal)
    ClaudeSession(rekal.home, rekal.root, "two", start=WHEN).human("A queue for zanzibar would need a clerk there.")
    assert rekal("checkpoint").code == 0
    rekal("recall", "why does the retry queue live in postgres")
    rekal("recall", "does the retry queue of zanzibar live in postgres")
    waiting = rekal.layout.spool / "recalls.jsonl"
    assert waiting.read_text("utf-8").count("\n") == 2
    assert rekal("forget", "--text", "zanzibar", "--yes").code == 0
    left = waiting.read_text("utf-8")
    assert "zanzibar" not in left and left.count("\n") == 1
