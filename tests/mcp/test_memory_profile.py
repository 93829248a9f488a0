"""The memory profile answers as the rekal memory server 1.16 and 3.x do, and keeps what that server lost."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from rekal.mcp.mcp_server import RekalServer
from rekal.mcp.tools import ToolAnswer
from tests.mcp.test_graph_profile import without_prose
from tests.support.app import Rekal


class Client:
    """Calls tools and takes answers apart."""

    def __init__(self, server: RekalServer) -> None:
        self.server = server

    def __call__(self, name: str, **arguments: Any) -> ToolAnswer:
        return self.server.answer(name, arguments)

    def text(self, name: str, **arguments: Any) -> str:
        answer = self(name, **arguments)
        assert not answer.error, answer.texts
        assert answer.structured == {"result": answer.texts[0]}
        return answer.texts[0]

    def rows(self, name: str, **arguments: Any) -> list[dict[str, Any]]:
        answer = self(name, **arguments)
        assert not answer.error, answer.texts
        rows: list[dict[str, Any]] = (answer.structured or {})["result"]
        assert [json.loads(text) for text in answer.texts] == rows  # one block an element, none when empty
        return rows

    def store(self, content: str, **more: Any) -> str:
        return self.text("memory_store", content=content, **more).removeprefix("Stored memory ")


@pytest.fixture
def client(rekal: Rekal) -> Client:
    return Client(RekalServer("memory", cwd=rekal.root))


def test_the_tools_are_those_of_the_original_but_for_prose(shared: Path) -> None:
    original = json.loads((shared / "data/mcp/rekal-janbjorge-1.16.0.json").read_text("utf-8"))["tools"]
    ours = [dict(tool.contract) for tool in RekalServer("memory", cwd=Path("/")).tools.values()]
    for one in ours:
        one.pop("annotations")  # the original has none
    for one in original:
        one.pop("annotations", None), one.pop("_meta", None)
    assert without_prose(ours) == without_prose(original)
    assert len(ours) == 21


def test_a_memory_is_stored_found_changed_and_taken_back(client: Client) -> None:
    id_ = client.store("The job queue lives in Postgres.", tags=["queue"], memory_type="context")
    (found,) = client.rows("memory_search", query="job queue Postgres")
    assert (found["id"], found["memory_type"], found["tags"], found["tier"]) == (id_, "context", ["queue"], "durable")
    assert set(found) == {
        "id", "content", "memory_type", "tier", "project", "conversation_id", "tags", "created_at", "updated_at",
        "expires_at", "access_count", "last_accessed_at", "score",
    }  # fmt: skip
    assert client.text("memory_update", memory_id=id_, content="It lives in SQLite.") == f"Updated memory {id_}"
    assert [one["content"] for one in client.rows("memory_search", query="SQLite")] == ["It lives in SQLite."]
    assert client.text("memory_delete", memory_id=id_) == f"Deleted memory {id_}"
    assert client.text("memory_delete", memory_id=id_) == f"Memory {id_} not found"
    assert client.rows("memory_search", query="SQLite") == []


@pytest.mark.parametrize("query", ['a"b', "'", "AND OR NOT", "a* (b", "\x00", "-x", "   ", "%_"])
def test_no_query_is_an_error(client: Client, query: str) -> None:
    client.store("Something quite different.")
    assert not client("memory_search", query=query).error


def test_what_was_replaced_is_not_found_and_both_are_linked(client: Client) -> None:
    old = client.store("Retries are three.", project="p", tags=["a"])
    said = client.text("memory_supersede", old_id=old, new_content="Retries are five.")
    new = said.removeprefix("Created memory ").removesuffix(f" superseding {old}")
    (found,) = client.rows("memory_search", query="retries", project="p")
    assert (found["id"], found["tags"], found["project"]) == (new, ["a"], "p")
    gone = client("memory_supersede", old_id="nope", new_content="x")
    assert gone.error
    assert gone.texts[0].endswith("Memory nope not found")


def test_a_project_of_one_is_found_beside_one_of_many(client: Client) -> None:
    for n in range(60):
        client.store(f"Queue number {n} holds jobs of the large project.", project="large")
    mine = client.store("The queue of the small project.", project="small")
    assert [one["id"] for one in client.rows("memory_search", query="queue jobs", project="small", limit=1)] == [mine]


def test_without_a_project_only_what_belongs_to_none_is_meant(client: Client) -> None:
    client.store("A secret habit of one project.", project="one")
    assert client.rows("memory_search", query="secret habit") == []
    assert client.text("memory_set_project", project="one") == "Default project set to 'one'"
    assert len(client.rows("memory_search", query="secret habit")) == 1


def test_scratch_memories_expire_and_say_when(client: Client) -> None:
    said = client.text("memory_store_scratch", content="Port 8080 is taken just now.", conversation_id="c", ttl_hours=1)
    assert said.startswith("Stored scratch memory ")
    assert " (expires 2" in said
    (found,) = client.rows("memory_search", query="port taken", tier="scratch")
    assert found["tier"] == "scratch"
    assert client.rows("memory_search", query="port taken", tier="durable") == []
    assert client("memory_store_scratch", content="x", conversation_id="c", ttl_hours=0).error


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "much"])
def test_weights_that_cannot_be_used_are_refused(client: Client, value: str) -> None:
    client.text("memory_set_project", project="p")
    assert client.text("memory_set_config", key="half_life", value=value).startswith("Invalid value")
    assert client.text("memory_set_config", key="half_life", value="0").startswith("Invalid value")
    assert client.text("memory_set_config", key="colour", value="1").startswith("Invalid config key 'colour'")
    assert client.text("memory_set_config", key="w_fts", value="0.9") == "Set w_fts=0.9 for project 'p'"
    assert client("memory_search", query="x", half_life=0).error


def test_links_need_both_ends_and_conflicts_count_the_same_everywhere(client: Client) -> None:
    one, other = client.store("Use tabs in Makefiles."), client.store("Use spaces in Python.")
    assert client("memory_link", from_id=one, to_id="nope", relation="contradicts").error
    assert client("memory_link", from_id=one, to_id=one, relation="related_to").error
    said = client.text("memory_link", from_id=one, to_id=other, relation="contradicts")
    assert said == f"Linked {one} --contradicts--> {other}"
    assert [row["id"] for row in client.rows("memory_related", memory_id=one)] == [other]
    assert len(client.rows("memory_conflicts")) == 1
    health = client("memory_health").structured or {}
    assert (health["total_memories"], health["total_links"], health["total_conflicts"]) == (2, 1, 1)


def test_conversations_are_a_graph(client: Client) -> None:
    first = client.text("conversation_start", title="one").removeprefix("Started conversation ")
    second = client.text("conversation_start", title="two", follows_up_on=first).removeprefix("Started conversation ")
    (link,) = client.rows("conversation_tree", conversation_id=first)
    assert (link["from_id"], link["to_id"], link["relation"]) == (second, first, "follows_up_on")
    client.store("Said in the first.", conversation_id=first)
    counts = {row["id"]: row["memory_count"] for row in client.rows("conversation_threads")}
    assert counts == {first: 1, second: 0}
    assert client.rows("conversation_stale", days=0) != []
    assert [row["id"] for row in client.rows("conversation_stale", days=0)] == [first]  # an empty new one is not stale
    assert client("conversation_start", follows_up_on="nope").error


def test_pruning_wants_a_filter_and_counts_first(client: Client) -> None:
    client.text("memory_set_project", project="p")
    ids = [client.store(f"Old fact number {n}.") for n in range(3)]
    assert client.text("memory_prune").startswith("No filter set.")
    assert client.text("memory_prune", project="p").startswith("Would delete 3 memories (sample ids: ")
    assert len(client.rows("memory_timeline")) == 3
    assert client.text("memory_prune", project="p", dry_run=False) == "Deleted 3 memories"
    assert client.rows("memory_timeline") == []
    assert ids


def test_context_topics_timeline_and_similar(client: Client) -> None:
    one = client.store("Deploys happen on Monday mornings.")
    client.store("Deploys need a green build on Monday.", memory_type="procedure")
    context = client("memory_build_context", query="Monday deploys").structured or {}
    assert set(context) == {"query", "memories", "conflicts", "timeline_summary", "scratch"}
    assert context["timeline_summary"].startswith("2 memories from ")
    empty = client("memory_build_context", query="zebra").structured or {}
    assert empty["timeline_summary"] == "No memories found"
    assert {row["topic"] for row in client.rows("memory_topics")} == {"fact", "procedure"}
    assert client.rows("memory_timeline", start="2999-01-01 00:00:00") == []
    assert one not in [row["id"] for row in client.rows("memory_similar", memory_id=one)]


def test_the_three_tools_of_version_3_are_answered(client: Client) -> None:
    old = client.store("The limit is ten.")
    said = client.text("memory_store", content="The limit is twenty.", replaces=old)
    assert said.endswith(f" (replaces {old})")
    found = client("memory_build_context", query="limit twenty", min_score=0.1).structured or {}
    assert set(found) == {"query", "memories"}
    assert set(found["memories"][0]) == {"id", "content", "project", "tags", "created_at", "score"}
    assert client("memory_store", content="x", replaces="nope").error


def test_what_an_agent_stores_is_a_proposal_and_secrets_are_taken_out(client: Client, rekal: Rekal) -> None:
    key = "ghp_" + "a1B2" * 9
    client.store(f"The token is {key}.")
    (listed,) = rekal("memories", "--json").json["memories"]
    assert listed["state"] == "proposed"
    assert key not in json.dumps(listed)


def test_a_replacement_is_written_whole_or_not_at_all(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    old = client.store("Retries are three.")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    for name, arguments in (
        ("memory_supersede", {"old_id": old, "new_content": "Retries are five."}),
        ("memory_store", {"content": "Retries are five.", "replaces": old}),
    ):
        with monkeypatch.context() as broken:
            broken.setattr("rekal.app.memories.append_events", full)
            assert client(name, **arguments).error
        assert [row["content"] for row in client.rows("memory_search", query="retries")] == ["Retries are three."]


def test_a_store_that_cannot_be_opened_ends_no_server(client: Client, rekal: Rekal) -> None:
    client.store("Retries are three.")
    whole = rekal.layout.data.read_bytes()
    rekal.layout.data.write_bytes(b"not a database" * 500)
    before = threading.active_count()
    for _ in range(5):
        broken = client("memory_search", query="retries")
        assert broken.error
        assert broken.texts[0].count("\n") == 0
    assert threading.active_count() == before  # no thread is left behind by an attempt
    rekal.layout.data.write_bytes(whole)
    assert [row["content"] for row in client.rows("memory_search", query="retries")] == ["Retries are three."]


def test_a_read_only_server_reads_and_offers_nothing_that_writes(client: Client, rekal: Rekal) -> None:
    client.store("Retries are three.")
    reader = Client(RekalServer("memory", read_only=True, cwd=rekal.root))
    assert len(reader.rows("memory_search", query="retries")) == 1
    assert reader("memory_store", content="x").error
    assert not {"memory_store", "memory_delete", "memory_supersede", "memory_prune"} & set(reader.server.tools)


def test_one_common_word_is_no_half_hit(client: Client) -> None:
    client.store("Deploys happen on Monday mornings after the meeting.", project=None)
    (row,) = client.rows("memory_search", query="Monday zebra giraffe okapi lion", w_vec=0, w_recency=0, w_fts=1)
    assert 0 < row["score"] < 0.5


def test_links_are_exported(client: Client, rekal: Rekal) -> None:
    one, other = client.store("Use tabs in Makefiles."), client.store("Use spaces in Python.")
    client.text("memory_link", from_id=one, to_id=other, relation="contradicts")
    events = [json.loads(line) for line in rekal("export", "--format", "events").out.splitlines()]
    (link,) = [json.loads(event["payload"]) for event in events if event["kind"] == "link"]
    assert (link["to"], link["relation"]) == (other, "contradicts")


def test_a_prompt_that_begins_with_a_dash_is_a_prompt(rekal: Rekal) -> None:
    said = json.dumps({"session_id": "a", "cwd": str(rekal.root), "prompt": "--help me with the retries please now"})
    ran = rekal("hook", "prompt", f"--input={said}")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
