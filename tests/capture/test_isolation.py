"""A conversation is captured by the repository it is about and by no other."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.conftest import git
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession, folder_of


@pytest.fixture
def repositories(rekal: Rekal, tmp_path: Path) -> dict[str, Rekal]:
    """Repositories side by side, each with a store, whose names are easily taken for each other."""
    made = {}
    for name in ("app", "app2", "a.b", "a-b"):
        root = tmp_path / "w" / name
        root.mkdir(parents=True)
        git(root, "init", "-q")
        made[name] = Rekal(root, rekal.home, rekal._capsys)
        assert made[name]("init", "--backfill", "0", "--hooks-only").code == 0
    return made


def talk(rekal: Rekal, cwd: Path, name: str) -> ClaudeSession:
    start = datetime.now(UTC) - timedelta(minutes=5)
    return (
        ClaudeSession(rekal.home, cwd, name, start=start).human(f"This is said in {name}").says(f"I hear you, {name}.")
    )


def captured(rekal: Rekal) -> list[str]:
    """What humans said in this repository's sessions, after a capture."""
    done = rekal("checkpoint", "--json")
    assert (done.code, done.json["warnings"]) == (0, [])
    rows = rekal("query", "--json", "SELECT content FROM turns WHERE role = 'human' ORDER BY ALL").json["rows"]
    return [row[0] for row in rows]


def said(*names: str) -> list[str]:
    return sorted(f"This is said in {name}" for name in names)


def test_a_name_that_begins_with_another_is_another(repositories: dict[str, Rekal]) -> None:
    for name in ("app", "app2"):
        talk(repositories[name], repositories[name].root, name)
    assert captured(repositories["app"]) == said("app")
    assert captured(repositories["app2"]) == said("app2")


def test_two_repositories_whose_sessions_share_a_folder(repositories: dict[str, Rekal]) -> None:
    one, two = repositories["a.b"], repositories["a-b"]
    assert folder_of(one.root) == folder_of(two.root)
    talk(one, one.root, "a.b")
    talk(two, two.root, "a-b")
    assert captured(one) == said("a.b")
    assert captured(two) == said("a-b")
    assert captured(one) == said("a.b")


def test_a_session_begun_in_a_sub_directory(repositories: dict[str, Rekal]) -> None:
    here = repositories["app"]
    deep = here.root / "src" / "deep"
    deep.mkdir(parents=True)
    talk(here, deep, "deep").edits(deep / "queue.py", "a line of code")
    assert captured(here) == said("deep")
    assert here("query", "--json", "SELECT cwd, path FROM sessions, edits").json["rows"] == [
        ["src/deep", "src/deep/queue.py"]
    ]


@pytest.mark.parametrize("edited", [("app",), ("app", "a-b"), ()], ids=["one", "two", "none"])
def test_a_session_begun_above_several_goes_to_those_it_edited(
    repositories: dict[str, Rekal], edited: Sequence[str]
) -> None:
    session = talk(repositories["app"], repositories["app"].root.parent, "above")
    for name in edited:
        session.edits(repositories[name].root / "queue.py", "a line of code")
    for name, rekal in repositories.items():
        assert captured(rekal) == (said("above") if name in edited else []), name


def test_a_repository_inside_another_keeps_its_sessions(repositories: dict[str, Rekal]) -> None:
    outer = repositories["app"]
    inside = outer.root / "vendor" / "inner"
    inside.mkdir(parents=True)
    git(inside, "init", "-q")
    inner = Rekal(inside, outer.home, outer._capsys)
    assert inner("init", "--backfill", "0", "--hooks-only").code == 0
    talk(outer, outer.root, "outer")
    (inside / "src").mkdir()
    talk(inner, inside / "src", "inner")
    assert captured(outer) == said("outer")
    assert captured(inner) == said("inner")


def test_a_session_that_moves_into_the_repository_is_captured_from_then_on_whole(
    repositories: dict[str, Rekal],
) -> None:
    here, parent = repositories["app"], repositories["app"].root.parent
    session = talk(here, parent, "wanderer")
    assert captured(here) == []
    session.cwd = str(here.root)
    session.human("This is said in the repository")
    assert captured(here) == ["This is said in the repository", *said("wanderer")]


def test_a_symbolic_link_to_the_repository_is_the_repository(repositories: dict[str, Rekal], tmp_path: Path) -> None:
    here = repositories["app"]
    link = tmp_path / "w" / "app-link"
    link.symlink_to(here.root)
    session = talk(here, link, "linked")
    session.path.rename(here.home / ".claude" / "projects" / "elsewhere.jsonl")
    folder = here.home / ".claude" / "projects" / folder_of(here.root)
    folder.mkdir(parents=True, exist_ok=True)
    (here.home / ".claude" / "projects" / "elsewhere.jsonl").rename(folder / session.path.name)
    assert captured(here) == said("linked")
