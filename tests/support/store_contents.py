"""What a store holds, in a form that two stores can be compared by."""

from __future__ import annotations

from pathlib import Path

import duckdb

# Left out: when and in which transaction something was learnt, and ids drawn at random.
_TABLES = {
    "sessions": "* EXCLUDE (recorded_at, pos)",
    "turns": "* EXCLUDE (recorded_at, pos)",
    "tool_calls": "* EXCLUDE (pos)",
    "edits": "* EXCLUDE (pos)",
    "checkpoints": "* EXCLUDE (recorded_at, pos)",
    "checkpoint_sessions": "* EXCLUDE (pos)",
    "files_touched": "* EXCLUDE (pos)",
    "rewrites": "* EXCLUDE (recorded_at, pos)",
    "recall_edges": "* EXCLUDE (pos)",
    "source_state": "*",
    "uncovered_commits": "* EXCLUDE (recorded_at)",
}

Dump = dict[str, list[str]]


def canonical(path: Path) -> Dump:
    """Every row of every table of data.db as text, sorted."""
    with duckdb.connect(str(path), read_only=True) as con:
        return {
            table: [repr(row) for row in con.execute(f"SELECT {columns} FROM {table} ORDER BY ALL").fetchall()]
            for table, columns in _TABLES.items()
        }


def indexed(path: Path) -> Dump:
    """What index.db says of each turn and session, without the numbers that depend on the order of indexing."""
    with duckdb.connect(str(path), read_only=True) as con:
        docs = "SELECT kind, session_id, seq, role, length, text, occurred_at FROM docs ORDER BY ALL"
        words = """SELECT d.session_id, d.seq, d.kind, t.term, p.tf FROM postings p JOIN terms t USING (term_id)
                   JOIN docs d USING (doc_id) ORDER BY ALL"""
        facets = "SELECT session_id, turns, commits, files, commands FROM facets ORDER BY ALL"
        return {sql: [repr(row) for row in con.execute(sql).fetchall()] for sql in (docs, words, facets)}
