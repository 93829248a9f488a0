"""What a ref's commits hold as pushes add to it, and what a reader takes for new."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekal.git import Repo, find_repo
from rekal.model import Author
from rekal.transport import arrivals
from rekal.transport.arrivals import Ref, list_segments, read_owner
from rekal.transport.receive import receive_refs
from rekal.transport.refs import OwnRef, own_ref, publish_segments, tip_of
from rekal.wire.frames import HEADER
from rekal.wire.segment import Segment, segment_name
from tests.conftest import git
from tests.transport.team import Clone, bare, talk

MARA = "mara-example-com/0000000000"


@pytest.fixture
def ref() -> OwnRef:
    """The ref of some clone."""
    return own_ref(Author("Mara", "mara@example.com"), "0" * 26, "rekal")


def segment(number: int) -> Segment:
    """A segment of its own bytes."""
    data = HEADER + number.to_bytes(4, "big")
    return Segment(segment_name(data), data)


def add(repo: Repo, ref: OwnRef, *numbers: int) -> str:
    """Publish segments; the tip afterwards."""
    return publish_segments(repo, ref, [segment(n) for n in numbers]).tip


def names(*numbers: int) -> set[str]:
    """Names of segments in a tree."""
    return {segment(n).file_name.removesuffix(".rkl") for n in numbers}


def test_each_push_is_new_to_a_reader_once(repo: Path, ref: OwnRef) -> None:
    here, before = find_repo(repo), None
    for number in range(5):
        tip = add(here, ref, 2 * number, 2 * number + 1)
        found = list_segments(here, tip, before)
        assert set(found.segments) == names(2 * number, 2 * number + 1)
        assert (found.strange, found.cut) == (0, False)
        before = tip
    assert set(list_segments(here, tip, None).segments) == names(*range(10))
    assert set(list_segments(here, tip, "1" * 40).segments) == names(*range(10))


def test_what_the_tip_holds_makes_no_commit(repo: Path, ref: OwnRef) -> None:
    here = find_repo(repo)
    tip = add(here, ref, 1, 2)

    assert add(here, ref, 2, 1) == tip
    assert add(here, ref, 1, 2, 3) != tip


def test_a_commit_says_whose_it_is_whoever_the_user_is_to_git(repo: Path, ref: OwnRef) -> None:
    here = find_repo(repo)

    owner = read_owner(Ref("", "origin", MARA, ""), list_segments(here, add(here, ref, 1), None).format)

    assert owner is not None
    assert (owner.version, owner.email) == (2, "mara@example.com")


def test_a_commit_under_another_persons_ref_verifies_nobody(repo: Path, ref: OwnRef) -> None:
    here = find_repo(repo)

    said = list_segments(here, add(here, ref, 1), None).format

    owner = read_owner(Ref("", "origin", "ines-example-com/0000000000", ""), said)

    assert owner is not None
    assert owner.email == ""


def test_the_first_layout_is_read_and_added_to(repo: Path, ref: OwnRef) -> None:
    here = find_repo(repo)
    old = segment(1)
    blob = here.run("hash-object", "-w", "--stdin", stdin=old.data).strip()
    folder = here.run("mktree", stdin=f"100644 blob {blob}\t{old.name}.rkl\n".encode()).strip()
    segments = here.run("mktree", stdin=f"040000 tree {folder}\t{old.name[:2]}\n".encode()).strip()
    text = here.run("hash-object", "-w", "--stdin", stdin=b"rekal 1\nstore x\nauthor Mara <m@e>\n").strip()
    top = here.run("mktree", stdin=f"100644 blob {text}\tFORMAT\n040000 tree {segments}\tsegments\n".encode()).strip()
    first = here.run("commit-tree", top, "-m", "x").strip()
    here.run("update-ref", ref.name, first)

    tip = add(here, ref, 2)

    assert tip_of(here, f"{tip}^") == first
    assert list_segments(here, first, None) == arrivals.SegmentListing(
        "rekal 1\nstore x\nauthor Mara <m@e>\n", {old.name: blob}
    )
    assert set(list_segments(here, tip, first).segments) == names(2)
    assert set(list_segments(here, tip, None).segments) == {old.name} | names(2)
    assert list_segments(here, tip, None).format == "rekal 2\nauthor Mara <mara@example.com>\n"


def test_trees_without_end_are_not_all_read(repo: Path, ref: OwnRef, monkeypatch: pytest.MonkeyPatch) -> None:
    here = find_repo(repo)
    for number in range(12):
        tip = add(here, ref, number)
    monkeypatch.setattr(arrivals, "MAX_TREES", 5 * 48)  # a tree of one segment takes 48 bytes

    found = list_segments(here, tip, None)

    assert set(found.segments) == names(*range(7, 12))
    assert found.strange == 7


def test_commits_without_end_are_not_all_read(repo: Path, ref: OwnRef, monkeypatch: pytest.MonkeyPatch) -> None:
    here = find_repo(repo)
    for number in range(6):
        tip = add(here, ref, number)
    monkeypatch.setattr(arrivals, "MAX_COMMITS", 4)

    found = list_segments(here, tip, None)

    assert set(found.segments) == names(2, 3, 4, 5)
    assert found.strange == 1


def test_a_clone_that_is_shallow_gets_all_of_a_ref(tmp_path: Path) -> None:
    mara = Clone(tmp_path / "mara", bare(tmp_path), "mara")
    for name in ("queue", "lock"):
        mara.publish(talk("mara", name))
    noor = Clone(tmp_path / "noor", tmp_path / "remote.git", "noor")
    git(noor.root, "fetch", "-q", "--depth=1", "origin")

    cut = receive_refs(noor.layout, noor.repo, ["origin"])
    git(noor.root, "fetch", "-q", "--unshallow", "origin")
    whole = receive_refs(noor.layout, noor.repo, ["origin"])

    assert [cut.imported.sessions, whole.imported.sessions] == [0, 2]
    assert "a shallow fetch left part of it behind" in cut.notes[0]
    assert whole.notes == ()
