"""Files stay short enough to read in one go, functions short enough to hold in the head."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILE_LINES = 400
FUNCTION_LINES = 60
EXPLAINED_LINES = 40  # a longer function says why, in a comment that begins with REASON
REASON = "# Long because "


def sources() -> list[Path]:
    return [p for folder in ("rekal", "scripts", "benchmarks") for p in sorted((ROOT / folder).rglob("*.py"))]


def test_files_are_short() -> None:
    long = {
        str(p.relative_to(ROOT)): n for p in sources() if (n := len(p.read_text("utf-8").splitlines())) > FILE_LINES
    }
    assert long == {}


def functions() -> Iterator[tuple[str, int, str]]:
    """Each function's place, its length in lines and its text."""
    for path in sources():
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
                lines = text.splitlines()[node.lineno - 1 : node.end_lineno]
                yield f"{path.relative_to(ROOT)}:{node.name}", len(lines), "\n".join(lines)


def test_functions_are_short() -> None:
    assert {place: lines for place, lines, _ in functions() if lines > FUNCTION_LINES} == {}


def test_a_function_longer_than_most_says_why() -> None:
    assert [place for place, lines, text in functions() if lines > EXPLAINED_LINES and REASON not in text] == []
