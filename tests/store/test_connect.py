"""What DuckDB's errors become."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from rekal.errors import StoreBusy, StoreDamaged, StoreError, StoreUnwritable
from rekal.store.database import open_database, translate_error, translated_errors

PATH = Path("/corrupt extension/no space left/data.db")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (duckdb.IOException("IO Error: Could not set lock on file: Conflicting lock is held (PID 77)"), StoreBusy),
        (duckdb.IOException("IO Error: Could not write file: No space left on device"), StoreUnwritable),
        (duckdb.TransactionException("TransactionContext Error: Failed to commit: File too large"), StoreUnwritable),
        (duckdb.IOException('IO Error: Cannot open file "x": Permission denied'), StoreUnwritable),
        (duckdb.Error("Corrupt database file: computed checksum 1 does not match stored checksum 2"), StoreDamaged),
        (duckdb.Error('Failure while replaying WAL file "x.wal": Corrupt WAL file'), StoreDamaged),
        (
            duckdb.IOException('IO Error: The file "x" exists, but it is not a valid DuckDB database file!'),
            StoreDamaged,
        ),
        (duckdb.IOException(f'IO Error: Could not read from file "{PATH}": Input/output error'), StoreError),
        (duckdb.TransactionException(f'Error: Failed to commit: "{PATH}.wal": Input/output error'), StoreError),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_error_is_what_it_means(error: duckdb.Error, kind: type[StoreError]) -> None:
    translation = translate_error(error, PATH)
    assert type(translation) is kind
    assert "IO Error" not in str(translation)
    with pytest.raises(kind), translated_errors(PATH):
        raise error


def test_a_mistake_in_our_own_sql_is_not_the_stores_fault() -> None:
    with pytest.raises(duckdb.CatalogException), translated_errors(PATH), duckdb.connect() as con:
        con.execute("SELECT * FROM nowhere")


def test_an_interrupted_query_is_an_interruption() -> None:
    # What DuckDB raises when a signal arrives while a statement runs.
    with pytest.raises(KeyboardInterrupt), translated_errors(PATH):
        raise RuntimeError("Query interrupted")
    with pytest.raises(RuntimeError, match="something else"), translated_errors(PATH):
        raise RuntimeError("something else")


def test_no_extension_is_fetched_or_loaded_by_itself(tmp_path: Path) -> None:
    con = open_database(tmp_path / "some.db", read_only=False)
    names = "('autoinstall_known_extensions', 'autoload_known_extensions')"
    rows = con.execute(f"SELECT value FROM duckdb_settings() WHERE name IN {names}").fetchall()
    con.close()
    assert rows == [("false",), ("false",)]
