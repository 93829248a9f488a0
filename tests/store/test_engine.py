"""One driver, whichever of its two names it is loaded by."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import duckdb
import pytest

from rekal.store import database

ROOT = Path(__file__).resolve().parents[2]


def test_what_is_used_is_what_is_asked_for() -> None:
    used = set()
    for path in (ROOT / "rekal").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "duckdb":
                used.add(node.attr)
    assert used == set(database.USED)


@pytest.mark.parametrize("name", database.USED)
def test_both_names_lead_to_the_same_objects(name: str) -> None:
    assert getattr(database.load_driver(), name) is getattr(duckdb, name)


def test_a_version_without_the_compiled_module_is_loaded_whole() -> None:
    assert database.load_driver(compiled="_no_such_module") is duckdb


def test_a_compiled_module_that_lacks_something_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = ModuleType("_lacking")
    for name in database.USED[1:]:
        setattr(lacking, name, object())
    monkeypatch.setitem(sys.modules, "_lacking", lacking)
    assert database.load_driver(compiled="_lacking") is duckdb


@pytest.mark.parametrize("whole", [False, True])
def test_the_store_works_with_either(tmp_path: Path, whole: bool) -> None:
    """Rows, arrays, one statement taken apart, and an error turned into ours."""
    code = f"""
import sys
if {whole}:
    import duckdb
    sys.modules["_duckdb"] = None  # from here on it cannot be imported by this name
from pathlib import Path
from rekal.errors import StoreDamaged, UsageError
from rekal.store.database import open_database
from rekal.store.user_query import run_select
path = Path(sys.argv[1]) / "a.db"
con = open_database(path, read_only=False)
con.execute("CREATE TABLE t (a INTEGER, b VARCHAR)")
con.execute("INSERT INTO t SELECT unnest(?::INTEGER[]), unnest(?::VARCHAR[])", [[1, 2], ["x", None]])
print(con.execute("SELECT a FROM t").fetchnumpy()["a"].tolist())
con.close()
print(run_select(path, "SELECT a, b FROM t ORDER BY a").rows)
for wrong in ("SELECT nothing FROM t", "DELETE FROM t"):
    try:
        run_select(path, wrong)
    except UsageError as error:
        print(type(error).__name__)
path.write_bytes(b"no database at all" * 1000)
try:
    open_database(path, read_only=True)
except StoreDamaged as error:
    print(type(error).__name__)
print("duckdb" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT
    )
    rows = "[1, 2]\n[[1, 'x'], [2, None]]\nUsageError\nUsageError\nStoreDamaged\n"
    assert done.stdout == f"{rows}{whole}\n"
