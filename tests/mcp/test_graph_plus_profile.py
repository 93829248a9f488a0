"""The graph-plus profile is what mcp-memory is to its clients, and loses none of what that server lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from rekal.mcp.mcp_server import RekalServer
from tests.mcp.test_graph_profile import RECORDED, without_prose
from tests.support.app import Rekal

TOPICS = {
    "queue": ["jobs wait in the queue table", "the queue table has a lease column", "a worker takes a queue lease"],
    "login": ["login tokens expire after an hour", "the login page asks twice", "login tokens are kept hashed"],
}


class Client:
    """Calls tools and takes answers apart."""

    def __init__(self, server: RekalServer) -> None:
        self.server = server

    def __call__(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        answer = self.server.answer(tool, arguments)
        assert not answer.error, answer.texts
        assert json.loads(answer.texts[0]) == answer.structured  # one JSON text, and itself
        return answer.structured or {}

    def error(self, tool: str, /, **arguments: Any) -> str:
        answer = self.server.answer(tool, arguments)
        assert answer.error
        assert answer.structured is not None
        return str(answer.structured["error"])

    def entity(self, name: str, *observations: str, **more: str) -> None:
        self("create_entities", entities=[{"name": name, "observations": list(observations), **more}])

    def open(self, name: str, **more: Any) -> dict[str, Any]:
        (found,) = self("open_nodes", names=[name], **more)["entities"]
        return dict(found)


@pytest.fixture
def client(rekal: Rekal) -> Client:
    return Client(RekalServer("graph-plus", cwd=rekal.root))


def test_the_tools_are_those_of_the_original_but_for_prose(shared: Path) -> None:
    original = json.loads((shared / "data/mcp/yarlan-mcp-memory.json").read_text("utf-8"))["tools"]
    ours = {name: dict(tool.contract) for name, tool in RekalServer("graph-plus", cwd=Path("/")).tools.items()}
    assert len(ours) == 20
    both = {one["name"] for one in RECORDED} & {one["name"] for one in original}
    assert len(both) == 8
    for one in original:
        theirs, mine = without_prose(one["inputSchema"]), without_prose(ours[one["name"]]["inputSchema"])
        if one["name"] not in both:
            assert mine == theirs
            assert ours[one["name"]]["outputSchema"] == one["outputSchema"]
            assert ours[one["name"]]["title"] == one["title"]
            continue
        # The other server's calls are taken too, so there is more, and each parameter of this one is as it was.
        for name, schema in theirs["properties"].items():
            kinds = mine["properties"][name].get("items", schema.get("items"))
            if name == "observations":
                kinds = schema["items"]
            assert {**mine["properties"][name], "items": kinds} == {**schema, "items": schema.get("items")}
        assert set(mine.get("required", ())) <= set(theirs["required"])


def test_calls_in_the_shape_of_the_other_server_are_taken(rekal: Rekal) -> None:
    server = RekalServer("graph-plus", cwd=rekal.root)
    for one in RECORDED:
        answer = server.answer(one["name"], one["arguments"])
        assert not (answer.error and not one["isError"]) or "not found" in answer.texts[0], (one, answer)


def test_create_merges_and_resets_nothing_that_was_left_out(client: Client) -> None:
    client.entity("queue", "holds jobs", entityType="Sistema", status="pausado")
    client.entity("queue", "holds jobs", "has leases")
    (found,) = client("search_nodes", query="queue")["entities"]
    assert (found["entityType"], found["status"]) == ("Sistema", "pausado")
    assert found["observations"] == ["holds jobs", "has leases"]
    client.entity("plain")
    assert (client.open("plain")["entityType"], client.open("plain")["status"]) == ("Generic", "activo")


def test_relations_answer_each_by_itself_and_a_mutual_one_has_both_sides(client: Client) -> None:
    client.entity("a")
    client.entity("b")
    good = {"from": "a", "to": "b", "relationType": "contiene", "context": "since May"}
    bad = {"from": "a", "to": "nobody", "relationType": "usa"}
    made = client("create_relations", relations=[good, bad, good, dict(good)])
    assert [one["relationType"] for one in made["relations"]] == ["contiene"]
    errors = [one["error"] for one in made["errors"]]
    assert errors == ["Entity not found: nobody", "Relation already exists", "Relation already exists"]
    (link,) = client.open("b")["relations"][:1]
    assert {one["relation_type"] for one in client.open("b")["relations"]} == {"contiene", "parte_de"}
    assert set(link) == {"id", "relation_type", "target_name", "direction", "context", "active", "ended_at"}
    client("delete_relations", relations=[good])
    assert client.open("b")["relations"] == []
    assert client("delete_relations", relations=[good])["errors"][0]["error"] == "Relation not found"


def test_an_ended_relation_ends_its_inverse_and_can_begin_anew(client: Client) -> None:
    client.entity("a")
    client.entity("b")
    link = {"from": "a", "to": "b", "relationType": "contiene"}
    (made,) = client("create_relations", relations=[link])["relations"]
    ended = client("end_relation", relation_id=made["id"])
    assert set(ended["relation"]) == {"id", "from", "to", "relation_type", "active", "ended_at", "context"}
    assert ended["relation"]["active"] is False
    assert ended["inverse_expired_id"]
    assert "notice" in client("end_relation", relation_id=made["id"])
    assert client("search_nodes", query="a")["relations"] == []
    assert len(client("create_relations", relations=[link])["relations"]) == 1
    assert all(one["active"] for one in client.open("a")["relations"])
    assert client.error("end_relation", relation_id=7) == "Relation not found: 7"


def test_a_replaced_observation_is_kept_hidden_and_can_be_said_again(client: Client) -> None:
    client.entity("store", "lives in SQLite")
    (old,) = client.open("store")["observations"]
    assert set(old) == {
        "id", "content", "similarity_flag", "kind", "supersedes", "superseded_at", "created_at",
    }  # fmt: skip
    new = ["lives in DuckDB", "is columnar"]
    client("add_observations", name="store", observations=new, kind="decision", supersedes=old["id"])
    assert client("search_nodes", query="sqlite")["entities"] == []
    found = client.open("store", include_superseded=True)["observations"]
    assert [one["supersedes"] for one in found] == [None, old["id"], old["id"]]  # each of them, not the last alone
    assert [one["superseded_at"] is None for one in found] == [False, True, True]
    assert [one["content"] for one in client.open("store", kinds=["decision"])["observations"]] == new
    client("add_observations", name="store", observations=["lives in SQLite"])
    assert "lives in SQLite" in [one["content"] for one in client.open("store")["observations"]]
    message = client.error("add_observations", name="store", observations=["x"], supersedes=3)
    assert "has no observation 3" in message
    assert client.error("add_observations", name="nobody", observations=["x"]) == "Entity with name nobody not found"


def test_a_query_has_no_signs_of_its_own(client: Client) -> None:
    client.entity("plain", "nothing of the kind")
    for query in ("%", "_", 'a"b', "'", "*", "OR", "\x00"):
        assert client("search_nodes", query=query)["entities"] == []
        assert client("search_semantic", query=query)["results"] == []
        assert client("search_reflections", query=query)["results"] == []


def test_a_quoted_word_does_not_hide_what_the_others_find(client: Client) -> None:
    client.entity("queue", "jobs wait in Postgres")
    (found,) = client("search_semantic", query='where do "jobs wait" in Postgres')["results"]
    assert {"name", "entityType", "observations", "limbic_score", "scoring", "routing_strategy"} <= set(found)
    assert set(found["scoring"]) == {"importance", "temporal_factor", "cooc_boost"}


def test_what_is_archived_comes_after_what_is_not_and_nothing_is_left_to_chance(client: Client) -> None:
    for n in range(4):
        client.entity(f"old {n}", "deploys happen on Monday mornings", status="archivado")
    client.entity("new", "deploys happen on Monday, after the long meeting of everybody")
    first = client("search_semantic", query="deploys happen on Monday mornings", limit=2)
    assert first["results"][0]["name"] == "new"
    assert first["left"] == 3
    scores = [one["limbic_score"] for one in client("search_semantic", query="deploys Monday")["results"]]
    assert scores == sorted(scores, reverse=True)
    # Its ranking never learns from what it returned, and draws no lot.
    for _ in range(20):
        assert client("search_semantic", query="deploys happen on Monday mornings", limit=2) == first


def test_ids_that_a_tool_gives_are_taken_by_the_others(client: Client) -> None:
    client.entity("queue", "holds jobs")
    id_ = client.open("queue")["id"]
    assert id_ < 2**53
    made = client("add_reflection", target_type="entity", target_id=id_, content="It grew too fast.", mood="duda")
    assert set(made["reflection"]) == {"id", "target_type", "target_id", "author", "content", "mood", "created_at"}
    assert made["reflection"]["target_id"] == id_
    assert [one["content"] for one in client.open("queue")["reflections"]] == ["It grew too fast."]
    client("add_reflection", target_type="global", content="A good week.", mood="satisfaccion", author="nolan")
    (found,) = client("search_reflections", query="week", author="nolan")["results"]
    assert found["content"] == "A good week."
    assert client("search_reflections", query="week", mood="duda")["results"] == []
    assert "there is no entity 5" in client.error("add_reflection", target_type="entity", target_id=5, content="x")
    assert "no target_id" in client.error("add_reflection", target_type="global", target_id=5, content="x")
    assert client.error("add_reflection", target_type="global", content=" ")
    assert client.error("add_reflection", target_type="global", content="x", mood="glad")


def test_a_large_entity_is_analysed_and_split_and_loses_nothing(client: Client) -> None:
    texts = [f"{text}, case {n}" for n in range(4) for group in TOPICS.values() for text in group]
    client.entity("app", *texts[:1], entityType="Proyecto")
    client("add_observations", name="app", observations=texts[1:], kind="decision")
    client("add_observations", name="app", observations=["deploys on Monday", "is written in Python"])
    analysis = client("analyze_entity_split", entity_name="app")["analysis"]
    assert set(analysis) == {
        "entity_name", "entity_type", "observation_count", "threshold", "needs_split", "topics", "split_score",
    }  # fmt: skip
    assert (analysis["observation_count"], analysis["threshold"], analysis["needs_split"]) == (26, 25, True)
    assert [one["entity_name"] for one in client("find_split_candidates")["candidates"]] == ["app"]
    proposal = client("propose_entity_split_tool", entity_name="app")["proposal"]
    assert set(proposal) == {"original_entity", "suggested_splits", "relations_to_create", "analysis"}
    parts = proposal["suggested_splits"]
    groups = [{"queue" if "queue" in text else "login" for text in part["observations"]} for part in parts]
    assert all(len(group) == 1 for group in groups), parts
    result = client("execute_entity_split_tool", entity_name="app", approved_splits=parts)["result"]
    moved = sum(len(part["observations"]) for part in parts)
    assert result == {
        "new_entities": [part["name"] for part in parts],
        "moved_observations": moved,
        "relations_created": 2 * len(parts),
        "original_observations_remaining": 26 - moved,
    }
    kept = [one for part in parts for one in client.open(part["name"])["observations"]]
    assert {one["kind"] for one in kept if one["content"] in texts[1:]} == {"decision"}
    everything = {one["content"] for one in [*kept, *client.open("app")["observations"]]}
    assert everything == {*texts, "deploys on Monday", "is written in Python"}
    assert client("propose_entity_split_tool", entity_name="app") == {
        "proposal": None,
        "message": "Entity does not need splitting",
    }


def test_a_split_with_something_wrong_in_it_changes_nothing(client: Client) -> None:
    client.entity("app", "one", "two")
    client.entity("other", "three")
    before = client("read_graph")
    for parts in (
        [{"name": "p", "observations": ["one"]}, {"name": "q", "observations": ["never said"]}],
        [{"name": "p", "observations": ["one"]}, {"name": "q", "observations": ["one"]}],
        [{"name": "other", "observations": ["one"]}],
        [{"name": "p"}],
    ):
        assert client.error("execute_entity_split_tool", entity_name="app", approved_splits=parts)
        assert client("read_graph") == before
    part = [{"name": "p", "entity_type": "Recurso", "observations": ["one"]}]
    client("execute_entity_split_tool", entity_name="app", approved_splits=part, parent_entity_name="other")
    assert {one["target_name"] for one in client.open("p")["relations"]} == {"other"}


def test_duplicates_and_the_report(client: Client) -> None:
    client.entity(
        "queue", "jobs wait in Postgres", "Jobs wait in postgres.", "login is slow",
        "jobs wait in Postgres until a worker with a free slot takes the oldest of them",
    )  # fmt: skip
    found = client("find_duplicate_observations", entity_name="queue")
    assert (found["entity"], found["total_observations"]) == ("queue", 4)
    (cluster,) = found["clusters"]
    assert cluster["size"] == 3
    assert set(cluster["observations"][0]) == {"observation_id", "content", "similarity_flag"}
    report = client("consolidation_report", stale_days=0)
    assert set(report) == {
        "summary", "split_candidates", "flagged_observations", "stale_entities", "large_entities",
    }  # fmt: skip
    assert report["summary"] == {
        "total_entities": 1, "total_observations": 4, "split_candidates_count": 0, "flagged_observations_count": 2,
        "stale_entities_count": 1, "large_entities_count": 0,
    }  # fmt: skip
    (row,) = report["flagged_observations"]["queue"][:1]
    assert set(row) == {"id", "content_preview", "content_length"}


def test_a_file_of_the_graph_is_imported_with_its_damage_counted(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text(
        '{"type":"relation","from":"a","to":"b","relationType":"usa"}\n'  # before its entities
        '[1]\n{"type":"entity","name":"a","entityType":"t","observations":["x"]}\n'
        '{"type":"entity","name":"b","entityType":"t","observations":[]}\n{"type":"ent',
        encoding="utf-8",
    )
    first = client("migrate", source_path=str(file))
    assert (first["entities_imported"], first["relations_imported"], first["errors"]) == (2, 1, 2)
    client.entity("a", entityType="mine", status="pausado")
    assert client("migrate", source_path=str(file))["skipped"] == 4
    assert (client.open("a")["entityType"], client.open("a")["status"]) == ("mine", "pausado")
    assert client.error("migrate", source_path=str(tmp_path / "none"))


def test_a_large_graph_can_be_read_in_pages_and_by_names_alone(client: Client) -> None:
    for n in range(5):
        client.entity(f"e{n}", "a long observation")
    page = client("read_graph", limit=2, offset=1, names_only=True)
    assert [one["name"] for one in page["entities"]] == ["e1", "e2"]
    assert set(page["entities"][0]) == {"name", "entityType"}
    assert page["left"] == 2
    assert len(client("read_graph")["entities"]) == 5
    assert client("search_nodes", query="long", field="name")["entities"] == []
    assert len(client("search_nodes", query="long", field="observations")["entities"]) == 5


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("create_entities", {"entities": [{"entityType": "t"}]}),
    ("create_entities", {"entities": [{"name": f"e{n}"} for n in range(51)]}),
    ("create_relations", {"relations": [{"from": "a"}]}),
    ("add_observations", {"observations": ["to whom?"]}),
    ("add_observations", {"name": "a", "observations": ["x" * 20_000]}),
    ("search_nodes", {"query": "x" * 501}),
    ("analyze_entity_split", {"entity_name": "nobody"}),
    ("delete_observations", {"name": "nobody", "observations": ["x"]}),
]


def test_what_cannot_be_done_is_an_error_of_one_sentence(client: Client) -> None:
    client.entity("a")
    for name, arguments in WRONG:
        assert "\n" not in client.error(name, **arguments)


def test_secrets_are_taken_out_of_a_graph(client: Client, rekal: Rekal) -> None:
    key = "ghp_" + "a1B2" * 9
    client.entity("ci", f"token {key}", f"uses {key} to push")
    part = [{"name": "ci part", "observations": client.open("ci")["observations"][:1]}]
    assert client.error("execute_entity_split_tool", entity_name="ci", approved_splits=part)  # objects are no texts
    assert key not in json.dumps(client("read_graph"))
    assert key not in rekal("export", "--format", "events").out
