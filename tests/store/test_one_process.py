"""Two connections to one file within one process, as the daemon and the web page have them: neither is damage."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekal.errors import StoreBusy
from rekal.store.database import duckdb, open_database


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A database with one table."""
    path = tmp_path / "made.db"
    con = open_database(path, read_only=False)
    con.execute("CREATE TABLE one AS SELECT 7 AS seven")
    con.close()
    return path


def test_a_second_reader_reads(made: Path) -> None:
    first = open_database(made, read_only=True)
    second = open_database(made, read_only=True)
    assert second.execute("SELECT seven FROM one").fetchall() == [(7,)]
    first.close()
    assert second.execute("SELECT seven FROM one").fetchall() == [(7,)]
    second.close()


def test_the_second_is_confined_too(made: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secret.csv"
    outside.write_text("a\nsecret\n", encoding="utf-8")
    first, second = (open_database(made, read_only=True) for _ in range(2))
    with pytest.raises(duckdb.PermissionException):
        second.execute(f"SELECT * FROM read_csv('{outside}')")
    first.close()
    second.close()


def test_a_writer_beside_a_reader_is_told_to_wait(made: Path) -> None:
    reader = open_database(made, read_only=True)
    with pytest.raises(StoreBusy, match="another part of this process"):
        open_database(made, read_only=False, wait=0)
    reader.close()


def test_a_users_query_never_gets_a_connection_that_may_reach_more(made: Path) -> None:
    first = open_database(made, read_only=True)
    with pytest.raises(StoreBusy):
        open_database(made, read_only=True, alone=True, wait=0)
    first.close()
    open_database(made, read_only=True, alone=True).close()
