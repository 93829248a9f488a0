"""SQL over the ledger's tables stands in ``store/`` and ``index/`` only: elsewhere a room asks by a function's name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rekal.store import schema

PACKAGE = Path(__file__).resolve().parents[2] / "rekal"
ROOMS = ("store", "index")

# From the schema itself, so that a table which a migration adds is looked for, too.
TABLES = sorted(set(re.findall(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+)", Path(schema.__file__).read_text("utf-8"))))
NAMED = re.compile(rf"(?s)\b(?:FROM|JOIN|INTO|UPDATE|TABLE)\s+\"?(?:{'|'.join(TABLES)})\b")
# A condition that another room hands over is SQL as well: a column against a parameter.
CONDITION = re.compile(r"\b[a-z_]+ (?:=|<>|<=|>=|LIKE) \?(?=$|[ )])|\b(?:starts_with|list_contains|contains)\(")


# Says how the file is written, and asks no table.
SETTING = "\"SET force_compression = 'zstd'\""


def strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Constants, and the fixed parts of f-strings joined: a table's name may follow a placeholder."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [str(v.value) if isinstance(v, ast.Constant) else "{}" for v in node.values]
            yield node.lineno, "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def offences(source: str) -> list[str]:
    tree = ast.parse(source)
    found = [f"line {line}: {text[:60]!r}" for line, text in strings(tree) if NAMED.search(text) and "\n\n" not in text]
    # A whole statement over other tables may stand where it is, such as one over the index.
    parts = [(line, text) for line, text in strings(tree) if "FROM " not in text]
    found += [f"line {line}: {text[:60]!r}" for line, text in parts if CONDITION.search(text)]
    for call in (n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)):
        runs = ast.unparse(call.func).endswith((".con.execute", ".con.executemany"))
        # A transaction that spans several rooms' work begins and ends where that work is.
        if runs and not (call.args and ast.unparse(call.args[0]) in ("'BEGIN'", "'ROLLBACK'", SETTING)):
            found.append(f"line {call.lineno}: runs a statement on the ledger's connection")
    return found


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_two_rooms_ask_the_ledgers_tables(path: Path) -> None:
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    # An agent's reader asks the agent's own database, where a table may have the same name; agents/ cannot reach ours.
    if room not in (*ROOMS, "agents"):
        assert offences(path.read_text("utf-8")) == [], "give store/ a function with a name for it"


def test_the_tables_are_found() -> None:
    assert {"sessions", "turns", "checkpoints", "received", "memory_events", "meta"} <= set(TABLES)


@pytest.mark.parametrize(
    "source",
    [
        'x = "SELECT 1 FROM turns WHERE a"',
        'x = f"""WITH {a} SELECT *\n FROM b JOIN   edits e"""',
        'read(con, "origin = ?", [1])',
        'read(con, "starts_with(id, ?)", [1])',
        "ledger.con.execute(text)",
    ],
)
def test_each_way_of_asking_is_noticed(source: str) -> None:
    assert offences(source)


@pytest.mark.parametrize("source", ['x = "which of the turns?"', 'x = "FROM message WHERE id = ?"', "con.close()"])
def test_other_text_is_left_alone(source: str) -> None:
    assert not offences(source)


@pytest.mark.parametrize("path", [path for room in ROOMS for path in sorted((PACKAGE / room).glob("*.py"))])
def test_no_pattern_in_a_statement_lost_its_backslash(path: Path) -> None:
    """``\\b`` in a string that is not raw is a backspace: a pattern with it matches nothing, and nobody is told."""
    tree = ast.parse(path.read_text("utf-8"))
    assert [line for line, text in strings(tree) if "\x08" in text] == []
