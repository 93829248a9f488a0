"""LongMemEval's normaliser and runner on a hand-written miniature in the published shape."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

BENCH = Path(__file__).parents[2] / "scripts/industry-bench"
sys.path.insert(0, str(BENCH))

import longmemeval  # noqa: E402
import run  # noqa: E402
import shipped  # noqa: E402
import vectors  # noqa: E402
from longmemeval import Entry, Unreadable, entries, gold_of, read_date, sessions_of, variants  # noqa: E402
from measures import bootstrap, ranks  # noqa: E402
from rows import NOT_FOUND, Row, in_time, rank_of  # noqa: E402

from rekal.recall.dates import Period  # noqa: E402
from rekal.recall.scores import PRESENCE_LEXICAL  # noqa: E402
from tests.fake_embedder import FakeEmbedder  # noqa: E402


def said(role: str, content: str, has_answer: bool | None = None) -> dict[str, Any]:
    return {"role": role, "content": content} | ({} if has_answer is None else {"has_answer": has_answer})


BREAD = [
    said("user", "I bake sourdough on Sundays and my starter is called Bubbles.", True),
    said("assistant", "Lovely, feed it with rye flour twice a day.", False),
]
BIKE = [
    said("user", "My bicycle chain squeaks, which lubricant is best?"),
    said("assistant", "A wax lubricant keeps a chain quiet in dry weather."),
    said("user", "   "),
]
TRIP = [
    said("user", "We booked the ferry to the island for the 12th of June.", True),
    said("assistant", "Take a jacket, the deck is windy.", False),
]


def question(name: str, kind: str, text: str, cited: list[str], **more: Any) -> dict[str, Any]:
    return {
        "question_id": name,
        "question_type": kind,
        "question": text,
        "answer": 7,  # numbers are among the published answers
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_dates": ["2023/05/21 (Sun) 09:10", "2023/05/20 (Sat) 02:21", "2023/05/22 (Mon) 7:05", "soon"],
        "haystack_session_ids": ["answer_bread", "filler_bike", "answer_bread", "answer_trip"],
        "haystack_sessions": [BREAD, BIKE, BREAD, TRIP],
        "answer_session_ids": cited,
    } | more


MINIATURE = [
    question("q1", "single-session-user", "What is my sourdough starter called?", ["answer_bread"]),
    question("q2", "multi-session", "When do I bake sourdough and take the ferry?", ["answer_bread", "answer_trip"]),
    question("q3_abs", "single-session-user", "What is the name of my hamster's veterinarian?", ["answer_bread"]),
]


def entry(at: int = 0, **more: Any) -> Entry:
    return msgspec.convert(MINIATURE[at] | more, Entry)


def test_dates_are_read_without_believing_the_weekday() -> None:
    assert read_date("2023/05/30 (Tue) 23:40") == datetime(2023, 5, 30, 23, 40, tzinfo=UTC)
    assert read_date("2023/05/30 (Sun) 7:05") == datetime(2023, 5, 30, 7, 5, tzinfo=UTC)
    assert read_date(" 2023-5-3") == datetime(2023, 5, 3, tzinfo=UTC)
    for odd in ("", "soon", "2023/13/41 (Fri) 10:00", "2023/05/30 (Tue) 25:00"):
        assert read_date(odd) is None


def test_a_haystack_is_in_order_of_time_and_has_a_session_once() -> None:
    found = sessions_of(entry())
    assert [one.id for one in found] == ["filler_bike", "answer_bread", "answer_trip"]
    assert [one.time and one.time.day for one in found] == [20, 21, None]
    assert [len(one.turns) for one in found] == [2, 2, 2], "a turn without text is none"
    # Under one id but with other words it is another session.
    assert len(sessions_of(entry(haystack_sessions=[BREAD, BIKE, TRIP, TRIP]))) == 4


def test_gold_is_cited_sessions_and_their_marked_turns() -> None:
    found = gold_of(entry(1), sessions_of(entry(1)))
    assert (found.sessions, found.turns, found.lost) == ([1, 2], [2, 4], 0)
    only = gold_of(entry(0), sessions_of(entry(0)))
    assert (only.sessions, only.turns) == ([1], [2]), "a mark in a session not cited is no evidence"
    lost = gold_of(entry(0, answer_session_ids=["answer_bread", "elsewhere"]), sessions_of(entry(0)))
    assert (lost.sessions, lost.lost) == ([1], 1)
    trap = gold_of(entry(2), sessions_of(entry(2)))
    assert (trap.sessions, trap.turns, trap.lost) == ([], [], 0)


def test_what_cannot_be_read_costs_that_question_and_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    uneven = MINIATURE[1] | {"haystack_dates": ["2023/05/21 (Sun) 09:10"]}
    path = tmp_path / "longmemeval_oracle.json"
    path.write_text(json.dumps([MINIATURE[0], {"question_id": "q9"}, uneven, MINIATURE[2]]))
    assert [one.question_id for one in entries(path)] == ["q1", "q3_abs"]
    told = capsys.readouterr().out
    assert "question 1 left out" in told
    assert "question 2 left out: its sessions, their ids and dates differ in number" in told
    for wrong in ("", "{}", "[1, 2"):
        path.write_text(wrong)
        with pytest.raises(Unreadable, match="is not a JSON list of questions"):
            list(entries(path))


def test_variants_are_found_under_every_published_name(tmp_path: Path) -> None:
    assert variants(tmp_path) == {}
    (tmp_path / "longmemeval_s").write_text("[]")
    assert variants(tmp_path) == {"s": tmp_path / "longmemeval_s"}
    (tmp_path / "longmemeval_s_cleaned.json").write_text("[]")
    (tmp_path / "longmemeval_oracle.json").write_text("[]")
    assert {name: path.name for name, path in variants(tmp_path).items()} == {
        "oracle": "longmemeval_oracle.json",
        "s": "longmemeval_s_cleaned.json",
    }


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[vectors.VectorCache]:
    monkeypatch.setattr(vectors, "open_local", lambda: FakeEmbedder(384))
    with closing(vectors.VectorCache(tmp_path / "v.sqlite")) as opened:
        yield opened


def test_a_question_is_measured_in_its_own_haystack(cache: vectors.VectorCache) -> None:
    first, both, absent = (longmemeval.row_of(entry(at), cache) for at in range(3))
    assert first and both and absent
    assert (first.kind, first.part, first.turns) == ("answerable", "single-session-user", 6)
    assert (first.session_rank, first.turn_rank) == (1, 1)
    assert first.in_window["all@150"]
    assert both.session_rank == 1
    assert both.session_rank_all == 2, "the last of two can at best be second"
    assert (absent.kind, absent.session_rank, absent.in_window) == ("abstention", None, {})


def test_evidence_that_the_haystack_lacks_is_not_found(cache: vectors.VectorCache) -> None:
    part = longmemeval.row_of(entry(0, answer_session_ids=["answer_bread", "elsewhere"]), cache)
    none = longmemeval.row_of(entry(0, answer_session_ids=["elsewhere"]), cache)
    assert part and none
    assert (part.session_rank, part.session_rank_all) == (1, NOT_FOUND)
    assert (none.session_rank, none.turn_rank, none.session_rank_all) == (NOT_FOUND, None, NOT_FOUND)
    assert longmemeval.row_of(entry(0, haystack_sessions=[[]] * 4), cache) is None


def test_time_named_and_ranks_of_the_last() -> None:
    may = Period(0, 3, datetime(2023, 5, 1, tzinfo=UTC), datetime(2023, 6, 1, tzinfo=UTC))
    times = [datetime(2023, 5, 31, tzinfo=UTC), datetime(2023, 6, 1, tzinfo=UTC), None]
    assert in_time([may], times).tolist() == [True, False, False]
    assert in_time([], times).tolist() == [False] * 3
    scores = np.array([3.0, 2.0, 1.0, 0.0])
    assert (rank_of(scores, [0, 2]), rank_of(scores, [0, 2], every=True)) == (1, 3)
    assert rank_of(scores, [0, 3], every=True) == NOT_FOUND
    told = ranks([Row(id="a", group="a", kind="answerable", session_rank=1, session_rank_all=3)])
    assert (told["session@1"], told["session_all@1"], told["session_all@5"]) == (1, 0, 1)
    alike = [Row(id="a", group="a", kind="answerable")]
    assert bootstrap(alike, np.array([True])) == {}


def test_a_small_store_that_has_every_word_together_is_sure() -> None:
    features = dict.fromkeys(PRESENCE_LEXICAL, 0.0) | {"window_coverage": 1.0}
    row = Row(id="a", group="a", kind="answerable", lexical=features, turns=6)
    large = Row(id="a", group="a", kind="answerable", lexical=features, turns=300)
    assert shipped.support(row, "lexical") >= 0.99 > shipped.support(large, "lexical")
    row.thin = True
    assert shipped.support(row, "lexical") == 0
    assert not shipped.decided([row], "lexical")[1].any()


def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data: Path) -> int:
    """Run the program as from the command line; its exit code."""
    monkeypatch.setattr(run, "HERE", tmp_path)
    arguments = ["run.py", "longmemeval", "--data", str(data), "--cache", str(tmp_path / "cache")]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit) as ended:
        run.main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_without_data_it_says_what_it_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert started(monkeypatch, tmp_path, tmp_path / "data") == 1
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    for part in ("longmemeval/longmemeval_oracle.json", "longmemeval/longmemeval_s_cleaned.json", "fetch.py"):
        assert part in told


@pytest.mark.usefixtures("cache")
def test_the_miniature_from_file_to_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data/longmemeval"
    folder.mkdir(parents=True)
    (folder / "longmemeval_oracle.json").write_text(json.dumps(MINIATURE))
    (folder / "longmemeval_s_cleaned.json").write_text("no list")
    assert started(monkeypatch, tmp_path, tmp_path / "data") == 0
    assert "longmemeval_s_cleaned.json is not a JSON list" in capsys.readouterr().err
    told = json.loads((tmp_path / "runs/longmemeval-oracle.json").read_text())
    assert told["ranking"]["n"] == 2
    assert told["ranking"]["session@1"] == 1.0
    assert told["ranking"]["session_all@1"] == 0.5
    assert told["ranking:multi-session"]["session_mrr"] == 1.0
    assert told["window:single-session-user"]["any@150"] == 1.0
    for arm in ("dense", "lexical"):
        assert told[arm]["verdicts"]["rows"] == 3
        assert told[arm]["verdicts"]["want_silence_silence"] + told[arm]["verdicts"]["want_silence_inject"] == 1
        assert told[arm]["separation"]["abstention"]["n"] == 1
        assert set(told[arm]["inject_rate_by_part"]) == {
            "answerable:single-session-user",
            "answerable:multi-session",
            "abstention:single-session-user",
        }
    assert list(told["provenance"]["data_sha256"]) == ["longmemeval_oracle.json"]
    lines = [json.loads(line) for line in (tmp_path / "runs/longmemeval-oracle.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == ["q1", "q2", "q3_abs"]
    assert lines[2]["lexical"][1] == "SILENCE"
    assert not any("sourdough" in json.dumps(line) for line in lines), "texts stay where they are"


@pytest.mark.usefixtures("cache")
def test_measured_rows_are_of_the_file_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data/longmemeval"
    folder.mkdir(parents=True)
    path = folder / "longmemeval_oracle.json"
    for count in (2, 3):
        path.write_text(json.dumps(MINIATURE[-count:]))
        assert started(monkeypatch, tmp_path, tmp_path / "data") == 0
        assert len((tmp_path / "runs/longmemeval-oracle.jsonl").read_text().splitlines()) == count
    monkeypatch.setattr(longmemeval, "rows", None)  # what was measured is not measured again
    assert started(monkeypatch, tmp_path, tmp_path / "data") == 0
    capsys.readouterr()
