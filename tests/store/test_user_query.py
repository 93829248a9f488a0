"""A query ends: in time, within memory, and with as many rows as somebody can read."""

from __future__ import annotations

import pytest

from rekal.store import user_query
from tests.support.app import Rekal

ENDLESS = {
    "product": "SELECT count(*) FROM range(100000000000) a, range(1000) b",
    "recursion": "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM t) SELECT count(*) FROM t",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_a_query_without_an_end_is_ended(rekal: Rekal, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(user_query, "_LONGEST", 0.3)
    done = rekal("query", ENDLESS[name])
    assert done.code == 2
    assert "the query ran for 0 seconds and was ended" in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("sql", ["SELECT repeat('x', 2000000000)", "SELECT list(range) FROM range(2000000000)"])
def test_a_query_of_too_much_memory_says_so(rekal: Rekal, sql: str) -> None:
    done = rekal("query", sql)
    assert done.code in (0, 1, 2)
    assert "too much memory" in done.err or "was cut" in done.err
    assert len(done.out) < 100_000


def test_a_result_is_cut_and_that_is_said(rekal: Rekal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_query, "_MOST_ROWS", 100)
    done = rekal("query", "SELECT * FROM range(3000)")
    assert done.out.count("\n") == 101
    assert "the result was cut after 100 rows" in done.err
    assert len(rekal("query", "--json", "SELECT * FROM range(3000)").json["rows"]) == 100
    monkeypatch.setattr(user_query, "_MOST_TEXT", 50)
    assert "after 5 rows" in rekal("query", "SELECT repeat('x', 10) FROM range(30)").err


def test_the_limit_of_memory_is_taken_back(rekal: Rekal) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    rekal("query", "SELECT 1")
    assert resource.getrlimit(resource.RLIMIT_AS) == before
