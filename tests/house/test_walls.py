"""The walls between the rooms: who may import whom, and who may reach git, a database, the environment."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "rekal"

# From the top down: a room imports only rooms that stand below it, also for types alone.
ROOMS = (
    "__main__",
    "__init__",
    "memory_client",
    "cli",
    "mcp",
    "web",
    "daemon",
    "app",
    "forget",
    "memory",
    "documents",
    "recall",
    "index",
    "why",
    "transport",
    "capture",
    "install",
    "embed",
    "wire",
    "store",
    "scrub",
    "agents",
    "git",
    "config",
    "shared_settings",
    "reasons",
    "plain_text",
    "files",
    "model",
    "errors",
    "ids",
)

ONLY = {
    "git": {"git"},
    "duckdb": {"store", "index"},
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_room_imports_only_what_it_may(path: Path) -> None:
    room = room_of(path)
    assert room in ROOMS, f"{room} is a new room: say in ROOMS where it stands"
    below = ROOMS[ROOMS.index(room) :]
    for name in imports(parsed(path)):
        parts = name.split(".")
        if parts[0] == "rekal" and len(parts) > 1 and parts[1] != "__version__":
            assert parts[1] in below, f"{room} must not import {parts[1]}, which stands above it"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_two_rooms_open_databases_and_only_one_runs_git(path: Path) -> None:
    room = room_of(path)
    tree = parsed(path)
    if path != PACKAGE / "store/database.py":
        assert not any(name.split(".")[0] in ("duckdb", "_duckdb") for name in imports(tree))
    if room not in ONLY["duckdb"]:
        assert "rekal.store.database.duckdb" not in imports(tree)
    if room != "git":
        strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        calls = any(name == "subprocess" for name in imports(tree))
        assert not (calls and "git" in strings), "only rekal/git runs git"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_the_environment_is_read_at_the_edge(path: Path) -> None:
    # embed sets OMP_WAIT_POLICY for the engine it loads; git copies the environment for its children.
    if room_of(path) in {"cli", "mcp", "daemon", "app", "config", "git", "embed", "memory_client"}:
        return
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            named = f"{node.value.id}.{node.attr}"
            assert named not in {"os.environ", "os.getenv", "sys.argv"}, f"line {node.lineno} reads {named}"


def test_every_child_process_has_a_timeout() -> None:
    for path in modules():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {"subprocess.run", "subprocess.check_output"}:
                assert any(k.arg == "timeout" for k in node.keywords), f"{path.name}:{node.lineno}"


def test_a_hook_never_imports_an_engine() -> None:
    """The worker, status and log load no embedding engine: it would cost them more than all the rest."""
    import subprocess
    import sys

    code = (
        "import sys, rekal.cli.verbs.worker, rekal.cli.verbs.status, rekal.cli.verbs.log;"
        "print([m for m in ('llama_cpp', 'xllamacpp', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
