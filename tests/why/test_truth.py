"""The share of right answers on known truth, as told and after every way to rewrite history.

Run with ``-s`` to see the figures.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import git
from tests.support.app import Rekal
from tests.why.story import Score, Stage, Story, block, editor, score, tell

LEAST_PRECISION, LEAST_RECALL = 0.95, 0.80


class Theatre:
    """Where the story is told once and restored for every scene."""

    def __init__(self, directory: Path) -> None:
        self.root, self.home, self.template = directory / "app", directory / "home", directory / "template"
        self.stage: Stage | None = None


@pytest.fixture(scope="module")
def theatre(tmp_path_factory: pytest.TempPathFactory) -> Theatre:
    return Theatre(tmp_path_factory.mktemp("theatre"))


@pytest.fixture
def story(theatre: Theatre, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Story:
    """The story as it was told."""
    monkeypatch.setattr("rekal.cli.verbs.init.start_worker", lambda app: None)
    monkeypatch.setattr("rekal.app.setup.find_executable", lambda: Path("/bin/true"))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name)
    theatre.home.mkdir(exist_ok=True)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(theatre.home))
    rekal = Rekal(theatre.root, theatre.home, capsys)
    if theatre.stage is None:
        theatre.root.mkdir()
        git(theatre.root, "init", "-q")
        assert rekal("init", "--backfill", "0").code == 0
        theatre.stage = Stage(tell(rekal), theatre.template)
    return theatre.stage.restore(rekal)


def sequence(tmp: Path, body: str) -> dict[str, str]:
    """The environment of an interactive rebase that edits its todo list with ``body``."""
    return {"GIT_SEQUENCE_EDITOR": editor(tmp / "sequence.py", body), "GIT_EDITOR": "true"}


def pick(subject: str) -> str:
    """Python that finds the todo row of a commit."""
    return f"next(n for n, r in enumerate(rows) if r.endswith({subject!r}))"


def as_told(story: Story, tmp: Path) -> None:
    pass


def amend(story: Story, tmp: Path) -> None:
    story.hand("store.py", "typed_amend")
    git(story.root, "add", "-A")
    story.rewrites("commit", "-q", "--amend", "--no-edit")


def reword(story: Story, tmp: Path) -> None:
    body = "rows = [r.replace('pick', 'reword', 1) if 'Part' in r else r for r in rows]"
    message = editor(tmp / "message.py", "rows[0] = 'Said better: ' + rows[0]")
    story.rewrites("rebase", "-q", "-i", "main", **{**sequence(tmp, body), "GIT_EDITOR": message})


def fixup(story: Story, tmp: Path) -> None:
    story.hand("extra.py", "typed_fixup")
    git(story.root, "add", "-A")
    target = git(story.root, "log", "--format=%h", "--grep=Part 5a").strip()
    story.git("commit", "-q", "--fixup", target)
    story.rewrites("rebase", "-q", "-i", "--autosquash", "main", **sequence(tmp, ""))


def squash(story: Story, tmp: Path) -> None:
    chosen = "n and ('Part 5' in r or 'Part 6' in r)"
    body = f"rows = [r.replace('pick', 'squash', 1) if {chosen} else r for n, r in enumerate(rows)]"
    story.rewrites("rebase", "-q", "-i", "main", **sequence(tmp, body))


def reorder(story: Story, tmp: Path) -> None:
    body = f"a, b = {pick('Part 4b')}, {pick('Part 5a')}\nrows[a], rows[b] = rows[b], rows[a]"
    story.rewrites("rebase", "-q", "-i", "main", **sequence(tmp, body))


def drop(story: Story, tmp: Path) -> None:
    body = f"rows[{pick('Part 11b')}] = '# ' + rows[{pick('Part 11b')}]"
    story.rewrites("rebase", "-q", "-i", "main", **sequence(tmp, body))


def other_clone(story: Story, tmp: Path) -> Path:
    """A bare remote, and a clone of it where rekal is not."""
    git(tmp, "init", "-q", "--bare", "remote.git")
    git(story.root, "remote", "add", "origin", str(tmp / "remote.git"))
    git(story.root, "push", "-q", "origin", "main", "work")
    git(story.root, "fetch", "-q", "origin")
    git(tmp, "clone", "-q", "-b", "main", str(tmp / "remote.git"), "elsewhere")
    return tmp / "elsewhere"


def main_moves_on(story: Story, clone: Path) -> None:
    (clone / "extra.py").write_text(block("typed_elsewhere"), encoding="utf-8")
    story._note("typed_elsewhere", block("typed_elsewhere"), ("by hand", "by hand"))
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "Meanwhile")
    git(clone, "push", "-q", "origin", "main")


def pull_rebase(story: Story, tmp: Path) -> None:
    main_moves_on(story, other_clone(story, tmp))
    story.rewrites("pull", "-q", "--rebase", "origin", "main")


def cherry_pick(story: Story, tmp: Path) -> None:
    git(story.root, "checkout", "-q", "-b", "release", "main")
    story.hand("extra.py", "typed_release")
    story.commit("Release notes by hand")
    story.rewrites("cherry-pick", "main..work")


def merge_squash(story: Story, tmp: Path) -> None:
    git(story.root, "checkout", "-q", "main")
    story.rewrites("merge", "-q", "--squash", "work")
    story.rewrites("commit", "-q", "-m", "All of it")


def host_squash(story: Story, tmp: Path) -> None:
    clone = other_clone(story, tmp)
    main_moves_on(story, clone)
    git(clone, "fetch", "-q", "origin", "work")
    git(clone, "merge", "-q", "--squash", "FETCH_HEAD")
    git(clone, "commit", "-q", "-m", "Another title (#12)")
    git(clone, "push", "-q", "origin", "main", ":work")
    git(story.root, "checkout", "-q", "main")
    git(story.root, "branch", "-q", "-D", "work")
    git(story.root, "fetch", "-q", "--prune", "origin")
    git(story.root, "reflog", "expire", "--expire=now", "--all")
    git(story.root, "gc", "-q", "--prune=now")
    story.rewrites("pull", "-q", "origin", "main")


def rename_and_edit(story: Story, tmp: Path) -> None:
    who = story.session()
    git(story.root, "mv", "queue.py", "jobs.py")
    story.turn(who, "jobs.py", "part12a")
    story.commit("Rename the queue")
    story.hand("jobs.py", "typed_jobs")
    story.commit("More of it by hand")


def formatter(story: Story, tmp: Path) -> None:
    for path in story.root.glob("*.py"):
        path.write_text(path.read_text("utf-8").replace("'", '"').replace("    ", "  "), encoding="utf-8")
    sha = story.commit("Format everything")
    (story.root / ".git-blame-ignore-revs").write_text(f"# formatting\n{sha}\n", encoding="utf-8")
    story.commit("Ignore the formatting")


def revert(story: Story, tmp: Path) -> None:
    story.rewrites("revert", "--no-edit", "HEAD")
    story.rewrites("revert", "--no-edit", "HEAD")
    path = story.root / "log.py"
    path.write_text(path.read_text("utf-8").replace(block("part4a"), ""), encoding="utf-8")
    story.commit("Take a part out by hand")
    story.rewrites("revert", "--no-edit", "HEAD")


def other_names(story: Story, tmp: Path) -> None:
    """As a filter does it: every commit gets another name, no hook runs, the old ones are gone."""
    stream = tmp / "stream"
    stream.write_text(git(story.root, "fast-export", "--all").replace("person@example", "someone@example"), "utf-8")
    for ref in ("main", "work"):
        git(story.root, "update-ref", "-d", f"refs/heads/{ref}")
    with stream.open("rb") as source:
        command = ["git", "fast-import", "--quiet", "--force"]
        subprocess.run(command, cwd=story.root, stdin=source, check=True, timeout=60)
    git(story.root, "reset", "-q", "--hard", "work")
    git(story.root, "reflog", "expire", "--expire=now", "--all")
    git(story.root, "gc", "-q", "--prune=now")
    story.work()


SCENES = (
    *(as_told, amend, reword, fixup, squash, reorder, drop, pull_rebase, cherry_pick, merge_squash, host_squash),
    *(rename_and_edit, formatter, revert, other_names),
)


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_truth(scene: Callable[[Story, Path], None], story: Story, tmp_path: Path) -> None:
    scene(story, tmp_path)
    found = score(story)
    show(scene.__name__, found)
    assert found.wrong_session == 0, "\n".join(found.details)
    assert found.precision >= LEAST_PRECISION, "\n".join(found.details)
    assert found.recall >= LEAST_RECALL, "\n".join(found.details)


def show(name: str, found: Score) -> None:
    """The figures, for ``-s``."""
    hand = found.hand_left_alone + found.by_hand
    print(
        f"\n{name:16} {found.right + found.wrong + found.missed + found.hand_left_alone:3} lines, {hand:2} by hand:"
        f" right {found.right:3}, wrong {found.wrong}, missed {found.missed:2};"
        f" precision {found.precision:.3f}, recall {found.recall:.3f}"
    )
    for detail in found.details[:4]:
        print("    " + detail)
