"""Refs written by somebody who means harm, or by a broken disk: bounded cost, the valid part kept, one sentence."""

from __future__ import annotations

import os
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from rekal.git import Repo
from rekal.git.repo import read_measured_objects
from rekal.ids import session_id
from rekal.store.ledger import open_ledger
from rekal.transport.import_queue import Budget
from rekal.transport.receive import receive_refs
from rekal.wire.frames import HEADER, Packer
from rekal.wire.limits import MAX_FRAMES, MAX_SEGMENT
from rekal.wire.segment import Segment, encode_segments, segment_name
from tests.conftest import git
from tests.transport.team import Clone, bare, format_text, stamped, talk


@pytest.fixture
def mara(tmp_path: Path) -> Clone:
    return Clone(tmp_path / "mara", bare(tmp_path), "mara")


@pytest.fixture
def noor(tmp_path: Path, mara: Clone) -> Clone:
    return Clone(tmp_path / "noor", tmp_path / "remote.git", "noor")


def files(clone: Clone, *segments: Segment) -> list[tuple[str, bytes]]:
    """A proper tree with these segments."""
    return [("FORMAT", format_text(clone.ref).encode()), *((s.file_name, s.data) for s in segments)]


def good(name: str = "queue") -> Segment:
    (segment,) = encode_segments([talk("mara", name)])
    return segment


def named(data: bytes) -> Segment:
    return Segment(segment_name(data), data)


def test_bytes_under_a_name_that_is_not_theirs_are_not_taken(mara: Clone, noor: Clone) -> None:
    forged = Segment("ab" * 20, good("forged").data)
    mara.raw(files(mara, good(), forged))
    received = noor.receive()
    assert noor.rows("SELECT native_id FROM sessions") == [("queue",)]
    assert received.notes == (f"{mara.origin} (origin): left out 1 segments under a false name",)


def test_a_blob_over_the_limit_is_never_read(mara: Clone, noor: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    huge = named(HEADER + bytes(MAX_SEGMENT))
    mara.raw(files(mara, good(), huge))
    from rekal.transport import arrivals

    read: list[int] = []

    def noted(repo: Repo, known: dict[str, int]) -> Iterator[tuple[str, bytes]]:
        read.extend(known.values())
        return read_measured_objects(repo, known)

    monkeypatch.setattr("rekal.transport.receive.read_measured_objects", noted)
    monkeypatch.setattr(arrivals, "read_measured_objects", noted)
    received = noor.receive()
    assert max(read) < MAX_SEGMENT
    assert received.imported.sessions == 1
    assert "1 segments over the size limit or not there" in received.notes[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "it does not say what it is"),
        (b"", "it does not say what it is"),
        (b"x" * 5_000, "it does not say what it is"),
        (b"rekal \xff\xfe", "it does not say what it is"),
        (b"rekal 99999999999\n", "it does not say what it is"),
        (b"rekal 3\nstore x\nauthor M <mara@example.com>\n", "it was written by a later rekal"),
    ],
)
def test_a_ref_without_a_format_we_know_is_left_alone(mara: Clone, noor: Clone, text: bytes | None, said: str) -> None:
    head = [] if text is None else [("FORMAT", text)]
    mara.raw([*head, *files(mara, good())[1:]])
    received = noor.receive()
    assert noor.texts() == []
    assert received.notes == (f"{mara.origin} (origin): {said}, nothing of it was taken",)


@pytest.mark.parametrize("lie", ["author", "store"])
def test_a_format_that_is_not_the_refs_own_verifies_nobody(mara: Clone, noor: Clone, lie: str) -> None:
    text = {
        "author": f"rekal 1\nstore {mara.store_id}\nauthor Ines <ines@example.com>\n",
        "store": "rekal 1\nstore 00000000000000000000000000\nauthor Mara <mara@example.com>\n",
    }[lie]
    mara.raw([("FORMAT", text.encode()), (good().file_name, good().data)])
    noor.receive()
    assert noor.rows("SELECT origin FROM sessions") == [(f"unverified:{mara.origin}",)]


def test_names_and_modes_that_have_no_place_there_are_counted(mara: Clone, noor: Clone) -> None:
    segment = good()
    blob = mara.repo.run("hash-object", "-w", "--stdin", stdin=segment.data).strip()
    text = mara.repo.run("hash-object", "-w", "--stdin", stdin=format_text(mara.ref).encode()).strip()

    def tree(*rows: str) -> str:
        return mara.repo.run("mktree", "--missing", stdin="".join(f"{row}\n" for row in rows).encode()).strip()

    names = (
        f"100644 blob {blob}\t{segment.name}.rkl",
        f"120000 blob {blob}\t{'0' * 40}.rkl",
        f"160000 commit {'1' * 40}\t{'2' * 40}.rkl",
        f"100644 blob {blob}\tpasswd",
        f"100644 blob {blob}\t..%2f..%2fetc.rkl",
        f'100644 blob {blob}\t"\\n\\033[2J.rkl"',
    )
    folder = tree(*names)
    deep = folder
    for _ in range(200):
        deep = tree(f"040000 tree {deep}\t{'a' * 2}")
    segments = tree(f"040000 tree {folder}\t{segment.name[:2]}", f"040000 tree {deep}\tzz", f"040000 tree {deep}\t..x")
    top = tree(f"100644 blob {text}\tFORMAT", f"040000 tree {segments}\tsegments", f"100644 blob {text}\t.git x")
    commit = mara.repo.run("commit-tree", top, "-m", "odd").strip()
    mara.repo.run("update-ref", "refs/rekal-remote/origin/" + mara.origin, commit)

    store = noor.layout
    received = receive_refs(store, mara.repo, ["origin"])
    assert received.imported.sessions == 1
    assert received.notes == (f"{mara.origin} (origin): left out 8 files that have no place there",)


def test_a_folder_with_a_hundred_thousand_names_is_not_listed(mara: Clone, noor: Clone) -> None:
    blob = mara.repo.run("hash-object", "-w", "--stdin", stdin=b"x").strip()
    rows = "".join(f"100644 blob {blob}\t{number:040x}.rkl\n" for number in range(100_000))
    folder = mara.repo.run("mktree", stdin=rows.encode()).strip()
    text = mara.repo.run("hash-object", "-w", "--stdin", stdin=format_text(mara.ref).encode()).strip()
    segments = mara.repo.run("mktree", stdin=f"040000 tree {folder}\t00\n".encode()).strip()
    top = f"100644 blob {text}\tFORMAT\n040000 tree {segments}\tsegments\n"
    commit = mara.repo.run("commit-tree", mara.repo.run("mktree", stdin=top.encode()).strip(), "-m", "x").strip()
    mara.repo.run("update-ref", "refs/rekal-remote/origin/" + mara.origin, commit)
    received = receive_refs(noor.layout, mara.repo, ["origin"])
    assert received.notes == (f"{mara.origin} (origin): left out 1 files that have no place there",)


def test_refs_with_other_names_and_refs_to_no_commit_are_counted(mara: Clone, noor: Clone) -> None:
    tip = mara.raw(files(mara, good()))
    blob = mara.repo.run("hash-object", "-w", "--stdin", stdin=b"x").strip()
    for name, oid in (
        ("Évil/0123456789", tip),
        ("x/y", tip),
        ("a/b/c/d/\u202e/0123456789", tip),
        ("a/0123456789", blob),
    ):
        mara.repo.run("update-ref", f"refs/rekal/{name}", oid)
        git(mara.root, "push", "-q", "origin", f"refs/rekal/{name}:refs/rekal/{name}")
    received = noor.receive()
    assert received.imported.sessions == 1
    assert received.notes[0] == "4 refs with names that are none of ours were left out"


def test_millions_of_tiny_frames_cost_no_more_than_a_ref_may(mara: Clone, noor: Clone) -> None:
    frame = Packer().pack(5, b"\x96\x00\xa0\x90\x90\x90\x90").data
    many = [named(HEADER + frame * (MAX_FRAMES - 1) + Packer().pack(99, bytes([n])).data) for n in range(40)]
    mara.raw(files(mara, *many))
    before = time.process_time()
    received = noor.receive(Budget(frames=1 << 17))
    assert time.process_time() - before < 30
    assert "1 segments past what one ref may cost" in received.notes[0]


@pytest.mark.soak
def test_ten_million_tiny_frames_cost_no_more_than_a_ref_may(mara: Clone, noor: Clone) -> None:
    frame = Packer().pack(5, b"\x96\x00\xa0\x90\x90\x90\x90").data
    each = (MAX_SEGMENT - len(HEADER)) // len(frame) - 1
    count = -(-10_000_000 // each)
    mara.raw(files(mara, *(named(HEADER + Packer().pack(99, bytes([n])).data + frame * each) for n in range(count))))
    before = time.process_time()
    received = noor.receive()
    taken = time.process_time() - before
    print(f"{count * each:,} frames in {count} segments: {taken:.1f} s")
    assert taken < 60
    assert "segments past what one ref may cost" in received.notes[0]
    assert "frames over a limit" in received.notes[0]


def test_a_ref_over_its_budget_of_bytes_keeps_what_is_within(mara: Clone, noor: Clone) -> None:
    one = [good(f"s{n}") for n in range(6)]
    mara.raw(files(mara, *one))
    size = len(one[0].data)
    received = noor.receive(Budget(bytes=3 * size + size // 2))
    assert received.imported.sessions == 3
    assert "3 segments past what one ref may cost" in received.notes[0]


@pytest.mark.parametrize("harm", ["cut", "flipped", "emptied", "not ours", "later"])
def test_a_damaged_segment_costs_itself_and_is_said(mara: Clone, noor: Clone, harm: str) -> None:
    data = encode_segments([talk("mara", "harmed", "x" * 5_000)])
    whole = b"".join(segment.data for segment in data)
    bad = {
        "cut": whole[: len(whole) // 2],
        "flipped": whole[:60] + bytes([whole[60] ^ 1]) + whole[61:],
        "emptied": b"",
        "not ours": b"#!/bin/sh\nrm -rf ~\n",
        "later": b"RKL\x63" + whole[4:],
    }[harm]
    mara.raw(files(mara, good(), named(bad)))
    received = noor.receive()
    assert ("queue",) in noor.rows("SELECT native_id FROM sessions")
    assert len(received.notes) == 1
    assert "left out" in received.notes[0]
    assert received.notes[0].count("\n") == 0


def test_a_number_that_is_taken_is_not_taken_twice(mara: Clone, noor: Clone) -> None:
    session = talk("mara", "queue", "one", "two")
    mara.publish(session)
    noor.receive()
    other = tuple(replace(turn, uid=f"other{turn.seq}", content="instead") for turn in session.turns)
    mara.publish(stamped(session, turns=other))
    received = noor.receive()
    assert noor.texts() == ["one", "two"]
    assert "2 turns or calls with a number that is taken" in received.notes[0]


def test_when_git_has_the_old_tip_no_more_everything_is_read(mara: Clone, noor: Clone) -> None:
    mara.publish(talk("mara", "queue"))
    noor.receive()
    with open_ledger(noor.layout.data, read_only=False) as ledger:
        ledger.con.execute("UPDATE received SET tip = ?", ["f" * 40])
    mara.publish(talk("mara", "more"))
    received = noor.receive()
    assert (received.imported.sessions, received.notes) == (1, ())


def test_a_ref_that_goes_back_and_forth_changes_nothing(mara: Clone, noor: Clone) -> None:
    first = mara.raw(files(mara, good("a")))
    noor.receive()
    mara.raw(files(mara, good("a"), good("b")))
    noor.receive()
    before = noor.holds()
    git(mara.root, "push", "-q", "origin", f"+{first}:{mara.ref.name}")
    assert noor.receive().changed is False
    assert noor.holds() == before


def test_a_bad_signature_keeps_its_ref_out_and_others_in(tmp_path: Path, mara: Clone, noor: Clone) -> None:
    ines = Clone(tmp_path / "ines", tmp_path / "remote.git", "ines")
    ines.publish(talk("ines", "unsigned"))
    _signing(mara, tmp_path, "GOODSIG")
    mara.publish(talk("mara", "signed"))
    _signing(noor, tmp_path, "BADSIG")
    received = noor.receive()
    assert noor.rows("SELECT native_id FROM sessions") == [("unsigned",)]
    assert received.notes == (f"{mara.origin} (origin): its signature is bad, nothing of it was taken",)
    assert noor.rows("SELECT signature FROM received ORDER BY 1") == [("B",), ("N",)]
    _signing(noor, tmp_path, "GOODSIG")
    assert noor.receive().imported.sessions == 1
    assert noor.rows("SELECT signature FROM received ORDER BY 1") == [("G",), ("N",)]


def _signing(clone: Clone, where: Path, word: str) -> None:
    """Sign with, and have git ask, a program that always has this to say."""
    program = where / f"gpg-{word}"
    lines = (
        "#!/bin/sh",
        "cat > /dev/null",
        f"case $* in *--verify*) printf '\\n[GNUPG:] {word} 0123456789ABCDEF Mara\\n[GNUPG:] TRUST_ULTIMATE 0 pgp\\n';",
        "exit;; esac",
        "printf '\\n[GNUPG:] SIG_CREATED D 1 8 00 1700000000 0123\\n' >&2",
        "echo '-----BEGIN PGP SIGNATURE-----'",
        "echo 'eA=='",
        "echo '-----END PGP SIGNATURE-----'",
    )
    program.write_text("\n".join(lines) + "\n", encoding="ascii")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    git(clone.root, "config", "gpg.program", str(program))
    git(clone.root, "config", "commit.gpgSign", "true")


def test_two_receipts_at_once_add_everything_once(mara: Clone, noor: Clone) -> None:
    mara.publish(*(talk("mara", f"s{n}") for n in range(20)))
    git(noor.root, "fetch", "-q")
    code = (
        "import sys; from pathlib import Path; from rekal.git import find_repo;"
        "from rekal.store.layout import Layout; from rekal.transport.receive import receive_refs;"
        "root = Path(sys.argv[1]); receive_refs(Layout(root / '.rekal'), find_repo(root), ['origin'])"
    )
    import sys

    both = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(noor.root)], env=dict(os.environ), cwd=Path(__file__).parents[2]
        )
        for _ in range(2)
    ]
    assert [one.wait(timeout=90) for one in both] == [0, 0]
    assert noor.rows("SELECT count(*), count(DISTINCT uid) FROM turns") == [(40, 40)]


def test_few_bytes_do_not_become_many_sessions(mara: Clone, noor: Clone) -> None:
    head = replace(talk("mara", "queue"), turns=(), tool_calls=(), edits=())
    heads = [
        replace(head, id=session_id(head.agent, f"h{number}", head.author_email), native_id=f"h{number}")
        for number in range(100_000)
    ]
    segments = [good(), *encode_segments(heads)]
    size = sum(len(one.data) for one in segments)
    assert size < 100_000
    mara.raw(files(mara, *segments))
    before = time.process_time()
    received = noor.receive()
    assert time.process_time() - before < 4.0
    assert 0 < received.imported.sessions < 256 + size / 4
    assert "1 records past what so few bytes can hold, and those after them" in received.notes[0]
