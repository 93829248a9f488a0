"""Adapters of other distributions import from one module, and the paths of the last version still lead there."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

from rekal.agents import api
from rekal.agents.deprecated_paths import OLD_NAMES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "adapters.md"


def test_the_exports_are_listed_in_order() -> None:
    assert api.__all__ == sorted(api.__all__)


def test_every_export_is_listed() -> None:
    tree = ast.parse(Path(api.__file__).read_text("utf-8"))
    brought = {a.name for node in tree.body if isinstance(node, ast.ImportFrom) for a in node.names} - {"annotations"}
    assert brought == set(api.__all__)


def test_the_page_imports_from_nowhere_else() -> None:
    lines = PAGE.read_text("utf-8").splitlines()
    imports = [line for line in lines if line.startswith(("from rekal", "import rekal"))]
    assert imports
    assert all(line.startswith("from rekal.agents.api import ") for line in imports)


@pytest.mark.parametrize("module", OLD_NAMES)
def test_old_paths_lead_to_the_new_names(module: str) -> None:
    old = importlib.import_module(module)
    for name, new in OLD_NAMES[module].items():
        with pytest.warns(DeprecationWarning, match=f"rekal.agents.api.{new}"):
            assert getattr(old, name) is getattr(api, new)
    with pytest.raises(AttributeError):
        _ = old.something_else
