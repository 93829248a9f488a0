"""Stores of other memory programs are imported whole, once, and come to no harm; the graph comes back byte for byte."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekal.app.transfer.graph_lines import read_graph_lines
from tests.support.app import Rekal
from tests.transfer.foreign_stores import AT, make_mcp_memory, make_recall, make_rekal_1_16, make_rekal_3

GRAPH = (
    '{"type":"entity","name":"Ann","entityType":"person","observations":["Wrote the queue","Likes 茶 & \\"tea\\""]}\n'
    '{"type":"entity","name":"queue","entityType":"module","observations":[]}\n'
    '{"type":"relation","from":"Ann","to":"queue","relationType":"wrote"}'
)


def test_the_graph_comes_back_byte_for_byte(rekal: Rekal, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text(GRAPH, encoding="utf-8")
    report = rekal("import", str(file), "--json").json
    assert report["read"] == {"entities": 2, "observations": 2, "relations": 1}
    assert (report["written"], report["held"], report["problems"]) == (5, 0, [])
    assert rekal("export", "--format", "anthropic").out == GRAPH
    again = rekal("import", str(file), "--json")
    assert again.code == 1
    assert (again.json["written"], again.json["held"]) == (0, 5)
    assert rekal("export", "--format", "anthropic").out == GRAPH
    assert file.read_text("utf-8") == GRAPH


@pytest.mark.parametrize(
    ("text", "entities", "relations", "problems"),
    [
        ("\ufeff" + GRAPH.replace("\n", "\r\n"), 2, 1, 0),
        ("".join(GRAPH.splitlines()), 2, 1, 0),  # several objects on one line
        ("\n".join(reversed(GRAPH.splitlines())), 2, 1, 0),  # a relation before its entities
        (f"[{','.join(GRAPH.splitlines())}]", 2, 1, 0),
        (GRAPH + '\n{"type":"entity","name":"tor', 2, 1, 1),
        (GRAPH + "\n[]\n{}\n3\nnull", 2, 1, 3),
        ('{"name":"x"}\n{"from":"x","to":"y","relationType":"z"}', 1, 1, 0),
        ('{"name":7}\n{"name":"x","observations":[1,"a",null]}', 1, 0, 1),
    ],
)
def test_damage_costs_what_it_hit(text: str, entities: int, relations: int, problems: int) -> None:
    found = read_graph_lines(text, AT)
    counts = [sum(item.counts_as == name for item in found.items) for name in ("entities", "relations")]
    assert (*counts, len(found.problems)) == (entities, relations, problems)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet='{}[]",:\\ntypenamrlio \n\r\ufeff1', max_size=60))
def test_no_text_breaks_the_reader(text: str) -> None:
    read_graph_lines(text, AT)


def test_what_was_removed_after_an_import_stays_removed(rekal: Rekal, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text(GRAPH, encoding="utf-8")
    rekal("import", str(file))
    rekal_graph = rekal("export", "--format", "anthropic").out
    assert "Ann" in rekal_graph
    from rekal.app.context import App
    from rekal.app.desk import Desk
    from rekal.app.memory_graph import remove_entities
    from rekal.config import read_environment
    from rekal.git import find_repo

    app = App(find_repo(rekal.root), rekal.home, read_environment())
    remove_entities(Desk(app.home, app.env, app), ["Ann"])
    rekal("import", str(file))
    assert "Ann" not in rekal("export", "--format", "anthropic").out


def written_store(name: str, folder: Path) -> Path:
    """A store as the program itself wrote it (`make_stores.py`)."""
    path = folder / name
    path.write_bytes(gzip.decompress((Path(__file__).parent / "stores" / f"{name}.gz").read_bytes()))
    return path


def sqlite_counts(path: Path) -> dict[str, int]:
    """Rows by table, as far as plain SQLite can read them."""
    wanted = ("memories", "memory_links", "conversations", "sdk_sessions", "observations", "session_summaries")
    with sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) as con:
        present = {name for (name,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        return {name: con.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in wanted if name in present}


def counts(rekal: Rekal, path: Path) -> dict[str, int]:
    before = path.read_bytes()
    first = rekal("import", str(path), "--json")
    assert first.code == 0, first.err
    assert first.json["written"] > 0
    assert rekal("import", str(path), "--json").json["written"] == 0
    assert path.read_bytes() == before
    assert not list(path.parent.glob(f"{path.name}-*"))
    return dict(first.json["read"])


def test_a_store_of_the_rekal_server_1_16(rekal: Rekal, tmp_path: Path) -> None:
    path = make_rekal_1_16(tmp_path / "memory.db")
    assert counts(rekal, path) == {"conversations": 2, "memories": 4, "links": 2}
    listed = {one["text"]: one for one in rekal("memories", "--json").json["memories"]}
    assert "Retries are three." not in listed  # it was replaced
    assert listed["Retries are five."]["tags"] == ["retry"]
    assert listed["Retries are five."]["project"] == "app"
    assert listed["Deploys on Monday."]["occurred_at"].startswith("2026-03-01")
    assert "Port 8080 is taken." not in listed  # expired


def test_a_store_of_the_rekal_server_3(rekal: Rekal, tmp_path: Path) -> None:
    assert counts(rekal, make_rekal_3(tmp_path / "memory.db")) == {"memories": 1}


@pytest.mark.parametrize(
    ("version", "wanted"),
    [
        ("1.7.0", {"conversations": 2, "memories": 3, "links": 3}),
        ("1.16.0", {"conversations": 2, "memories": 4, "links": 3}),
        ("3.4.0", {"memories": 2}),
    ],
)
def test_stores_that_the_rekal_server_wrote_itself(
    rekal: Rekal, tmp_path: Path, version: str, wanted: dict[str, int]
) -> None:
    path = written_store(f"rekal-{version}.db", tmp_path)
    held = sqlite_counts(path)
    assert counts(rekal, path) == wanted
    assert {"memories": held["memories"], "links": held.get("memory_links", 0)} == {
        "memories": wanted["memories"], "links": wanted.get("links", 0),
    }  # fmt: skip
    texts = {one["text"]: one for one in rekal("memories", "--json").json["memories"]}
    assert "Was said by mistake." not in texts
    if version == "3.4.0":
        assert set(texts) == {"Jobs live in Postgres.", "Nobody deploys on Fridays."}
        assert (texts["Jobs live in Postgres."]["project"], texts["Jobs live in Postgres."]["tags"]) == ("app", ["db"])
        return
    assert set(texts) == {"Retries are five.", "Deploys happen on Monday mornings."}  # the rest is replaced or expired
    assert texts["Retries are five."]["tags"] == ["retry"]
    links = {(one["relation"]) for one in map(json.loads, rekal("export", "--format", "events").out.splitlines())
             for one in [json.loads(one["payload"])] if "relation" in one}  # fmt: skip
    assert links == {"related_to", "contradicts"}


def test_a_store_that_claude_mem_wrote_itself(rekal: Rekal, tmp_path: Path) -> None:
    path = written_store("claude-mem-13.25.3.db", tmp_path)
    held = sqlite_counts(path)
    assert counts(rekal, path) == {"conversations": held["sdk_sessions"], "memories": 4}
    assert held["observations"] + held["session_summaries"] == 4
    report = rekal("import", str(path), "--json").json
    assert report["problems"] == ["2 prompts were left out: the agents' transcripts hold them"]
    listed = {one["text"].split("\n")[0]: one for one in rekal("memories", "--json").json["memories"]}
    decision = listed["The job queue lives in Postgres"]
    assert (decision["type"], decision["project"]) == ("decision", "shop")
    assert decision["tags"] == ["decision", "why-it-exists", "trade-off"]
    assert decision["occurred_at"].startswith("2026-03-01T09:00:00")
    for part in ("Redis would be one more service", "were moved into a table", "- Jobs survive a restart", "worker.py"):
        assert part in decision["text"]
    assert "Next steps: Measure it under load" in listed["Request: Make the job queue durable"]["text"]
    assert listed["Leases were never released"]["type"] == "episode"


def test_a_store_of_mcp_memory(rekal: Rekal, tmp_path: Path) -> None:
    path = make_mcp_memory(tmp_path / "memory.db")
    assert counts(rekal, path) == {"entities": 2, "observations": 3, "relations": 2, "reflections": 1}
    lines = [json.loads(line) for line in rekal("export", "--format", "anthropic").out.splitlines()]
    assert [line["name"] for line in lines if line["type"] == "entity"] == ["rekal", "DuckDB"]
    assert lines[0]["observations"] == ["Stores in DuckDB."]  # what it took the place of is kept and hidden
    replaced = [one for one in rekal("export", "--format", "events").out.splitlines() if "Stores in SQLite." in one]
    assert len(replaced) == 1
    assert [line["to"] for line in lines if line["type"] == "relation"] == ["DuckDB"]  # the ended one is over


def test_a_store_of_the_python_recall(rekal: Rekal, tmp_path: Path) -> None:
    path = make_recall(tmp_path / "memory.db")
    assert counts(rekal, path) == {"memories": 2}
    texts = {one["text"] for one in rekal("memories", "--json").json["memories"]}
    assert texts == {"[2026-01-02] Ann moved to Lyon.", "Deploys happen on Mondays."}


def test_a_folder_of_basic_memory(rekal: Rekal, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "queue.md").write_text(
        "---\ntitle: Job queue\ntype: design\n---\n# Job queue\n\nSome prose.\n\n"
        "- [decision] It lives in Postgres #db\n- depends_on [[Postgres]]\n- plain item\n",
        encoding="utf-8",
    )
    report = rekal("import", str(notes), "--json").json
    assert report["read"] == {"entities": 1, "observations": 1, "relations": 1}
    assert report["problems"] == ["2 lines of prose have no place in a graph; they stay in their files"]


def test_what_is_not_recognised_is_refused_and_nothing_is_written(rekal: Rekal, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as con:
        con.execute("CREATE TABLE bookmarks (url TEXT)")
    for path in (other, tmp_path / "none", tmp_path):
        assert rekal("import", str(path)).code == 2
    (tmp_path / "text.txt").write_text("just words\n", encoding="utf-8")
    assert rekal("import", str(tmp_path / "text.txt")).code == 2
    assert rekal("export", "--format", "events").out == ""


def test_secrets_of_an_import_are_taken_out(rekal: Rekal, tmp_path: Path) -> None:
    key = "ghp_" + "a1B2" * 9
    file = tmp_path / "memory.jsonl"
    file.write_text(json.dumps({"type": "entity", "name": "x", "entityType": "t", "observations": [f"token {key}"]}))
    rekal("import", str(file))
    assert key not in rekal("export", "--format", "events").out
    assert "redacted" in rekal("export", "--format", "events").out


def test_secrets_are_taken_out_of_every_field(rekal: Rekal, tmp_path: Path) -> None:
    key = "ghp_" + "a1B2" * 9
    path = written_store("claude-mem-13.25.3.db", tmp_path)
    with sqlite3.connect(path) as con:
        con.execute("UPDATE sdk_sessions SET user_prompt = ?, project = ?", (f"push with {key}", f"p-{key}"))
        con.execute("UPDATE observations SET title = ?, concepts = ?, project = ?", (f"t {key}", f'["{key}"]', key))
    assert rekal("import", str(path)).code == 0
    assert key not in rekal("export", "--format", "events").out


def test_exports_of_memories(rekal: Rekal) -> None:
    rekal("remember", "Jobs live in Postgres.", "--type", "decision", "--because", "we have it already")
    (line,) = rekal("export").out.splitlines()
    assert json.loads(line)["text"] == "Jobs live in Postgres."
    text = rekal("export", "--format", "markdown").out
    assert "## Decided:" in text
    assert "Because: we have it already" in text
    (event,) = rekal("export", "--format", "events").out.splitlines()
    assert json.loads(event)["kind"] == "assert"
