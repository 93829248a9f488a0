"""Files stay short enough to read in one go, functions short enough to hold in the head."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILE_LINES = 300
FUNCTION_LINES = 40


def sources() -> list[Path]:
    return [p for folder in ("rekal", "scripts", "benchmarks") for p in sorted((ROOT / folder).rglob("*.py"))]


def test_files_are_short() -> None:
    long = {
        str(p.relative_to(ROOT)): n for p in sources() if (n := len(p.read_text("utf-8").splitlines())) > FILE_LINES
    }
    assert long == {}


def test_functions_are_short() -> None:
    long = {}
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
                lines = node.end_lineno - node.lineno + 1
                if lines > FUNCTION_LINES:
                    long[f"{path.relative_to(ROOT)}:{node.name}"] = lines
    assert long == {}
