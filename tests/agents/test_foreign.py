"""Adapters of other distributions: the one that docs/adapters.md teaches, installed for real, and ones that fail."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from importlib import invalidate_caches
from pathlib import Path

import pytest

from rekal.agents import registry
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession

PAGE = Path(__file__).resolve().parents[2] / "docs" / "adapters.md"
SAID = {"kind": "said", "id": "m1", "who": "user", "text": "Why two queues?", "at": "2026-03-02T09:00:00Z"}
WROTE = {"kind": "wrote", "id": "c1", "text": "retries = 3\n", "at": "2026-03-02T09:00:05Z"}


def block(language: str) -> str:
    """The one code block of the page in ``language``."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return str(found)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Path]:
    """A directory of installed distributions."""
    folder = tmp_path / "site"
    folder.mkdir()
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
    invalidate_caches()
    for name in [name for name in sys.modules if name.startswith("rekal_scribe")]:
        del sys.modules[name]


def install(site: Path, source: str) -> None:
    """Put a distribution there the way an installer does: a module and the metadata that names its entry point."""
    (site / "rekal_scribe.py").write_text(source, encoding="utf-8")
    info = site / "rekal_scribe-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rekal-scribe\nVersion: 1\n", encoding="utf-8")
    (section,) = re.findall(r'^\[project\.entry-points\."(rekal\.agents)"\]$', block("toml"), re.MULTILINE)
    (line,) = re.findall(r"^scribe = \"(.*)\"$", block("toml"), re.MULTILINE)
    (info / "entry_points.txt").write_text(f"[{section}]\nscribe = {line}\n", encoding="utf-8")
    invalidate_caches()


def write(home: Path, root: Path, *records: dict[str, str]) -> Path:
    path = home / ".scribe" / "s1.jsonl"
    path.parent.mkdir(exist_ok=True)
    placed = [{**r, "file": str(root / "queue.py"), "dir": str(root)} for r in records]
    path.write_text("".join(json.dumps(record) + "\n" for record in placed), encoding="utf-8")
    return path


def test_the_example_of_the_page_captures(rekal: Rekal, home: Path, site: Path) -> None:
    install(site, block("python"))
    assert "scribe" in registry.agent_names()
    write(home, rekal.root, SAID, WROTE, {"kind": "mused"})
    done = rekal("checkpoint", "--json").json
    assert (done["sessions"], done["turns"], done["warnings"]) == (1, 1, [])
    sql = "SELECT s.agent, s.native_id, t.role, t.content, e.path FROM sessions s, turns t, edits e"
    assert rekal("query", "--json", sql).json["rows"] == [["scribe", "s1", "human", "Why two queues?", "queue.py"]]
    assert rekal("status", "--json").json["sources"][0]["drift"] == {"mused": 1}
    write(home, rekal.root, SAID, WROTE, {"kind": "mused"}, {**SAID, "id": "m2", "who": "scribe", "text": "For order."})
    assert rekal("checkpoint", "--json").json["turns"] == 1


def test_the_records_of_the_page_are_the_examples(site: Path) -> None:
    install(site, block("python"))
    lines = block("json").encode()
    (adapter,) = registry.load_adapters(["scribe"])
    assert adapter.sniff(lines)
    others = [one for one in registry.load_adapters() if one.name != "scribe"]
    assert not any(one.sniff(lines) for one in others)


def test_settings_choose_it_like_any_other(rekal: Rekal, home: Path, site: Path) -> None:
    install(site, block("python"))
    write(home, rekal.root, SAID)
    rekal.layout.own_config.write_text("capture: {agents: [claude]}\n", encoding="utf-8")
    assert rekal("checkpoint", "--json").json["sessions"] == 0
    rekal.layout.own_config.write_text("capture: {agents: [scribe]}\n", encoding="utf-8")
    assert rekal("checkpoint", "--json").json["sessions"] == 1


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise RuntimeError('no way')", "RuntimeError: no way"),
        ("import nonexistent_module", "ModuleNotFoundError"),
        ("x = (", "SyntaxError"),
        ("pass", "AttributeError"),
        ("class A:\n def discover(self, where):\n  1 / 0\nADAPTER = A()", "ZeroDivisionError"),
    ],
)
def test_one_that_cannot_even_list_is_said_and_costs_nobody_else(
    rekal: Rekal, home: Path, site: Path, source: str, said: str
) -> None:
    install(site, source)
    ClaudeSession(home, rekal.root).human("Hello")
    done = rekal("checkpoint", "--json")
    assert (done.code, done.json["sessions"]) == (0, 1), done.err
    (warning,) = done.json["warnings"]
    assert "scribe" in warning and said in warning
    (again,) = rekal("checkpoint", "--json").json["warnings"]
    assert again == warning


def test_one_that_fails_on_a_transcript_is_said_once(rekal: Rekal, home: Path, site: Path) -> None:
    install(site, block("python").replace("reader = LineReader(source.path, resume)", "raise KeyError('x')"))
    write(home, rekal.root, SAID)
    (warning,) = rekal("checkpoint", "--json").json["warnings"]
    assert "the adapter for scribe failed" in warning and "KeyError" in warning
    assert rekal("checkpoint", "--json").json["warnings"] == []
