"""Recall as its user sees it: the verdict, what is shown, what is said to be missing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.capture.test_link import commit, work
from tests.conftest import git
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession

START = datetime(2026, 3, 2, 9, tzinfo=UTC)

QUEUE = "Jobs go into a Postgres table with SKIP LOCKED; Redis would be one more service to run and to back up."


@pytest.fixture
def team(rekal: Rekal, home: Path) -> Rekal:
    """Three sessions by one person, about a queue, a logger and a parser; a document is tracked."""
    root = rekal.root
    s = ClaudeSession(home, root, "queue", start=START)
    s.human("Why do jobs get lost when the worker restarts? Make the queue durable.")
    s.writes(work(root, "queue.py", "take with skip locked\n"), "take with skip locked", text=QUEUE)
    commit(root, START + timedelta(minutes=5), "Keep jobs in Postgres")
    s = ClaudeSession(home, root, "log", start=START + timedelta(days=3), branch="logging")
    s.human("The log lines have no timestamps, add them in UTC.")
    s.writes(work(root, "log.py", "stamp every line in utc\n"), "stamp every line in utc", text="Stamps are ISO 8601.")
    commit(root, START + timedelta(days=3, minutes=5), "Stamp log lines")
    s = ClaudeSession(home, root, "parse", start=START + timedelta(days=6))
    s.human("parse_header crashes on an empty file, error E0432.").says("parse_header now returns None for it.")
    work(root, "docs/deploy.md", "# Deploying\n\nThe canary receives five percent of traffic for an hour.\n")
    commit(root, START + timedelta(days=6, minutes=5), "Write the deployment guide")
    assert rekal("_worker").code == 0
    return rekal


def first(team: Rekal, *words: str) -> str:
    answer = team("recall", "--json", *words).json
    return str(answer["sessions"][0]["rows"][0]["text"]) if answer["sessions"] else str(answer["reason"])


def test_the_session_that_knows_is_recalled(team: Rekal) -> None:
    done = team("recall", "why is the job queue in Postgres and not in Redis")
    assert done.code == 0
    assert done.out.startswith("INJECT support=")
    assert "SKIP LOCKED" in done.out


def test_a_question_without_a_verb_is_recall(team: Rekal) -> None:
    assert team("durable", "queue", "jobs", "Postgres").out.startswith("INJECT")


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("how are the Kubernetes ingress certificates rotated", "below_gate"),
        ("commit and push", "thin_question"),
        ("yes do it", "thin_question"),
        ("?!", "thin_question"),
    ],
)
def test_silence_has_a_reason_and_its_own_exit_code(team: Rekal, question: str, reason: str) -> None:
    done = team("recall", "--json", question)
    assert (done.code, done.json["verdict"], done.json["reason"]) == (1, "SILENCE", reason)
    assert done.json["exit_code"] == 1


def test_an_empty_store_says_so(rekal: Rekal) -> None:
    assert rekal("recall", "--json", "why is the queue durable").json["reason"] == "empty_store"


def test_a_tracked_file_answers_what_no_session_knows(team: Rekal) -> None:
    done = team("recall", "how much traffic does the canary receive")
    assert done.code == 0
    assert done.out.startswith("KNOWLEDGE")
    assert "docs/deploy.md:" in done.out


@pytest.mark.parametrize("question", ["parse_header", "E0432", "parse_header empty file"])
def test_an_identifier_is_a_question_of_its_own(team: Rekal, question: str) -> None:
    assert "parse_header" in first(team, question)


def test_filters_are_applied_before_anything_is_cut(team: Rekal) -> None:
    question = "jobs queue Postgres durable worker restarts"
    assert "queue" in first(team, question)
    assert first(team, "--branch", "nowhere", question) == "filtered_out"
    assert first(team, "--until", "2026-03-01", question) == "filtered_out"
    assert "queue" in first(team, "--file", "queue.py", question)
    assert first(team, "--agent", "codex", question) == "filtered_out"
    assert "queue" in first(team, "--as-of", "2026-03-03", question)


def test_words_that_nothing_shown_contains_are_named(team: Rekal) -> None:
    team.layout.own_config.write_text("recall: {strictness: 0}\n", encoding="utf-8")
    answer = team("recall", "--json", "jobs queue Postgres Redis service durable Cassandra").json
    assert answer["verdict"] == "INJECT"
    assert answer["uncovered"] == ["Cassandra"]


def test_explain_shows_what_the_gates_said(team: Rekal) -> None:
    features = team("recall", "--json", "--explain", "why is the job queue in Postgres").json["features"]
    assert {"gate.presence", "gate.consistency", "gate.anchors", "gate.cut", "window_coverage"} <= set(features)


def test_explain_shows_the_size_and_who_counts_as_a_person(team: Rekal) -> None:
    done = team("recall", "--json", "--explain", "why is the job queue in Postgres").json
    assert done["features"]["gate.turns"] == 6  # as many as the three sessions have
    assert {one["kind"] for one in done["people"]} == {"author"}
    assert "people" not in team("recall", "--json", "why is the job queue in Postgres").json
    assert f"people: {done['people'][0]['name']} (author)" in team("recall", "--explain", "why is the job queue").out


def test_the_same_question_gives_the_same_bytes(team: Rekal) -> None:
    question = ("recall", "--json", "why is the job queue in Postgres and not in Redis")
    before = team(*question).out
    assert team(*question).out == before
    assert team("index", "--full").code == 0
    assert team(*question).out == before


def test_at_no_strictness_nothing_found_is_still_silence(team: Rekal) -> None:
    team.layout.own_config.write_text("recall: {strictness: 0}\n", encoding="utf-8")
    assert team("recall", "--json", "zygomorphic quinquereme").json["verdict"] == "SILENCE"


def test_strictness_moves_the_cut(team: Rekal) -> None:
    question = ("recall", "--json", "--explain", "why is the job queue in Postgres")
    loose = team(*question).json["features"]["gate.cut"]
    team.layout.own_config.write_text("recall: {strictness: 1.0}\n", encoding="utf-8")
    assert team(*question).json["features"]["gate.cut"] > loose


def test_the_budget_bounds_what_is_printed(team: Rekal) -> None:
    long = " ".join(f"word{n} of the durable queue in Postgres" for n in range(3000))
    ClaudeSession(team.home, team.root, "long", start=START).human(f"The durable job queue in Postgres {long}")
    team("_worker")
    shown = team("recall", "--budget", "100", "durable job queue in Postgres").out
    assert len(shown) < 3000


def test_recalled_text_cannot_move_the_terminal(team: Rekal) -> None:
    ClaudeSession(team.home, team.root, "evil", start=START).human(
        "The zebra gate \x1b[2J\x07 opens \u202e backwards now"
    )
    team("_worker")
    shown = team("recall", "zebra gate opens backwards").out
    assert "zebra" in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)


def test_a_question_with_a_secret_leaves_none_behind(team: Rekal) -> None:
    key = "ghp_" + "Zx9Yw8Vu7T" * 4
    team("recall", f"why is the job queue in Postgres {key}")
    assert not any(key.encode() in path.read_bytes() for path in team.layout.spool.glob("*"))


def test_asking_does_not_touch_the_users_index(team: Rekal) -> None:
    before = (team.root / ".git" / "index").read_bytes()
    team("recall", "why is the job queue in Postgres")
    assert (team.root / ".git" / "index").read_bytes() == before
    assert git(team.root, "status", "--porcelain", "--untracked-files=no").strip() in ("", "M CLAUDE.md")


@pytest.fixture
def spring(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's clock says half past noon on 6 March 2026."""
    for place in ("ask_question", "context"):
        monkeypatch.setattr(f"rekal.app.{place}.local_now", lambda: datetime(2026, 3, 6, 12, 30, tzinfo=UTC))


@pytest.mark.usefixtures("spring")
def test_dates_of_the_question_are_the_users_own(team: Rekal) -> None:
    done = team("recall", "--json", "which log lines got timestamps in UTC yesterday")
    (named,) = (pin for pin in done.json["anchors"] if pin["kind"] == "date")
    assert (named["since"], named["until"]) == ("2026-03-05T00:00:00Z", "2026-03-05T23:59:59.999999Z")
    assert (named["sessions"], named["shown"], done.json["uncovered"]) == (1, 1, [])


@pytest.mark.usefixtures("spring")
def test_times_given_as_options_may_be_words(team: Rekal) -> None:
    question = "log lines timestamps UTC"
    assert "log lines" in first(team, "--since", "yesterday", question)
    assert first(team, "--since", "this morning", question) == "filtered_out"  # a parser is all there is
    assert "log lines" in first(team, "--until", "yesterday", question)
    assert first(team, "--until", "March 4", question) != first(team, question)
    assert "log lines" in first(team, "--since", "March", question)
    assert team("recall", "--since", "the zebra", question).code == 2


@pytest.mark.usefixtures("spring")
def test_a_name_that_nothing_shown_answers_to_is_said(team: Rekal) -> None:
    done = team("recall", "which log lines got timestamps in UTC last month")
    assert "none of these: date last month (2026-02-01 to 2026-02-28)" in done.out
    done = team("recall", "--explain", "which log lines got timestamps in UTC on the logging branch")
    assert "none of these" not in done.out
    assert "anchor branch logging: 1 sessions, 1 shown" in done.out


def test_a_commit_answers_to_its_name_where_the_question_has_no_topic(team: Rekal) -> None:
    sha = git(team.root, "rev-parse", "HEAD~2").strip()
    done = team("recall", "--json", f"why {sha[:9]}")
    assert done.code == 0
    assert (done.json["verdict"], done.json["listed"]) == ("INJECT", 1)
    assert done.json["sessions"][0]["commits"] == [sha]
    assert team("recall", "--json", f"why do jobs go into Postgres in {sha[:9]}").json["anchors"][0]["shown"] == 1


def test_what_show_opens_is_counted_after_the_next_capture(team: Rekal) -> None:
    question = ("recall", "--json", "durable queue jobs lost when the worker restarts")
    before = team(*question).json["sessions"][0]
    assert team("show", before["session_id"]).code == 0
    assert team("_worker").code == 0
    after = team(*question).json["sessions"][0]
    assert after["session_id"] == before["session_id"]
    assert after["score"] == pytest.approx(before["score"] * 1.025, abs=0.002)
