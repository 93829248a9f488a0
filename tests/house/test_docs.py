"""The docs say what the program does now."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from rekal import __version__
from rekal.cli.verb_table import HIDDEN, VERBS
from rekal.config import HELP, Config

ROOT = Path(__file__).resolve().parents[2]


def test_generated_docs_are_fresh() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/write_docs.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("verb", sorted(set(VERBS) - HIDDEN))
def test_every_verb_stands_in_the_guide_or_the_reference(verb: str) -> None:
    text = (ROOT / "docs/commands.md").read_text("utf-8")
    assert f"## {verb}\n" in text


def _keys(kind: type, prefix: str = "") -> set[str]:
    out = set()
    for name, hint in kind.__annotations__.items():
        named = hint if isinstance(hint, str) else hint.__name__
        below = {"Capture", "Exclude", "Scrub", "Recall", "Embed", "Extract", "MemoryRules", "Transport"}
        if named in below:
            import rekal.config

            out |= _keys(getattr(rekal.config, named), f"{prefix}{name}.")
        else:
            out.add(prefix + name)
    return out


def test_every_setting_is_explained() -> None:
    assert _keys(Config) == set(HELP)


def test_every_dependency_is_defended() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    text = (ROOT / "docs/dependencies.md").read_text("utf-8")
    wanted = [*project["dependencies"], *(d for extra in project["optional-dependencies"].values() for d in extra)]
    names = {re.split(r"[<>=\[]", requirement)[0] for requirement in wanted}
    assert {name for name in names if f"`{name}`" not in text} == set()


def test_the_changelog_knows_this_version() -> None:
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_links_between_docs_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\(([^)#:]+\.md)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_table_and_column_is_described() -> None:
    from rekal.store import schema

    text = (ROOT / "docs/store.md").read_text("utf-8")
    for statement in schema.V1:
        table = re.match(r"CREATE TABLE (\w+)", statement)
        assert table is not None
        columns = re.findall(r'[(,]\s*"?(\w+)"? (?:VARCHAR|BIGINT|INTEGER|TIMESTAMP|BOOLEAN)', statement)
        missing = [name for name in (table[1], *columns) if f"`{name}`" not in text]
        assert columns
        assert missing == [], table[1]
