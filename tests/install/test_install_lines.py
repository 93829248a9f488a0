"""The marked line, the exclude block, the skill, and an installation that stops half-way."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekal import files
from rekal.errors import Refused, StoreUnwritable
from rekal.git import find_repo
from rekal.install import exclude, install_rekal, lines, skill, uninstall_rekal
from rekal.install.manifest import Journal
from tests.install.install_support import Layout, Stub, git, listing

AGENTS = ("claude", "codex", "copilot", "kiro")
CONTENT = st.lists(st.sampled_from([b"a", b"# b", b"\n", b"\r\n", b"\r", b"\xef\xbb\xbf", b"\xff", b" ", b"```"])).map(
    b"".join
)


@settings(deadline=None, max_examples=200)
@given(CONTENT, CONTENT)
def test_the_line_comes_and_goes_without_a_trace(content: bytes, appended: bytes) -> None:
    first, second = (f"{text} {lines.MARKER}".encode() for text in ("one", "two"))
    once = lines.with_line(content, first)
    assert lines.without_line(once) == content
    assert lines.with_line(once, first) == once
    upgraded = lines.with_line(once, second)
    assert upgraded == once.replace(first, second)
    assert lines.without_line(upgraded) == content
    later = lines.without_line(once + b"\n" + appended)
    assert later.startswith(content) and later.endswith(appended) and lines.MARKER.encode() not in later


@settings(deadline=None, max_examples=200)
@given(CONTENT, st.lists(st.sampled_from(["/a", "!/b", "/c d", "/é"]), max_size=3, unique=True), CONTENT)
def test_the_block_comes_and_goes_without_a_trace(content: bytes, patterns: list[str], appended: bytes) -> None:
    once = exclude.with_block(content, ("/old",))
    twice = exclude.with_block(once, tuple(patterns))
    assert exclude.patterns_in(twice) == tuple(patterns)
    assert exclude.without_block(twice) == content
    assert exclude.without_block(twice + appended) == content + appended


def test_the_line_says_what_it_must_within_its_length() -> None:
    said = lines.LINE.removesuffix(lines.MARKER)
    assert len(said) <= 300 and "\n" not in said
    for word in ('rekal recall "', "INJECT", "KNOWLEDGE", "SILENCE"):
        assert word in said


def test_the_skill_is_short() -> None:
    text = Path(skill.__file__).with_name("SKILL.md").read_text("utf-8")
    assert len(text.splitlines()) <= 60
    assert text.startswith("---\nname: rekal\ndescription: ") and lines.MARKER in text


FORMS = {
    "unix": b"# Rules\n\nBe kind.\n",
    "unfinished": b"# Rules",
    "windows": b"# Rules\r\n\r\nBe kind.\r\n",
    "windows-unfinished": b"# Rules\r\nBe kind.",
    "bom": b"\xef\xbb\xbf# Rules\n",
    "empty": b"",
    "latin-1": b"caf\xe9\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_tracked_file_shows_the_line_and_gets_its_bytes_back(form: str, repo: Path, stub: Stub) -> None:
    path = repo / "CLAUDE.md"
    path.write_bytes(FORMS[form])
    path.chmod(0o640)
    git(repo, "add", "CLAUDE.md")
    git(repo, "commit", "-q", "-m", "rules")
    mode = path.stat().st_mode
    assert install_rekal(find_repo(repo), ("claude",), stub.path).lines == ("CLAUDE.md",)
    assert git(repo, "status", "--short") == " M CLAUDE.md\n"
    assert path.read_bytes().count(lines.LINE.encode()) == 1
    install_rekal(find_repo(repo), ("claude",), stub.path)
    assert path.read_bytes().count(lines.MARKER.encode()) == 1
    uninstall_rekal(find_repo(repo))
    assert (path.read_bytes(), path.stat().st_mode) == (FORMS[form], mode)


def test_a_file_that_the_user_took_over_stays_and_is_seen(repo: Path, stub: Stub) -> None:
    install_rekal(find_repo(repo), ("codex",), stub.path)
    assert git(repo, "status", "--short") == ""
    path = repo / "AGENTS.md"
    path.write_bytes(path.read_bytes() + b"My own rule.\n")
    install_rekal(find_repo(repo), ("codex",), stub.path)
    assert git(repo, "status", "--short") == "?? AGENTS.md\n"
    uninstall_rekal(find_repo(repo))
    assert path.read_bytes() == b"My own rule.\n"


def test_one_file_under_two_names_gets_one_line(repo: Path, stub: Stub) -> None:
    (repo / "AGENTS.md").write_bytes(b"rules\n")
    (repo / "CLAUDE.md").symlink_to("AGENTS.md")
    before = listing(repo)
    install_rekal(find_repo(repo), ("claude", "codex"), stub.path)
    assert (repo / "CLAUDE.md").is_symlink()
    assert (repo / "AGENTS.md").read_bytes().count(lines.MARKER.encode()) == 1
    uninstall_rekal(find_repo(repo))
    assert listing(repo) == before


@pytest.mark.parametrize("target", ["../mine.md", "../absent.md"])
def test_a_file_outside_is_not_written(target: str, repo: Path, stub: Stub) -> None:
    (repo.parent / "mine.md").write_bytes(b"mine\n")
    (repo / "CLAUDE.md").symlink_to(target)
    installed = install_rekal(find_repo(repo), ("claude",), stub.path)
    assert installed.lines == ()
    assert "CLAUDE.md is a link to something outside the repository and was left alone" in installed.notes
    assert (repo.parent / "mine.md").read_bytes() == b"mine\n"


def test_utf_16_is_left_alone(repo: Path, stub: Stub) -> None:
    (repo / "CLAUDE.md").write_bytes("rules\n".encode("utf-16"))
    assert install_rekal(find_repo(repo), ("claude",), stub.path).notes == ("CLAUDE.md is UTF-16 and was left alone",)


def test_what_cannot_be_written_costs_that_file_only(repo: Path, stub: Stub) -> None:
    (repo / "CLAUDE.md").mkdir()
    for name in (".github", ".claude"):
        (repo / name).write_text("a file\n", "utf-8")
    installed = install_rekal(find_repo(repo), AGENTS, stub.path)
    assert installed.lines == (".kiro/steering/rekal.md", "AGENTS.md")
    assert [note.split(" cannot")[0] for note in installed.notes] == [
        ".github/copilot-instructions.md",
        "CLAUDE.md",
        skill.NAME,
    ]


@pytest.mark.parametrize("hooks_path", [".git/hooks", "/dev/null"])
def test_hooks_that_cannot_be_written_are_refused(hooks_path: str, repo: Path, stub: Stub) -> None:
    shutil.rmtree(repo / ".git/hooks", ignore_errors=True)
    (repo / ".git/hooks").write_text("", "utf-8")
    git(repo, "config", "core.hooksPath", hooks_path)
    before = listing(repo)
    with pytest.raises(Refused, match="where nothing can be written"):
        install_rekal(find_repo(repo), AGENTS, stub.path)
    assert listing(repo) == before and not (repo / ".rekal").exists()
    assert uninstall_rekal(find_repo(repo)).hooks == ()
    assert listing(repo) == before


def test_a_git_directory_that_cannot_be_written_is_one_sentence(repo: Path, stub: Stub) -> None:
    shutil.rmtree(repo / ".git/info", ignore_errors=True)
    (repo / ".git/info").write_text("", "utf-8")
    with pytest.raises(StoreUnwritable, match="info cannot be written"):
        install_rekal(find_repo(repo), AGENTS, stub.path)


def test_a_skill_of_the_same_name_is_left_alone(repo: Path, stub: Stub) -> None:
    path = repo / skill.NAME
    path.parent.mkdir(parents=True)
    path.write_text("mine\n", "utf-8")
    installed = install_rekal(find_repo(repo), ("claude",), stub.path)
    assert installed.skill is None and f"{skill.NAME} is not rekal's and was left alone" in installed.notes
    assert uninstall_rekal(find_repo(repo)).skill is None
    assert path.read_text("utf-8") == "mine\n"


def test_only_empty_directories_of_ours_are_pruned(repo: Path, stub: Stub) -> None:
    (repo / ".kiro").mkdir()
    install_rekal(find_repo(repo), ("claude", "kiro", "copilot"), stub.path)
    (repo / ".claude/settings.local.json").write_text("{}", "utf-8")
    uninstall_rekal(find_repo(repo))
    left = {
        str(path.relative_to(repo))
        for path in repo.rglob("*")
        if ".git/" not in f"{path}/" and ".rekal" not in str(path)
    }
    assert left == {".claude", ".claude/settings.local.json", ".kiro", "README.md"}


def test_an_absent_info_directory_is_absent_again(repo: Path, stub: Stub) -> None:
    shutil.rmtree(repo / ".git/info", ignore_errors=True)
    shutil.rmtree(repo / ".git/hooks", ignore_errors=True)
    install_rekal(find_repo(repo), AGENTS, stub.path)
    assert git(repo, "status", "--short") == ""
    uninstall_rekal(find_repo(repo))
    assert not (repo / ".git/info").exists() and not (repo / ".git/hooks").exists()


def test_config_may_be_committed_and_nothing_else_is_seen(repo: Path, stub: Stub) -> None:
    install_rekal(find_repo(repo), (), stub.path)
    (repo / ".rekal/config.yml").write_text("{}\n", "utf-8")
    (repo / ".rekal/data.db").write_bytes(b"x")
    assert git(repo, "status", "--short", "-uall") == "?? .rekal/config.yml\n"


def test_without_the_record_everything_marked_still_goes(repo: Path, stub: Stub) -> None:
    before = listing(repo / ".git/hooks", repo / ".git/info")
    install_rekal(find_repo(repo), AGENTS, stub.path)
    shutil.rmtree(repo / ".git/rekal")
    uninstall_rekal(find_repo(repo))
    assert listing(repo / ".git/hooks", repo / ".git/info") == before
    assert not (repo / skill.NAME).exists()
    assert lines.MARKER not in (repo / "CLAUDE.md").read_text("utf-8")


class Stop(Exception):
    """Stands for the power going out."""


@pytest.mark.parametrize("name", ["plain", "husky", "global-path"])
def test_an_installation_stopped_anywhere_can_be_undone(
    name: str, layout: Callable[[str], Layout], stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = layout(name)
    before = made.snapshot()
    steps = 0
    while True:
        steps += 1
        with monkeypatch.context() as patch:
            _stop_at(patch, steps)
            try:
                install_rekal(made.repo, ("claude", "copilot"), stub.path)
                break
            except Stop:
                pass
        uninstall_rekal(made.repo)
        shutil.rmtree(made.root / ".rekal", ignore_errors=True)
        assert made.snapshot() == before, f"after step {steps}"
    assert steps > 20


def _stop_at(patch: pytest.MonkeyPatch, step: int) -> None:
    """Let everything that writes fail at its ``step``-th call, by turns before and after a temporary file is there."""
    left = [step]
    replace, duplicate, creates = files.write_through_link, files.duplicate_file, Journal.creates

    def counted() -> bool:
        left[0] -= 1
        return left[0] == 0

    def stop_replace(path: Path, data: bytes, mode: int | None = None) -> None:
        if counted():
            if "rekal" not in path.parts:
                path.with_name(f".{path.name}.rekal-new").write_bytes(b"half")
            raise Stop
        replace(path, data, mode)

    def stop_duplicate(path: Path, copy: Path) -> None:
        if counted():
            raise Stop
        duplicate(path, copy)

    def stop_creates(self: Journal, path: Path) -> None:
        creates(self, path)
        if counted():
            raise Stop

    patch.setattr(files, "write_through_link", stop_replace)
    patch.setattr(files, "duplicate_file", stop_duplicate)
    patch.setattr(Journal, "creates", stop_creates)
