"""The seven things that people ask of an agent's memory, one test each, through the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import git
from tests.support.app import Rekal


def _only(rekal: Rekal, *words: str) -> str:
    done = rekal(*words, "--json")
    assert done.code == 0, done
    return str(done.json["memory"]["id"])


def _shown(rekal: Rekal, question: str, *more: str) -> list[str]:
    return [one["text"] for one in rekal("recall", "--json", question, *more).json.get("memories", [])]


def test_negative_evaluation(rekal: Rekal) -> None:
    """A dead end is shown as one, and a proposal that goes down it again is stopped with its reason."""
    words = (
        "--because",
        "two workers settled one batch",
        "--instead",
        "advisory locks",
        "--when",
        "redlock",
        "--word",
        "redis",
        *("--hits", "take a redlock around settlement", "--hits", "lock the batch with redis"),
        *("--misses", "drop redis from the settlement lock", "--misses", "write the release notes"),
    )
    _only(rekal, "rule-out", "Redis as the lock for settlement runs", *words)
    recalled = rekal("recall", "which lock do settlement runs use")
    assert "RULED-OUT" in recalled.out
    assert "two workers settled one batch" in recalled.out
    stopped = rekal("check", "take a redlock before the settlement run")
    assert (stopped.code, "advisory locks" in stopped.out) == (3, True)
    assert rekal("check", "remove the redis lock from the settlement run").code == 7
    assert rekal("check", "write the release notes").code == 0


def test_tombstone(rekal: Rekal) -> None:
    """Forgotten is gone from the log, its pages, recall and check; and it doesn't come back with the same words."""
    one = _only(rekal, "decide", "the quokka service owns invoices", "--because", "quokka was first")
    assert _shown(rekal, "which service owns invoices")
    assert rekal("forget", one, "-y").code == 0
    assert _shown(rekal, "which service owns invoices") == []
    assert rekal("history", one).code == 2
    for path in rekal.layout.directory.rglob("*"):
        assert not path.is_file() or b"quokka" not in path.read_bytes(), path
    assert rekal("forget", "--list").out.count("by id") == 1


def test_scope_enforced(rekal: Rekal) -> None:
    """A memory of one part of the tree, or of an unmerged branch, answers nothing asked elsewhere."""
    _only(rekal, "decide", "handlers return problem documents", "--scope", "src/api/**")
    assert _shown(rekal, "what do handlers return", "--file", "src/api/users.py")
    assert _shown(rekal, "what do handlers return", "--file", "src/web/app.ts") == []
    assert rekal("check", "let handlers return plain text", "--file", "src/web/app.ts").code == 0
    git(rekal.root, "checkout", "-q", "-b", "spike")
    _only(rekal, "decide", "workers poll every second", "--branch", "spike")
    assert _shown(rekal, "how often do workers poll")
    (rekal.root / "spike.py").write_text("x = 1\n", encoding="utf-8")
    git(rekal.root, "add", ".")
    git(rekal.root, "commit", "-q", "-m", "spike")
    git(rekal.root, "checkout", "-q", "main")
    assert _shown(rekal, "how often do workers poll") == []
    git(rekal.root, "merge", "-q", "spike")
    assert _shown(rekal, "how often do workers poll")


def test_audit_log(rekal: Rekal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every change by everybody is in the log with who and through what; it can be narrowed and exported."""
    monkeypatch.setenv("CLAUDECODE", "1")
    one = _only(rekal, "decide", "jobs live in Postgres")
    monkeypatch.delenv("CLAUDECODE")
    rekal("review", "--accept", one)
    rekal("supersede", one, "jobs live in Kafka")
    rekal("link", one, "related_to", json.loads(rekal("memories", "--json").out)["memories"][0]["id"])
    rekal("graph", "add", "Queue")
    entries = rekal("audit", "--memories", "--json").json["memories"]
    assert [(e["kind"], e["actor_type"], e["payload"]["via"]) for e in entries] == [
        ("assert", "agent", "cli"),
        ("accept", "human", "cli"),
        ("assert", "human", "cli"),
        ("supersede", "human", "cli"),
        ("link", "human", "cli"),
        ("entity", "human", "cli"),
    ]
    assert [e["kind"] for e in rekal("audit", "--memories", "--json", "--actor", "agent").json["memories"]] == [
        "assert"
    ]
    assert len(rekal("audit", "--memories", "--json", "--memory", one).json["memories"]) == 4
    assert rekal("audit", "--actor", "agent").code == 2


def test_bitemporal(rekal: Rekal) -> None:
    """When it was true and when we knew it are two questions, for sessions and for memories."""
    _only(rekal, "decide", "the office is in the city of Bonn", "--valid-from", "2020-01-01", "--until", "2023-12-31")
    _only(rekal, "decide", "the office is in the city of Kiel", "--valid-from", "2024-01-01")
    where = "in which city is the office"
    assert _shown(rekal, where) == ["the office is in the city of Kiel"]
    assert _shown(rekal, where, "--as-of", "2022-06-01") == ["the office is in the city of Bonn"]
    assert _shown(rekal, where, "--as-of", "2019-06-01") == []
    assert _shown(rekal, where, "--known-at", "2022-06-01") == []
    assert _shown(rekal, where, "--as-of", "2022-06-01", "--known-at", "2022-06-01") == []


def test_trust_state(rekal: Rekal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row says who said it, how it stands, and what became of the file it names; lost ground is left out."""
    (rekal.root / "queue.py").write_text("jobs = []\n", encoding="utf-8")
    git(rekal.root, "add", ".")
    git(rekal.root, "commit", "-q", "-m", "queue")
    monkeypatch.setenv("CLAUDECODE", "1")
    _only(rekal, "decide", "retries are counted in queue.py")
    monkeypatch.delenv("CLAUDECODE")
    ask = ("recall", "where are retries counted")
    assert "claude for Test Person  proposed, fresh" in rekal(*ask).out
    (rekal.root / "queue.py").write_text("jobs = {}\n", encoding="utf-8")
    git(rekal.root, "commit", "-q", "-am", "change")
    assert f"stale since {git(rekal.root, 'rev-parse', '--short', 'HEAD').strip()}" in rekal(*ask).out
    git(rekal.root, "rm", "-q", "queue.py")
    git(rekal.root, "commit", "-q", "-m", "drop")
    gone = rekal(*ask)
    assert gone.code == 1
    assert "is left out: queue.py is gone since" in gone.out


def test_what_git_cannot_read_is_not_taken_for_gone(rekal: Rekal) -> None:
    (rekal.root / "queue.py").write_text("def claim_job(): pass\n", encoding="utf-8")
    git(rekal.root, "add", ".")
    git(rekal.root, "commit", "-q", "-m", "queue")
    _only(rekal, "decide", "`claim_job` holds the lock while a retry runs")
    (rekal.root / "queue.py").write_text("def claim_job(): return 1\n", encoding="utf-8")
    git(rekal.root, "commit", "-q", "-am", "more")
    blob = git(rekal.root, "rev-parse", "HEAD:queue.py").strip()
    (rekal.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    shown = rekal("recall", "who holds the lock while a retry runs")
    assert shown.code == 0
    assert "unverifiable" in shown.out and "is left out" not in shown.out


def test_human_review(rekal: Rekal, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an agent proposes waits; a person accepts or rejects; the rejected text is known when it comes again."""
    (rekal.root / "cache.py").write_text("import redis\n", encoding="utf-8")
    git(rekal.root, "add", ".")
    git(rekal.root, "commit", "-q", "-m", "cache")
    monkeypatch.setenv("CLAUDECODE", "1")
    good = _only(rekal, "rule-out", "Redis as a cache", "--when", "import redis", "--hits", "import redis here")
    bad = _only(rekal, "decide", "the cache never expires")
    assert rekal("review", "--accept", good).code == 5
    monkeypatch.delenv("CLAUDECODE")
    waiting = {w["memory"]["id"]: w for w in rekal("review", "--json").json["waiting"]}
    assert set(waiting) == {good, bad}
    assert (waiting[good]["trial"]["files"], waiting[good]["trial"]["commit_count"]) == (["cache.py:1"], 1)
    untried = rekal("review", "--accept", good)
    assert (untried.code, untried.err.count("\n")) == (2, 1)
    assert "give 1 that the patterns must hit (--hits) and 2 that come near" in untried.err
    tried = ("--hits", "add import redis to cache.py", "--misses", "remove the import", "--misses")
    wrong = rekal("review", "--accept", good, *tried, "put an import redis into the cache")
    assert (wrong.code, "the patterns hit 'put an import redis" in wrong.err) == (2, True)
    ruled = ("review", "--accept", good, "--reject", bad, "--note", "it grew without end", *tried, "empty the cache")
    assert rekal(*ruled).code == 0
    assert [m["state"] for m in rekal("memories", "--json", "--state", "all").json["memories"]] == [
        "rejected",
        "accepted",
    ]
    again = rekal("decide", "The cache never expires", "--json").json
    assert [(c["why"], c["note"]) for c in again["conflicts"]] == [("rejected before", "it grew without end")]
