"""The recall profile is what both programs called recall are to their clients, without what they lost or hid."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from rekal.mcp.mcp_server import RekalServer
from rekal.mcp.tools import ToolAnswer
from tests.support.app import Rekal


@pytest.fixture
def server(rekal: Rekal) -> RekalServer:
    return RekalServer("recall", cwd=rekal.root)


def save(server: RekalServer, text: str, **more: Any) -> str:
    found = re.fullmatch(r"Saved memory \(id=(\w+), type=(remember:\w+)\)", remember(server, text, **more).texts[0])
    assert found
    assert found[2] == ("remember:human" if more.get("human") else "remember:ai")
    return found[1]


def remember(server: RekalServer, text: str, **more: Any) -> ToolAnswer:
    return server.answer("recall_remember", {"text": text, **more})


def search(server: RekalServer, query: str, **more: Any) -> list[dict[str, Any]]:
    answer = server.answer("recall_search", {"query": query, **more})
    assert not answer.error, answer.texts
    rows: list[dict[str, Any]] = (answer.structured or {})["results"]
    return rows


def test_names_and_parameters_are_those_of_both_programs(server: RekalServer) -> None:
    wanted = {
        "recall_search": ({"query", "limit", "since", "source_types", "top_k", "min_confidence"}, {"query"}),
        "memory_save": ({"text", "tags"}, {"text"}),
        "recall_remember": ({"text", "human"}, {"text"}),
        "recall_forget": ({"memory_id"}, {"memory_id"}),
        "recall_stats": (set(), set()),
    }
    schemas = {name: tool.contract["inputSchema"] for name, tool in server.tools.items()}
    assert {name: (set(one["properties"]), set(one["required"])) for name, one in schemas.items()} == wanted


def test_the_text_of_an_answer_has_the_form_that_is_parsed(server: RekalServer) -> None:
    one, two = save(server, "Deploys happen on Mondays."), save(server, "Deploys need a green build.", human=True)
    text = server.answer("recall_search", {"query": "deploys"}).texts[0]
    *blocks, end = text.split("\n---\n")
    assert len(blocks) == 2
    for block in blocks:
        assert re.fullmatch(r"\[memory \w+\] \(score: \d\.\d{3}\)\n\[\d{4}-\d\d-\d\d\] Deploys .+", block)
    count, ids, *notes = end.splitlines()
    assert re.fullmatch(r"2 results from 1 sources \(\d+ms\)", count)
    assert set(ids.removeprefix("[result-id: ").removesuffix("]").split(",")) == {one, two}
    # Without a model there are keywords alone, and that is said.
    assert all(note.startswith("Note: ") for note in notes)
    assert server.answer("recall_search", {"query": "zebra"}).texts == ("No results found.",)
    silent = server.answer("recall_search", {"query": "deploys zebra giraffe okapi", "min_confidence": 0.99})
    assert silent.structured is not None
    assert silent.structured["results"] == []
    assert "Do not guess" in silent.texts[0]


def test_a_search_without_a_model_says_so(server: RekalServer, rekal: Rekal) -> None:
    answer = server.answer("recall_search", {"query": "deploys"})
    assert any("semantic: off" in note for note in (answer.structured or {})["notes"])


def test_what_is_said_three_times_is_found_and_forgotten_like_anything_else(server: RekalServer) -> None:
    ids = {save(server, "Deploys happen on Mondays.") for _ in range(3)}
    assert {row["id"] for row in search(server, "deploys Mondays")} == ids
    for id_ in ids:
        assert server.answer("recall_forget", {"memory_id": id_}).texts == (f"Deleted memory {id_}",)
    assert search(server, "deploys Mondays") == []
    for gone in (*ids, 7, "7", ""):
        assert server.answer("recall_forget", {"memory_id": gone}).error


def test_short_facts_are_kept_and_dates_are_not_doubled(server: RekalServer) -> None:
    save(server, "Ann owns CI.")
    save(server, "[2026-01] Bob left.")
    assert re.match(r"\[\d{4}-\d\d-\d\d\] Ann owns CI\.", search(server, "Ann CI")[0]["text"])
    assert search(server, "Bob left")[0]["text"] == "[2026-01] Bob left."
    assert remember(server, "  ").error


def test_a_filter_holds_before_the_best_are_taken(server: RekalServer, rekal: Rekal, tmp_path: Path) -> None:
    for n in range(12):
        save(server, f"Deploys of service {n} happen on Mondays, after the meeting.")
    note = tmp_path / "deploys.md"
    note.write_text("# Deploys\n\nDeploys happen on Mondays when the release manager is in.\n", encoding="utf-8")
    assert rekal("ingest", str(note)).code == 0
    assert len(search(server, "deploys on Mondays", limit=100)) >= 12  # no pool that a larger limit cannot reach
    assert len(search(server, "deploys on Mondays", top_k=3)) == 3
    (row,) = search(server, "deploys on Mondays", source_types=["doc"], limit=1)
    assert row["source"].startswith(str(tmp_path)) or "deploys.md" in row["source"]
    assert {row["type"] for row in search(server, "deploys", source_types=["memory"])} == {"memory"}
    assert search(server, "deploys", since="2999-01-01") == []
    assert search(server, "deploys", source_types=["email"]) == []


def test_words_of_other_languages_are_found(server: RekalServer) -> None:
    for text, query in (
        ("Les déploiements ont lieu le lundi matin.", "quand ont lieu les déploiements"),
        ("Die Warteschlange liegt in Postgres.", "wo liegt die Warteschlange"),
        ("キューはPostgresにあります。", "キューはどこ"),
    ):
        save(server, text)
        assert text in search(server, query)[0]["text"]


def test_counts_name_who_said_it(server: RekalServer) -> None:
    save(server, "Deploys happen on Mondays.")
    assert "saved" in server.answer("memory_save", {"text": "Retries are five.", "tags": ["retry"]}).texts[0]
    total, *rows = server.answer("recall_stats", {}).texts[0].splitlines()
    assert total == "Total: 2"
    assert sum(int(row.rpartition(": ")[2]) for row in rows) == 2
