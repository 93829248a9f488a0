"""Prose tracked at HEAD: cut at its headings, read by blob, found with its lines and the sessions behind it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rekal.git import Repo, find_repo
from rekal.git.repo import read_objects
from rekal.index.build import update_index
from rekal.index.freshness import head_tree
from rekal.index.knowledge import FoundPassage, covers_tree, is_prose, knowledge_part, search_knowledge
from rekal.index.prose import LONGEST, ProsePassage, cut_prose
from rekal.index.reader import open_index
from rekal.index.text import query_terms
from rekal.store.ledger import open_ledger
from tests.conftest import git
from tests.index.ledgers import Store, calls, session

GUIDE = """\
---
title: Guide
---
Before anything else.

# Queue

The retry queue lives in postgres.

## Why

| choice | verdict |
|---|---|
| redis | loses jobs |

```python
# no heading in here
```

Setext
======

Underlined.
"""


def cut(path: str, text: str) -> list[tuple[int, int, tuple[str, ...]]]:
    return [(one.start, one.end, one.trail) for one in cut_prose(path, text)]


def test_markdown_is_cut_at_its_headings() -> None:
    assert cut("guide.md", GUIDE) == [
        (1, 4, ()),
        (6, 8, ("Queue",)),
        (10, 18, ("Queue", "Why")),
        (20, 23, ("Setext",)),
    ]


RST = """\
=====
Title
=====

Opening.

First
-----

Text of the first.

Deeper
~~~~~~

More.

Second
------

===== =====
 a     b
===== =====
"""


def test_restructured_text_numbers_its_underlines_by_appearance() -> None:
    assert cut("guide.rst", RST) == [
        (1, 5, ("Title",)),
        (7, 10, ("Title", "First")),
        (12, 15, ("Title", "First", "Deeper")),
        (17, 22, ("Title", "Second")),
    ]


def test_asciidoc_keeps_its_listings_and_tables_whole() -> None:
    text = "= Book\n\nHello.\n\n== Part\n\n----\n== no heading\n\ncode\n----\n\n|===\n|a\n\n|b\n|===\n"
    assert cut("a.adoc", text) == [(1, 3, ("Book",)), (5, 17, ("Book", "Part"))]


def test_plain_text_without_headings_is_packed_by_paragraph() -> None:
    paragraph = "word " * 100
    found = cut_prose("notes.txt", f"{paragraph}\n\n{paragraph}\n\n{paragraph}\n\n{paragraph}\n")
    assert [(one.start, one.end) for one in found] == [(1, 3), (5, 7)]


def test_what_belongs_together_is_never_torn_and_a_long_paragraph_is() -> None:
    row = "| " + "cell " * 20 + "|\n"
    fence = "```\n" + "x = 1\n\n" * 400 + "```\n"
    found = cut_prose("a.md", f"# Long\n\n{row * 40}\n{fence}\n" + "A line of a paragraph.\n" * 200)
    assert [found[0].start, found[0].end] == [1, 42]
    assert found[1].text == fence.rstrip()
    assert all(len(one.text) <= LONGEST for one in found[2:])
    assert {one.trail for one in found} == {("Long",)}


def test_a_heading_stays_with_what_follows() -> None:
    found = cut_prose("a.md", "# Table\n\n" + "| a | b |\n" * 300)
    assert [(one.start, one.end) for one in found] == [(1, 302)]


def test_headings_without_text_are_only_trails() -> None:
    assert cut("a.md", "# One\n\n## Two\n\ntext\n") == [(3, 5, ("One", "Two"))]


_FENCES = ["===", "---", "-----", "~~~", "```", "|===", "+--+"]
_lines = st.sampled_from(["", "word word", "# A", "## B ##", *_FENCES, "| a |", "== C", "    code", "é — ", "x" * 900])


@settings(deadline=None, max_examples=300)
@example(lines=["-----", "| a |", "-----"], path="a.rst")
@given(st.lists(_lines, max_size=40), st.sampled_from(["a.md", "a.rst", "a.adoc", "a.txt", "a.mdx"]))
def test_every_line_of_text_stands_in_one_passage(lines: list[str], path: str) -> None:
    found = cut_prose(path, "\n".join(lines))
    covered: list[int] = []
    for one in found:
        assert one.text == "\n".join(lines[one.start - 1 : one.end])
        covered += range(one.start, one.end + 1)
    assert covered == sorted(set(covered))
    left = {lines[at - 1] for at in range(1, len(lines) + 1) if at not in covered}
    # Blank lines, and headings that nothing follows.
    assert "x" * 900 not in left or any(line[:3] in ("===", "---", "~~~") for line in lines)
    # A row between two rules is a heading to reStructuredText.
    assert "| a |" not in left or any(line[:2] in ("==", "--", "~~") for line in lines)


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=400), st.sampled_from(["a.md", "a.rst", "a.adoc", "a.txt"]))
def test_any_text_can_be_cut(text: str, path: str) -> None:
    found: list[ProsePassage] = cut_prose(path, text)
    assert all(one.start <= one.end for one in found)


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("README.md", True),
        ("docs/Guide.RST", True),
        ("notes.txt", True),
        ("CMakeLists.txt", False),
        ("requirements-dev.txt", False),
        ("dev/requirements.txt", False),
        ("docs/requirements-of-users.md", True),
        ("web/node_modules/x/README.md", False),
        ("main.py", False),
    ],
)
def test_what_counts_as_prose(path: str, wanted: bool) -> None:
    assert is_prose(path) is wanted


class Project:
    """A repository with prose, a ledger and an index."""

    def __init__(self, root: Path, directory: Path) -> None:
        self.root, self.store = root, Store(directory)
        self.repo: Repo = find_repo(root)
        self.warned: list[str] = []
        self.store.append(
            session("old", "about the queue", day=0, tool_calls=calls("old", "docs/guide.md")),
            session("new", "about the guide", day=1, tool_calls=calls("new", "docs/guide.md", "main.py")),
            session("other", "about nothing", day=2, tool_calls=calls("other", "main.py")),
        )

    def commit(self, **files: str | bytes | None) -> None:
        for name, text in files.items():
            path = self.root / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.unlink()
            else:
                path.write_bytes(text if isinstance(text, bytes) else text.encode())
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", "prose")

    def update(self, *, full: bool = False) -> None:
        with open_ledger(self.store.data, read_only=True) as ledger:
            part = knowledge_part(self.repo, lambda text: text.replace("hunter2", "[secret]"), self.warned.append)
            update_index(ledger, self.store.index, full=full, parts=[part])

    def capture(self, name: str) -> None:
        self.store.append(session(name, "something else"))

    def search(self, question: str, limit: int = 3) -> list[FoundPassage]:
        with open_index(self.store.index) as reader:
            return search_knowledge(reader, query_terms(question), limit)

    def names(self, known: FoundPassage) -> list[str]:
        names = self.store.names()
        return [names[one] for one in known.sessions]


@pytest.fixture
def project(repo: Path, tmp_path: Path) -> Iterator[Project]:
    made = Project(repo, tmp_path)
    made.commit(**{"docs__guide.md": GUIDE, "NOTES.txt": "Paint the shed green.\n", "main.py": "# the retry queue\n"})
    made.update()
    yield made
    assert made.warned == []


def test_a_passage_is_found_with_its_lines_and_sessions(project: Project) -> None:
    best, *others = project.search("where does the retry queue live")
    assert (best.path, best.start, best.end) == ("docs/guide.md", 6, 8)
    assert best.text.endswith("The retry queue lives in postgres.")
    assert project.names(best) == ["new", "old"]
    assert 0.4 < best.coverage < 1.0
    assert project.search("retry queue postgres")[0].coverage == pytest.approx(1.0)
    assert all(one.score < best.score for one in others)
    assert project.search("giraffes") == []


def test_a_passage_is_found_by_the_headings_above_it(project: Project) -> None:
    assert project.search("queue redis")[0].start == 10


def test_only_what_changed_is_read_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[list[str]] = []

    def watched(repo: Repo, names: list[str]) -> dict[str, bytes]:
        read.append(names)
        return read_objects(repo, names)

    monkeypatch.setattr("rekal.index.knowledge.read_objects", watched)
    project.commit(**{"NOTES.txt": "Paint the fence blue.\n"})
    project.capture("later")
    project.update()
    assert [len(names) for names in read] == [1]
    assert project.search("shed green") == []
    assert project.search("fence")[0].path == "NOTES.txt"
    assert project.search("retry queue")[0].path == "docs/guide.md"


def test_a_removed_or_renamed_file_is_no_longer_where_it_was(project: Project) -> None:
    project.commit(**{"docs__guide.md": None, "docs__manual.md": GUIDE, "NOTES.txt": None})
    project.capture("later")
    project.update()
    assert {one.path for one in project.search("retry queue", 10)} == {"docs/manual.md"}
    assert project.search("shed") == []


def test_grown_and_rebuilt_indexes_answer_alike(project: Project) -> None:
    project.commit(**{"docs__guide.md": GUIDE + "\nThe queue again.\n", "a.md": "# Queue\n\nAnd the queue.\n"})
    project.capture("later")
    project.update()
    grown = project.search("the retry queue of postgres", 10)
    project.update(full=True)
    assert project.search("the retry queue of postgres", 10) == grown
    assert len(grown) >= 4


def test_the_index_says_whether_it_follows_head(project: Project) -> None:
    def current() -> bool:
        with open_index(project.store.index) as reader:
            return covers_tree(reader, head_tree(project.repo))

    assert current()
    git(project.root, "commit", "-q", "--allow-empty", "-m", "nothing")
    assert current()
    project.commit(**{"NOTES.txt": "else\n"})
    assert not current()


def test_secrets_in_tracked_prose_are_scrubbed(project: Project) -> None:
    project.commit(**{"NOTES.txt": "The password of the shed is hunter2.\n"})
    project.capture("later")
    project.update()
    assert project.search("password shed")[0].text == "The password of the shed is [secret]."


def test_what_is_no_text_is_left_out(project: Project) -> None:
    files: dict[str, str | bytes | None] = {
        "binary.txt": b"shed\0shed",
        "large.txt": b"shed " * 200_000,
        "lfs.md": "version https://git-lfs.github.com/spec/v1\noid sha256:shed\n",
        "wide.txt": "shed in two bytes".encode("utf-16"),
        "broken.txt": b"shed \xff\xfe broken",
    }
    project.commit(**files)
    (project.root / "link.md").symlink_to("NOTES.txt")
    project.commit()
    project.capture("later")
    project.update()
    assert {one.path for one in project.search("shed", 20)} == {"NOTES.txt", "wide.txt", "broken.txt"}


def test_a_repository_without_a_commit_has_no_knowledge(tmp_path: Path) -> None:
    root = tmp_path / "empty"
    root.mkdir()
    git(root, "init", "-q")
    project = Project(root, tmp_path)
    project.update()
    assert project.search("queue") == []
    assert project.warned == []


def test_a_refusal_of_git_costs_the_prose_only(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.commit(**{"NOTES.txt": "else\n"})
    monkeypatch.setattr("rekal.index.knowledge.head_tree", lambda repo: "1:" + "0" * 40)
    project.capture("later")
    project.update()
    [said] = project.warned
    assert said.startswith("the prose tracked at HEAD was not indexed: git ls-tree failed")
    assert project.search("retry queue")[0].path == "docs/guide.md"
    assert project.store.find("something else") != []
    project.warned.clear()
