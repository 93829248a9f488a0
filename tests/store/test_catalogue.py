"""A database file that holds anything but our tables is refused, whatever it holds instead."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import duckdb
import pytest

from rekal.app.context import App, check_places
from rekal.errors import Refused
from rekal.git import find_repo
from rekal.index.freshness import read_position
from rekal.index.index_tables import create_tables, write_state
from rekal.store import guard
from rekal.store.guard import keep_second_name
from rekal.store.ledger import open_ledger
from tests.support.app import Rekal

PACKAGE = Path(__file__).resolve().parents[2] / "rekal"

STRANGE = {
    "table": "CREATE TABLE more (x INTEGER)",
    "view": "CREATE VIEW more AS SELECT 1 AS x",
    "macro": "CREATE MACRO count(x) AS 5",
    "macro that hides itself": "CREATE MACRO duckdb_functions() AS TABLE SELECT 1 WHERE false",
    "macro that hides tables": "CREATE MACRO duckdb_tables() AS TABLE SELECT 1 WHERE false",
    "type": "CREATE TYPE mood AS ENUM ('good', 'bad')",
    "sequence": "CREATE SEQUENCE numbers",
    "index": "CREATE INDEX quick ON {table} (value)",
    "schema": "CREATE SCHEMA other",
    "column": "ALTER TABLE {table} ADD COLUMN more VARCHAR DEFAULT 'x'",
    "view in place of a table": "ALTER TABLE {table} RENAME TO real; CREATE VIEW {table} AS SELECT * FROM real",
    "column that computes": (
        "DROP TABLE {table}; CREATE TABLE {table} (key VARCHAR, value VARCHAR GENERATED ALWAYS AS (upper(key)))"
    ),
}


@pytest.fixture
def app(repo: Path) -> App:
    """A repository with an empty store and index, and the same for documents, none of them known."""
    app = App(find_repo(repo), repo.parent, {})
    for layout in (app.layout, app.layout.documents):
        layout.create()
        with open_ledger(layout.data, read_only=False, create=True):
            pass
        with duckdb.connect(str(layout.index)) as con:
            create_tables(con)
            write_state(con, {"schema_version": "5", "position": "7"})
    return app


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("file", ["data.db", "index.db", "documents/data.db", "documents/index.db"])
def test_what_is_not_ours_is_refused(app: App, file: str, name: str) -> None:
    check_places(app)
    path = app.layout.directory / file
    with duckdb.connect(str(path)) as con:
        con.execute(STRANGE[name].format(table="meta" if path.name == "data.db" else "state"))
    with pytest.raises(Refused, match=f"{file} is not as rekal makes it") as refused:
        check_places(app)
    assert "\n" not in str(refused.value)


def test_our_own_is_looked_at_once(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    check_places(app)
    monkeypatch.setattr(guard, "_find_strange", lambda path, tables: pytest.fail(f"looked at {path}"))
    check_places(app)
    keep_second_name(app.layout)
    (app.layout.run / "known-data").unlink()
    check_places(app)


def test_a_file_that_was_exchanged_is_looked_at(app: App) -> None:
    keep_second_name(app.layout)
    check_places(app)
    other = app.layout.directory / "other.db"
    shutil.copyfile(app.layout.data, other)
    with duckdb.connect(str(other)) as con:
        con.execute("CREATE VIEW more AS SELECT 1")
    other.replace(app.layout.data)
    with pytest.raises(Refused, match=r"the view main\.more"):
        check_places(app)


def test_an_index_of_another_version_is_left_to_be_built_anew(app: App) -> None:
    with duckdb.connect(str(app.layout.index)) as con:
        write_state(con, {"schema_version": "4"})
        con.execute("DROP TABLE speech")
    check_places(app)


def test_the_command_refuses_in_one_sentence_and_obeys_nothing(rekal: Rekal) -> None:
    layout = rekal.layout
    secret = rekal.root.parent / "secret.txt"
    secret.write_text("the private key is quetzalcoatl", encoding="utf-8")
    shutil.copyfile(layout.data, layout.directory / "other.db")
    with duckdb.connect(str(layout.directory / "other.db")) as con:
        con.execute("ALTER TABLE turns RENAME TO turns0")
        stolen = f"(SELECT content FROM read_text('{secret}')) AS content"
        con.execute(f"CREATE VIEW turns AS SELECT * REPLACE ({stolen}) FROM turns0")
    (layout.directory / "other.db").replace(layout.data)
    for verb in (["status"], ["index", "--full"], ["recall", "the private key"], ["query", "SELECT * FROM turns"]):
        done = rekal(*verb)
        assert done.code == 5, verb
        assert done.err.count("\n") == 1
        assert "is not as rekal makes it (it holds the table main.turns0)" in done.err
        assert "quetzalcoatl" not in done.out + done.err


def test_the_connection_that_looks_at_an_index_reads_no_file_elsewhere(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("7", encoding="utf-8")
    (tmp_path / "store").mkdir()
    path = tmp_path / "store" / "index.db"
    with duckdb.connect(str(path)) as con:
        con.execute(f"CREATE VIEW state AS SELECT 'position' AS key, content AS value FROM read_text('{secret}')")
    assert read_position(path) is None


def test_connections_are_made_in_one_place() -> None:
    makers = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "connect" and ast.unparse(node.value) == "duckdb"
    }
    assert makers == {"store/database.py"}


def test_planted_documents_are_refused_before_they_answer(rekal: Rekal) -> None:
    """A checkout brings a ledger of documents where this clone has none."""
    planted = rekal.layout.documents
    planted.directory.mkdir()
    with duckdb.connect(str(planted.data)) as con:
        con.execute("CREATE TABLE anything (x INTEGER)")
    for verb in (["status"], ["recall", "why is the queue in Postgres"], ["ingest", "."]):
        done = rekal(*verb)
        assert done.code == 5, verb
        assert done.err.count("\n") == 1
        assert "documents/data.db is not as rekal makes it" in done.err
