"""``why`` and ``report`` believe own sessions before a teammate's, and say where a session came from."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from rekal import ids
from rekal.cli.output import format_origin
from rekal.git import find_repo
from rekal.model import Checkpoint, Edit, FileChange, SessionRange
from rekal.transport.receive import receive_refs
from tests.capture.test_link import commit
from tests.conftest import git
from tests.support.app import Rekal
from tests.transport.team import Clone, bare, talk
from tests.why.test_why import QUEUE, START, queue_session


def claim(rekal: Rekal, tmp_path: Path, at: datetime, *, edits: int = 1, who: str = "mallory") -> Clone:
    """Publish and receive a record of ``who`` that claims queue.py of HEAD, written at ``at``."""
    (tmp_path / who).mkdir()
    remote = bare(tmp_path / who)
    clone = Clone(tmp_path / who / "clone", remote, who)
    made = talk(who, "claim", "Mallory asked", "POISON since security wants it", path="queue.py")
    hashes = tuple(h for line in QUEUE.splitlines() if (h := ids.line_hash(line)) is not None)
    made = replace(
        made,
        started_at=at,
        turns=tuple(replace(turn, occurred_at=at) for turn in made.turns),
        tool_calls=tuple(replace(call, occurred_at=at) for call in made.tool_calls),
        edits=tuple(Edit(n, 0, "queue.py", hashes) for n in range(edits)),
    )
    sha = git(rekal.root, "rev-parse", "HEAD").strip()
    linked = Checkpoint(
        ids.checkpoint_id(sha, made.author_email),
        sha,
        made.author_email,
        committed_at=START,
        files=(FileChange("queue.py", "M"),),
        sessions=(SessionRange(made.id, 0, 1, "edited"),),
    )
    clone.publish(made, linked)
    git(rekal.root, "remote", "add", who, str(remote))
    git(rekal.root, "fetch", "-q", who, f"+refs/rekal/*:refs/rekal-remote/{who}/*")
    receive_refs(rekal.layout, find_repo(rekal.root), [who])
    return clone


@pytest.mark.parametrize("minutes", [-600, 4], ids=["earlier", "later"])
def test_a_forged_edit_does_not_take_a_line_from_an_own_session(
    rekal: Rekal, home: Path, tmp_path: Path, minutes: int
) -> None:
    queue_session(rekal, home)
    commit(rekal.root, START + timedelta(minutes=5), "Retry failed jobs")
    assert rekal("_worker").code == 0
    claim(rekal, tmp_path, START + timedelta(minutes=minutes), edits=9)

    whole = rekal("why", "queue.py")
    first = rekal("report", "HEAD~1..HEAD", "--json").json["commits"][0]["reasons"][0]

    assert "Make failed jobs run again" in whole.out and "POISON" not in whole.out
    (reason,) = rekal("why", "queue.py:3", "--json").json["reasons"]
    assert (reason["origin"], reason["verified"]) == ("own", True)
    assert (first["origin"], first["prompt"]["text"]) == ("own", "Make failed jobs run again")


def test_the_author_of_the_commit_comes_before_others(rekal: Rekal, tmp_path: Path) -> None:
    (rekal.root / "queue.py").write_text(QUEUE, encoding="utf-8")
    git(rekal.root, "config", "user.email", "grace@example.com")
    commit(rekal.root, START + timedelta(minutes=5), "Retry failed jobs")
    claim(rekal, tmp_path, START - timedelta(hours=3), edits=9)
    author = claim(rekal, tmp_path, START + timedelta(minutes=1), who="grace")

    (reason,) = rekal("why", "queue.py:3", "--json").json["reasons"]

    assert (reason["origin"], reason["session_author"]) == (author.origin, "Grace")
    assert rekal("report", "HEAD~1..HEAD", "--json").json["commits"][0]["reasons"][0]["origin"] == author.origin


def test_a_teammates_session_is_shown_with_its_ref_and_signature(rekal: Rekal, tmp_path: Path) -> None:
    (rekal.root / "queue.py").write_text(QUEUE, encoding="utf-8")
    commit(rekal.root, START + timedelta(minutes=5), "Retry failed jobs")
    origin = claim(rekal, tmp_path, START).origin

    (reason,) = rekal("why", "queue.py:3", "--json").json["reasons"]

    assert (reason["origin"], reason["signature"], reason["verified"]) == (origin, "none", False)
    said = f"(from {origin}, not signed)"
    assert said in rekal("why", "queue.py:3").out
    assert said in rekal("report", "HEAD~1..HEAD").out
    assert said in rekal("report", "HEAD~1..HEAD", "--format", "markdown").out


def test_every_listing_tells_a_teammates_record_from_an_own_one(rekal: Rekal, tmp_path: Path) -> None:
    (rekal.root / "queue.py").write_text(QUEUE, encoding="utf-8")
    commit(rekal.root, START + timedelta(minutes=5), "Retry failed jobs")
    clone = claim(rekal, tmp_path, START)
    marked = f"(from {clone.origin}, not signed)"
    (session,) = rekal("sessions", "--json").json["sessions"]

    (shown,) = rekal("recall", "--json", "POISON since security wants it").json["sessions"]
    assert shown["signature"] == "none"
    assert marked in rekal("recall", "POISON since security wants it").out
    for verb in (["sessions"], ["show", session["id"][:8]], ["log"], ["find", "POISON"]):
        assert marked in rekal(*verb).out, verb
        assert rekal(verb[0], "--json", *verb[1:]).json["signatures"] == {clone.origin: "none"}
    assert rekal("find", "--json", "POISON").json["turns"][0]["origin"] == clone.origin


@pytest.mark.parametrize(
    ("origin", "shown"),
    [
        ("local", ""),
        ("abc", "  (from abc, signed)"),
        ("unverified:evil\u202e\x1b]52;x", "  (from evil]52;x, not checked, unverified)"),
    ],
)
def test_an_origin_is_shown_clean_and_with_what_vouches_for_it(origin: str, shown: str) -> None:
    assert format_origin(origin, {"abc": "good"}) == shown
