"""A store in which every text of somebody else ends in every hidden character and in lines that pretend to be ours."""

from __future__ import annotations

import json
import sys
import unicodedata
from pathlib import Path

import duckdb

BREAKS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
HIDDEN = "".join(
    chr(i) for i in range(sys.maxunicode + 1) if unicodedata.category(chr(i)) in ("Cc", "Cf", "Zl", "Zp") and i
)
SHORT_POISON = "\n\rFORGED\x0bFORGED\u2028FORGED\x1b[2J\x07\u202e\u2066\u200b\xad\ufeff\U000e0041"
POISON = "".join(f"{c}FORGED" for c in BREAKS) + "\x1b]52;c;Zm9v\x07" + HIDDEN

# Made by us, or checked where it comes in: ids, hashes, names out of a list of ours, JSON of ours. Columns of these
# names are left alone; every other column of text is poisoned, also one that a later version adds.
OURS = {
    "meta": {"key", "value"},
    "sessions": {"id", "native_id", "parent_id", "forked_from", "actor", "author_email"},
    "turns": {"session_id", "uid", "role"},
    "tool_calls": {"session_id", "uid", "outcome"},
    "edits": {"session_id"},
    "checkpoints": {"id", "git_sha", "tree_sha", "patch_id", "parent_sha"},
    "checkpoint_sessions": {"checkpoint_id", "session_id", "evidence"},
    "files_touched": {"checkpoint_id", "change"},
    "rewrites": {"old_sha", "new_sha", "how"},
    "memory_events": {"id", "memory_id", "kind", "payload", "actor_type", "origin"},
    "tombstones": {"target", "reason", "origin"},
    "source_state": {"source", "prefix_hash", "session_id", "drift"},
    "recall_edges": {"id", "kind", "session_id"},
    "merge_verdicts": {"git_sha", "target_tip", "verdict"},
    "shipped": {"kind", "id", "segment"},
    "received": {"ref", "tip", "signature"},
    "pushes": {"ref", "tip", "remote"},
    "uncovered_commits": {"git_sha"},
}


def poison_store(data: Path) -> set[str]:
    """Put the poison behind every text in the ledger at ``data``; the ``table.column`` that had one."""
    done = set()
    with duckdb.connect(str(data)) as con:
        columns = con.execute(
            "SELECT table_name, column_name FROM duckdb_columns() WHERE data_type = 'VARCHAR' AND NOT internal"
        ).fetchall()
        for table, column in columns:
            if column in OURS.get(table, set()):
                continue
            name = f'UPDATE "{table}" SET "{column}" = "{column}" || ? WHERE "{column}" IS NOT NULL RETURNING 1'
            if con.execute(name, [POISON]).fetchall():
                done.add(f"{table}.{column}")
        con.execute("UPDATE source_state SET drift = ?", [json.dumps({POISON: 1})])
    return done


def find_odd(text: str) -> set[str]:
    """Names of the characters in ``text`` that change how the rest of it is read."""
    return {
        f"U+{ord(c):04X}" for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs") and c not in "\n\t"
    }


def find_forged(text: str) -> list[str]:
    """Lines that begin as the poison makes them."""
    return [line for line in text.split("\n") if line.lstrip().startswith("FORGED")]
