"""Patterns that are compiled at their first use."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

from rekal import agents, plain_text
from rekal.plain_text import lazy_pattern

AGENTS = Path(agents.__file__).parent


def test_it_is_used_like_a_compiled_one() -> None:
    word = lazy_pattern(r"(\w)\w*", re.IGNORECASE)
    assert [found[1] for found in word.finditer("ab cd")] == ["a", "c"]
    assert word.sub(r"\1", "ab cd") == "a c"
    assert (word.pattern, word.flags & re.IGNORECASE) == (r"(\w)\w*", re.IGNORECASE)
    found = lazy_pattern(rb"\d").search(b"a1")
    assert found is not None
    assert found[0] == b"1"


def test_nothing_is_compiled_before_its_first_use() -> None:
    wrong = lazy_pattern("(")
    with pytest.raises(re.error):
        wrong.match("a")


@pytest.mark.parametrize("path", sorted(AGENTS.rglob("*.py")), ids=lambda path: str(path.relative_to(AGENTS)))
def test_every_pattern_of_the_adapters_compiles_and_none_at_import(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    eager = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile"]
    assert not eager
    name = ".".join(("rekal.agents", *path.relative_to(AGENTS).with_suffix("").parts))
    for value in vars(importlib.import_module(name)).values():
        if isinstance(value, plain_text._Later):
            assert value.groups >= 0
