"""The pages for whoever picks the code up lead to files that exist, and leave none of the rooms out."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from rekal import __version__
from rekal.store import layout
from tests.house.test_walls import ROOMS

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "AGENTS.md", "SECURITY.md", "README.md", "benchmarks/README.md")
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")


def paths_named(page: str) -> set[str]:
    """The files and folders of this repository that ``page`` names between backquotes."""
    text = (ROOT / page).read_text("utf-8")
    named = set(re.findall(r"`((?:rekal|tests|scripts|benchmarks|docs|hooks|\.github)/[\w./-]+)`", text))
    if page == "ARCHITECTURE.md":  # there a path may begin with its room
        named |= {f"rekal/{path}" for path in re.findall(r"`([a-z]+/[\w/]+\.py)`", text)} - {
            f"rekal/{p}" for p in named
        }
    return {path.rstrip("/") for path in named if "NNN" not in path}


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_names_exists(page: str) -> None:
    missing = sorted(p for p in paths_named(page) if not (ROOT / p).exists() and not (ROOT / f"{p}.py").exists())
    assert missing == [], f"{page} names files that are not there"


def test_every_room_stands_in_the_architecture() -> None:
    assert [room for room in ROOMS if room != "__init__" and f"| `{room}` |" not in ARCHITECTURE] == []


def test_every_folder_of_an_agent_has_an_adapter_to_open() -> None:
    # The architecture sends its reader to rekal/agents/<agent>/adapter.py.
    folders = [p for p in (ROOT / "rekal" / "agents").iterdir() if (p / "__init__.py").exists() and p.name != "formats"]
    assert folders
    named = [p.name for p in folders if not any(p.glob("adapter.py")) and p.name not in ARCHITECTURE]
    assert named == []


def test_every_file_of_a_store_is_described() -> None:
    described = (ROOT / "docs" / "store.md").read_text("utf-8") + ARCHITECTURE
    properties = [name for name, member in vars(layout.Layout).items() if isinstance(member, property)]
    found = [getattr(layout.Layout(Path(".rekal")), name) for name in properties]
    names = {(one.directory if isinstance(one, layout.Layout) else one).name for one in found}
    assert names
    assert sorted(name for name in names if name not in described) == []


def names_of_run_files() -> dict[str, str]:
    """Constants of ``store/layout.py`` that name a file or folder of ``run/``: their values by their names."""
    found = {name: value for name, value in vars(layout).items() if name.isupper() and isinstance(value, str)}
    return {name: value for name, value in found.items() if name != "README"}


def test_every_file_of_run_has_its_name_in_the_layout_and_in_the_docs() -> None:
    described = (ROOT / "docs" / "store.md").read_text("utf-8")
    named = names_of_run_files()
    assert len(named) > 10
    assert sorted(value for value in named.values() if value not in described) == []
    strangers = [
        f"{path.relative_to(ROOT)}: run / {word}"
        for path in (ROOT / "rekal").rglob("*.py")
        if path != ROOT / "rekal" / "store" / "layout.py"
        for word in re.findall(r"\brun / f?([\"'\w{][^\s).,]*)", path.read_text("utf-8"))
        if word not in named and not re.fullmatch(r"\"\{(\w+)\}.*", word) and word != "log"
    ]
    assert strangers == [], "a file of run/ that store/layout.py does not name"


def test_the_version_stands_once() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert "version" not in project["project"]
    assert project["tool"]["hatch"]["version"]["path"] == "rekal/__init__.py"
    assert f'__version__ = "{__version__}"' in (ROOT / "rekal" / "__init__.py").read_text("utf-8")


def test_no_page_promises_an_index_of_packages() -> None:
    for page in [*(ROOT / name for name in PAGES), *sorted((ROOT / "docs").glob("*.md"))]:
        assert "pip install git-rekal" not in page.read_text("utf-8"), page.name


def test_the_workflow_covers_what_the_project_promises() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text("utf-8"))
    matrix = workflow["jobs"]["test"]["strategy"]["matrix"]
    assert {system.partition("-")[0] for system in matrix["os"]} == {"ubuntu", "macos", "windows"}
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert set(matrix["git"]) == {"2.31", "newest"}


@pytest.mark.parametrize("path", [*sorted((ROOT / ".github").rglob("*.yml")), ROOT / ".pre-commit-config.yaml"])
def test_every_file_of_the_automation_is_yaml(path: Path) -> None:
    assert isinstance(yaml.safe_load(path.read_text("utf-8")), dict)


def test_every_target_that_a_page_names_is_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for page in PAGES:
        named = set(re.findall(r"\bmake ([a-z]+)\b(?=[ `\n])", (ROOT / page).read_text("utf-8")))
        assert named <= targets | {"sure"}, page
