"""The graph profile is what Anthropic's memory server is to its clients: schemas, answers, errors, order.

``recorded_graph.json`` are answers of ``@modelcontextprotocol/server-memory`` 2026.8.31 to calls made up for it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from jsonschema import Draft7Validator

from rekal.mcp.mcp_server import RekalServer
from rekal.mcp.tools import ToolAnswer, read_contracts
from tests.support.app import Rekal

RECORDED = json.loads(Path(__file__).with_name("recorded_graph.json").read_text("utf-8"))
Call = Callable[..., ToolAnswer]


@pytest.fixture
def call(rekal: Rekal) -> Call:
    server = RekalServer("graph", cwd=rekal.root)
    return lambda name, **arguments: server.answer(name, arguments)


def without_prose(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_prose(v) for k, v in value.items() if not (k == "description" and isinstance(v, str))}
    return [without_prose(item) for item in value] if isinstance(value, list) else value


def test_recorded_calls_are_answered_equally(rekal: Rekal) -> None:
    server = RekalServer("graph", cwd=rekal.root)
    assert len(RECORDED) >= 40
    for one in RECORDED:
        got = server.answer(one["name"], one["arguments"])
        wanted = (one["content"], one["structuredContent"], one["isError"])
        assert (list(got.texts), got.structured, got.error) == wanted, (one["name"], one["arguments"])


def test_every_answer_fits_the_schema_that_is_promised(rekal: Rekal) -> None:
    server = RekalServer("graph", cwd=rekal.root)
    for one in RECORDED:
        got = server.answer(one["name"], one["arguments"])
        if not got.error:
            Draft7Validator(read_contracts("graph")[one["name"]]["outputSchema"]).validate(got.structured)


def test_the_tools_are_those_of_the_original_but_for_prose(shared: Path) -> None:
    original = json.loads((shared / "data/mcp/server-memory.json").read_text("utf-8"))["tools"]
    ours = [tool.contract for tool in RekalServer("graph", cwd=Path("/")).tools.values()]
    assert without_prose(ours) == without_prose(original)
    assert all(len(tool["name"]) <= 30 for tool in ours)


def test_a_relation_to_nothing_writes_nothing(call: Call) -> None:
    call("create_entities", entities=[{"name": "a", "entityType": "t", "observations": []}])
    good = {"from": "a", "to": "a", "relationType": "is"}
    got = call("create_relations", relations=[good, {"from": "a", "to": "b", "relationType": "is"}])
    assert got == ToolAnswer(("Entity with name b not found",), None, True)
    assert call("read_graph").structured == {
        "entities": [{"name": "a", "entityType": "t", "observations": []}],
        "relations": [],
    }


def test_a_deletion_of_what_is_not_there_says_so(call: Call) -> None:
    call("create_entities", entities=[{"name": "a", "entityType": "t", "observations": []}])
    got = call("delete_entities", entityNames=["a", "b"])
    assert got.texts == ("Deleted 1 of 2 entities. Not found: b",)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("create_entities", {}),
        ("create_entities", {"entities": [{"name": "a"}]}),
        ("search_nodes", {"query": 3}),
        ("x", {}),
    ],
)
def test_wrong_arguments_are_an_error_of_the_tool(call: Call, name: str, arguments: dict[str, Any]) -> None:
    got = call(name, **arguments)
    assert got.error
    assert got.texts[0].startswith("MCP error -32602: ")


def test_a_name_that_is_given_twice_in_a_call_is_kept_once(call: Call) -> None:
    twice = {"name": "a", "entityType": "t", "observations": ["x", "x"]}
    assert call("create_entities", entities=[twice, twice]).structured == {
        "entities": [{"name": "a", "entityType": "t", "observations": ["x"]}]
    }


def test_twenty_parallel_creations_are_all_kept(call: Call) -> None:
    def create(n: int) -> ToolAnswer:
        return call("create_entities", entities=[{"name": f"e{n}", "entityType": "t", "observations": []}])

    with ThreadPoolExecutor(20) as pool:
        assert not any(answer.error for answer in pool.map(create, range(20)))
    names = {one["name"] for one in (call("read_graph").structured or {})["entities"]}
    assert names == {f"e{n}" for n in range(20)}


@pytest.mark.parametrize("processes", ["ab", pytest.param("abcd", marks=pytest.mark.soak)])
def test_processes_side_by_side_lose_nothing(rekal: Rekal, call: Call, processes: str) -> None:
    code = (
        "import sys; from pathlib import Path; from rekal.mcp.mcp_server import RekalServer\n"
        "s = RekalServer('graph', cwd=Path(sys.argv[1]))\n"
        "for n in range(5):\n"
        "    e = {'name': f'{sys.argv[2]}{n}', 'entityType': 't', 'observations': []}\n"
        "    assert not s.answer('create_entities', {'entities': [e]}).error\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(rekal.root), who]) for who in processes]
    assert {one.wait(110) for one in running} == {0}
    names = {one["name"] for one in (call("read_graph").structured or {})["entities"]}
    assert names == {f"{who}{n}" for who in processes for n in range(5)}


def test_a_read_only_server_has_no_tool_that_writes() -> None:
    assert set(RekalServer("graph", read_only=True, cwd=Path("/")).tools) == {
        "read_graph",
        "search_nodes",
        "open_nodes",
    }


def test_outside_a_repository_the_graph_is_personal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REKAL_DATA_HOME", str(tmp_path / "own"))
    server = RekalServer("graph", cwd=tmp_path)
    made = server.answer("create_entities", {"entities": [{"name": "a", "entityType": "t", "observations": []}]})
    assert not made.error
    assert (tmp_path / "own" / "data.db").exists()


def test_a_server_that_is_killed_while_it_writes_leaves_a_graph_that_can_be_read(rekal: Rekal, call: Call) -> None:
    code = (
        "import sys; from pathlib import Path; from rekal.mcp.mcp_server import RekalServer\n"
        "s = RekalServer('graph', cwd=Path(sys.argv[1]))\n"
        "for n in range(10_000):\n"
        "    e = [{'name': f'{n}-{part}', 'entityType': 't', 'observations': ['x', 'y']} for part in 'ab']\n"
        "    assert not s.answer('create_entities', {'entities': e}).error\n"
        "    print(n, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(rekal.root)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        told = [int(writer.stdout.readline()) for _ in range(4)]
        writer.kill()
    entities = (call("read_graph").structured or {})["entities"]
    # What was answered is there, and of each call all or nothing.
    assert {f"{n}-{part}" for n in told for part in "ab"} <= {one["name"] for one in entities}
    assert len(entities) % 2 == 0
    assert all(one["observations"] == ["x", "y"] for one in entities)


def test_a_relation_is_found_by_either_end_and_goes_with_it(call: Call) -> None:
    call("create_entities", entities=[{"name": name, "entityType": "t", "observations": []} for name in ("a", "b")])
    link = {"from": "a", "to": "b", "relationType": "is"}
    call("create_relations", relations=[link])
    for end in ("a", "b"):
        assert (call("open_nodes", names=[end]).structured or {})["relations"] == [link]
        assert (call("search_nodes", query=end).structured or {})["relations"] == [link]
    call("delete_entities", entityNames=["b"])
    assert (call("read_graph").structured or {})["relations"] == []


@pytest.mark.parametrize("text", ["", '\u8336 & "tea" \u00e9', "x" * 16_000, '{"type":"entity"}', "a\nb"])
def test_any_text_may_be_observed_and_comes_back(call: Call, text: str) -> None:
    call("create_entities", entities=[{"name": "a", "entityType": "t", "observations": []}])
    got = call("add_observations", observations=[{"entityName": "a", "contents": [text]}])
    if not text:
        assert got.error
        return
    assert (got.structured or {})["results"] == [{"entityName": "a", "addedObservations": [text]}]
    assert (call("open_nodes", names=["a"]).structured or {})["entities"][0]["observations"] == [text]
    assert not call("add_observations", observations=[]).error
    assert not call("delete_observations", deletions=[{"entityName": "a", "observations": []}]).error


def test_what_is_too_long_is_refused_and_secrets_are_taken_out(call: Call, rekal: Rekal) -> None:
    key = "ghp_" + "a1B2" * 9
    entity = {"name": f"ci {key}", "entityType": "t", "observations": [f"token {key}"]}
    call("create_entities", entities=[entity])
    assert key not in call("read_graph").texts[0]
    too_long = {"name": "long", "entityType": "t", "observations": ["fine", "x" * 20_000]}
    assert call("create_entities", entities=[too_long]).error
    assert "long" not in [one["name"] for one in (call("read_graph").structured or {})["entities"]]
    assert key not in rekal("export", "--format", "events").out
