from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekal.agents.formats.repo_paths import is_inside_roots, relative_path

ROOTS = (Path("/w/app"),)


@pytest.mark.parametrize(
    ("cwd", "expected"),
    [
        ("/w/app", True),
        ("/w/app/", True),
        ("/w/app/src/deep", True),
        ("/w/app/../app/src", True),
        ("/w/app2", False),
        ("/w/app-old/src", False),
        ("/w/app/../other", False),
        ("/w", False),
        ("/W/app", False),
        ("app", False),
        ("", False),
        ("/w/app\0", False),
        ("C:\\w\\app", False),
    ],
)
def test_components_decide(cwd: str, expected: bool) -> None:
    assert is_inside_roots(cwd, ROOTS) is expected


def test_root_of_the_file_system_holds_everything() -> None:
    assert is_inside_roots("/w/app", (Path("/"),))
    assert not is_inside_roots("/w/app", ())


@pytest.mark.parametrize("cwd", ["C:\\Code\\App\\src", "c:/code/app", "\\\\?\\C:\\CODE\\APP", "/mnt/c/code/App/src"])
def test_windows_and_its_wsl_mount_are_one_place(cwd: str) -> None:
    assert is_inside_roots(cwd, (Path("/mnt/c/Code/App"),))
    assert not is_inside_roots(cwd, (Path("/mnt/d/Code/App"),))
    assert not is_inside_roots(cwd, (Path("/mnt/c/Code/Ap"),))


@pytest.mark.parametrize("cwd", ["\\\\wsl$\\Ubuntu\\w\\app\\src", "//wsl.localhost/Debian/w/app"])
def test_wsl_share_is_the_path_inside(cwd: str) -> None:
    assert is_inside_roots(cwd, ROOTS)


def test_links_are_resolved_on_both_sides(tmp_path: Path) -> None:
    real = tmp_path / "real"
    (real / "src").mkdir(parents=True)
    (tmp_path / "link").symlink_to(real)
    (real / "out").symlink_to(tmp_path)
    assert is_inside_roots(str(tmp_path / "link" / "src"), (real,))
    assert is_inside_roots(str(real / "src"), (tmp_path / "link",))
    assert not is_inside_roots(str(real / "out"), (real,))
    assert relative_path("src/a.py", str(tmp_path / "link"), (real,)) == "src/a.py"


@pytest.mark.parametrize(
    ("path", "cwd", "expected"),
    [
        ("/w/app/src/a.py", None, "src/a.py"),
        ("a.py", "/w/app/src", "src/a.py"),
        ("../README.md", "/w/app/src", "README.md"),
        ("../../x", "/w/app/src", None),
        (".", "/w/app", "."),
        ("/w/app", None, "."),
        ("", "/w/app", None),
        ("a.py", None, None),
        ("/etc/hosts", "/w/app", None),
        ("/w/app/.claude/worktrees/fix/src/a.py", None, "src/a.py"),
        ("/w/app/.claude/worktrees/fix", None, "."),
        ("/w/app/.claude/worktrees", None, ".claude/worktrees"),
        ("/w/app/.claude/settings.json", None, ".claude/settings.json"),
    ],
)
def test_relative(path: str, cwd: str | None, expected: str | None) -> None:
    assert relative_path(path, cwd, ROOTS) == expected


def test_relative_on_windows_keeps_the_spelling() -> None:
    root = (Path("/mnt/c/code/app"),)
    assert relative_path("Src\\Main.cs", "C:\\Code\\App", root) == "Src/Main.cs"
    assert relative_path("C:\\Code\\App\\Src\\..\\x.cs", None, root) == "x.cs"
    assert relative_path("..\\other\\x.cs", "C:\\Code\\App", root) is None


def test_deepest_root_wins() -> None:
    roots = (Path("/w/app"), Path("/w/app/trees/fix"))
    assert relative_path("/w/app/trees/fix/a.py", None, roots) == "a.py"
    assert relative_path("/w/app/trees/a.py", None, roots) == "trees/a.py"


@given(st.text(max_size=40), st.text(max_size=40))
def test_never_raises(path: str, cwd: str) -> None:
    assert isinstance(is_inside_roots(cwd, ROOTS), bool)
    answer = relative_path(path, cwd, ROOTS)
    assert answer is None or not answer.startswith("/")
