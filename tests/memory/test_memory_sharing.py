"""Memories between clones: private unless released, behind the merge gate, their owner's to change."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import git
from tests.support.app import Rekal


@pytest.fixture
def mara(rekal: Rekal, remote: Path, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Rekal:
    """A teammate's clone of the same remote."""
    root = tmp_path / "mara"
    git(tmp_path, "clone", "-q", str(remote), str(root))
    git(root, "config", "user.name", "Mara")
    git(root, "config", "user.email", "mara@example.com")
    clone = Rekal(root, home, capsys)
    assert clone("init", "--backfill", "0").code == 0
    assert clone("share", "origin").code == 0
    return clone


def _texts(rekal: Rekal, *more: str) -> list[str]:
    return [one["text"] for one in rekal("memories", "--json", *more).json["memories"]]


def test_only_what_is_released_travels(rekal: Rekal, mara: Rekal, remote: Path) -> None:
    rekal("decide", "jobs live in Postgres", "--because", "one backup", "--share")
    rekal("decide", "my private plan")
    rekal("remember", "--personal", "my tabs")
    pushed = rekal("push", "--json").json
    assert (pushed["sent"], pushed["memories"]) == (True, 1)
    assert mara("sync").code == 0
    (one,) = mara("memories", "--json", "--repository").json[
        "memories"
    ]  # both have one home here, and what is personal
    assert (one["text"], one["state"], one["because"]) == ("jobs live in Postgres", "accepted", "one backup")
    assert one["origin"] != "local"
    recalled = mara("recall", "where do jobs live in Postgres or elsewhere")
    assert "DECIDED" in recalled.out
    assert f"from {one['origin']}" in recalled.out
    assert rekal("push", "--json").json["memories"] == 0


def test_it_waits_for_its_commit_to_be_merged(rekal: Rekal, mara: Rekal, remote: Path) -> None:
    git(rekal.root, "checkout", "-q", "-b", "work")
    (rekal.root / "a.py").write_text("a = 1\n", encoding="utf-8")
    git(rekal.root, "add", ".")
    git(rekal.root, "commit", "-q", "-m", "work")
    rekal("rule-out", "Redis as a queue", "--share")
    preview = rekal("push", "--dry-run")
    assert "is not part of the mainline" in preview.out
    assert rekal("push", "--json").json["memories"] == 0
    git(rekal.root, "checkout", "-q", "main")
    git(rekal.root, "merge", "-q", "--no-ff", "-m", "merge", "work")
    git(rekal.root, "push", "-q", "origin", "main")
    assert rekal("push", "--json").json["memories"] == 1


def test_what_becomes_of_it_follows(rekal: Rekal, mara: Rekal, remote: Path) -> None:
    one = rekal("decide", "jobs live in Redis", "--share", "--json").json["memory"]["id"]
    rekal("push")
    mara("sync")
    assert _texts(mara) == ["jobs live in Redis"]
    rekal("supersede", one, "jobs live in Postgres")
    rekal("push")
    mara("sync")
    assert _texts(mara) == ["jobs live in Postgres"]
    assert _texts(mara, "--state", "superseded") == ["jobs live in Redis"]


def test_two_who_rule_differently_are_a_conflict_and_both_stand(rekal: Rekal, mara: Rekal, remote: Path) -> None:
    rekal("decide", "the job queue is Redis", "--subject", "job queue", "--share")
    rekal("push")
    mara("decide", "the job queue is Postgres", "--subject", "job queue")
    mara("sync")
    assert sorted(_texts(mara)) == ["the job queue is Postgres", "the job queue is Redis"]
    assert "CONFLICT subject" in mara("conflicts").out
    theirs = next(m for m in mara("memories", "--json").json["memories"] if m["origin"] != "local")
    mara("review", "--reject", theirs["id"], "--note", "not here")
    assert _texts(mara) == ["the job queue is Postgres"]
    assert _texts(rekal) == ["the job queue is Redis"]


def test_forgotten_here_is_forgotten_there(rekal: Rekal, mara: Rekal, remote: Path) -> None:
    one = rekal("remember", "the quokka runbook", "--share", "--json").json["memory"]["id"]
    rekal("push")
    mara("sync")
    assert _texts(mara) == ["the quokka runbook"]
    assert rekal("forget", one, "-y").code == 0
    mara("sync")
    assert _texts(mara, "--state", "all") == []
    assert b"quokka" not in mara.layout.data.read_bytes()


def test_all_accepted_travel_when_the_user_says_so_and_not_when_the_repository_does(
    rekal: Rekal, mara: Rekal, remote: Path, home: Path
) -> None:
    rekal("decide", "jobs live in Postgres")
    rekal.layout.config.write_text("memory: {share: accepted}\n", encoding="utf-8")
    assert rekal("push", "--json").json["memories"] == 0
    (home / "rekal").mkdir(exist_ok=True)
    (home / "rekal" / "config.yml").write_text("memory: {share: accepted}\n", encoding="utf-8")
    assert rekal("push", "--json").json["memories"] == 1


def test_a_hostile_refs_events_change_nothing_of_ours(rekal: Rekal, mara: Rekal, remote: Path) -> None:
    """Events that name our memory, that fit no kind, that replace or release what is not theirs."""
    from datetime import UTC, datetime

    from rekal.git import find_repo
    from rekal.model import MemoryEvent
    from rekal.store.ledger import open_ledger
    from rekal.transport.refs import own_ref, publish_segments
    from rekal.wire.segment import encode_segments

    one = rekal("decide", "jobs live in Postgres", "--json").json["memory"]["id"]
    when = datetime(2026, 1, 1, tzinfo=UTC)
    kinds = {
        "assert": '{"text":"jobs live in Redis"}',
        "retract": "{}",
        "reject": '{"note":"no"}',
        "supersede": f'{{"by":"{"x" * 26}"}}',
        "amend": '{"text":"owned"}',
        "share": '{"on":true}',
        "nonsense": "{",
        "rule_out": "[" * 5000,
        "entity": '{"name":"evil"}',
    }
    records = [
        MemoryEvent(f"{n:026}", one if kind != "entity" else "e" * 26, kind, payload, "Mallory", "human", when, when)
        for n, (kind, payload) in enumerate(kinds.items())
    ]
    repo = find_repo(mara.root)
    with open_ledger(mara.layout.data, read_only=True) as ledger:
        ref = own_ref(repo.author(), ledger.meta("store_id") or "", "rekal")
    publish_segments(repo, ref, list(encode_segments(records)))
    git(mara.root, "push", "-q", "origin", f"{ref.name}:{ref.name}")
    assert rekal("sync").code == 0
    (mine,) = rekal("memories", "--json").json["memories"]
    assert (mine["text"], mine["state"], mine.get("shared", False)) == ("jobs live in Postgres", "accepted", False)
    assert rekal("graph").code == 1
    assert len(rekal("audit", "--memories", "--json").json["memories"]) == 1 + len(kinds)
    assert {c["why"] for c in rekal("conflicts", "--json").json["conflicts"]} == {"ruling"}
