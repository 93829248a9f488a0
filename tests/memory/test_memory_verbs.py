"""The verbs of memories, end to end in a repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekal.app.desk import desk_here
from rekal.app.memories import amend_memory
from rekal.memory.events import Amend
from tests.conftest import git
from tests.support.app import Rekal


def _ids(rekal: Rekal, *args: str) -> list[str]:
    return [one["id"] for one in rekal("memories", "--json", *args).json["memories"]]


def test_what_is_remembered_is_listed_and_has_a_history(rekal: Rekal) -> None:
    done = rekal("decide", "jobs live in Postgres", "--because", "one backup", "--subject", "queue", "--tag", "db")
    assert done.code == 0
    (one,) = rekal("memories", "--json").json["memories"]
    assert (one["type"], one["text"], one["because"], one["tags"]) == (
        "decision",
        "jobs live in Postgres",
        "one backup",
        ["db"],
    )
    assert one["commit"] == git(rekal.root, "rev-parse", "HEAD").strip()
    events = rekal("history", one["id"], "--json").json["events"]
    assert [(e["kind"], e["actor"], e["actor_type"], e["payload"]["via"]) for e in events] == [
        ("assert", "Test Person", "human", "cli")
    ]


def test_the_same_is_not_kept_twice_unless_asked(rekal: Rekal) -> None:
    rekal("remember", "the office closes at six")
    again = rekal("remember", "The office  closes at six")
    assert "remembered already" in again.out
    assert len(_ids(rekal)) == 1
    rekal("remember", "--again", "the office closes at six")
    assert len(_ids(rekal)) == 2


def test_a_new_value_of_a_subject_says_that_it_conflicts(rekal: Rekal) -> None:
    rekal("decide", "jobs live in Postgres", "--subject", "queue")
    done = rekal("decide", "jobs live in Kafka", "--subject", "queue", "--json")
    assert [c["why"] for c in done.json["conflicts"]] == ["subject"]
    assert "CONFLICT subject" in rekal("conflicts").out


def test_superseding_keeps_the_old_one_in_its_history(rekal: Rekal) -> None:
    rekal("decide", "jobs live in Redis", "--subject", "queue")
    (old,) = _ids(rekal)
    new = rekal("supersede", old, "jobs live in Postgres", "--note", "lost jobs", "--json").json["memory"]
    assert _ids(rekal) == [new["id"]]
    assert (new["type"], new["subject"]) == ("decision", "queue")
    assert _ids(rekal, "--state", "superseded") == [old]
    assert rekal("history", old, "--json").json["chain"] == [old, new["id"]]


def test_an_agents_words_wait_for_a_person(rekal: Rekal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    rekal("decide", "ULIDs for client ids")
    (one,) = _ids(rekal, "--state", "proposed")
    refused = rekal("review", "--accept", one)
    assert refused.code == 5
    assert "an agent cannot accept" in refused.err
    monkeypatch.delenv("CLAUDECODE")
    assert [w["memory"]["id"] for w in rekal("review", "--json").json["waiting"]] == [one]
    rekal("review", "--accept", one)
    assert rekal("review").code == 1
    assert _ids(rekal, "--state", "accepted") == [one]


def test_a_secret_never_reaches_the_log(rekal: Rekal) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    done = rekal("remember", f"the deploy token is {key}", "--because", f"see {key}", "--tag", key[:30])
    assert "redacted" in done.out
    assert key not in rekal("audit", "--memories", "--json").out
    assert key.encode() not in rekal.layout.data.read_bytes()


def test_forgetting_takes_every_event_of_a_memory(rekal: Rekal) -> None:
    rekal("remember", "the zebra password policy")
    (one,) = _ids(rekal)
    rekal("review", "--retract", one)
    assert rekal("forget", one, "-y").code == 0
    assert _ids(rekal, "--state", "all") == []
    assert b"zebra" not in rekal.layout.data.read_bytes()


def test_personal_memories_live_in_the_persons_store(rekal: Rekal, home: Path, tmp_path: Path) -> None:
    rekal("remember", "--personal", "I prefer tabs", "--type", "preference")
    assert [one["personal"] for one in rekal("memories", "--json").json["memories"]] == [True]
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    assert "I prefer tabs" in rekal("memories", cwd=outside).out
    assert "personal store" in rekal("remember", "no repository here", cwd=outside).out
    from rekal.store.ledger import open_ledger

    with open_ledger(rekal.layout.data, read_only=True) as ledger:
        assert ledger.con.execute("SELECT count(*) FROM memory_events").fetchone() == (0,)


def test_a_personal_memory_is_forgotten_for_good(rekal: Rekal, home: Path) -> None:
    one = rekal("remember", "--personal", "my quokka tabs", "--json").json["memory"]["id"]
    assert rekal("forget", one[:10], "--dry-run").out.startswith("would go: 1 memories' events")
    assert rekal("forget", one[:10], "-y").code == 0
    assert rekal("memories", "--state", "all").code == 1
    assert b"quokka" not in (home / "rekal" / "data.db").read_bytes()


def test_the_graph_is_built_and_read(rekal: Rekal) -> None:
    for words in (
        ("add", "Queue", "System"),
        ("add", "Postgres"),
        ("observe", "Queue", "holds jobs"),
        ("relate", "Queue", "uses", "Postgres"),
        ("reflect", "this took too long"),
        ("conversation", "about queues"),
    ):
        assert rekal("graph", *words).code == 0
    shown = rekal("graph", "--json").json
    assert [one["name"] for one in shown["entities"]] == ["Queue", "Postgres"]
    (relation,) = shown["relations"]
    assert rekal("graph", "end", relation["id"][:8]).code == 0
    assert rekal("graph", "relate", "Queue", "uses", "Nobody").err.startswith(
        "rekal: Entity with name Nobody not found"
    )
    rekal("graph", "drop", "Queue")
    shown = rekal("graph", "--json").json
    assert ([one["name"] for one in shown["entities"]], shown["relations"]) == (["Postgres"], [])


def test_links_can_be_made_and_taken_away(rekal: Rekal) -> None:
    rekal("remember", "first thing")
    rekal("remember", "second thing entirely")
    second, first = _ids(rekal)
    assert rekal("link", first, "contradicts", second).code == 0
    assert "CONFLICT link" in rekal("conflicts").out
    assert rekal("link", first, "contradicts", second, "--remove").code == 0
    assert rekal("conflicts").code == 1
    assert rekal("link", first, "contradicts", first).err.startswith("rekal: a memory cannot be linked to itself")


BAD = [
    (("remember", ""), "empty"),
    (("remember", " \u202e\x01 "), "empty"),
    (("remember", "x" * (1 << 20)), "KiB"),
    (("remember", "a", "--valid-from", "10000-01-01"), "not a date"),
    (("remember", "a", "--valid-from", "2026-03-02", "--until", "2026-03-01"), "end before it begins"),
    (("remember", "a", "--ttl", "soon"), "no time to live"),
    (("remember", "a", "--ttl", "99999999999y"), "no"),
    (("remember", "a", "--scope", "../other/**"), "leads out"),
    (("remember", "a", *(w for n in range(65) for w in ("--tag", f"t{n}"))), "65 tags"),
    (("rule-out", "a", "--when", "("), "not a regular expression"),
    (("rule-out", "a", "--when", "(a+)+b"), "take for ever"),
    (("rule-out", "a", "--when", ".*"), "matches every text"),
    (("supersede", "nothing", "b"), "no memory nothing"),
    (("history", ""), "no memory"),
    (("review", "--accept", "zzzz"), "no memory zzzz"),
    (("link", "a", "b", "c"), "no memory a"),
    (("check", ""), "nothing to check"),
    (("check", "x" * 70_000), "too long"),
    (("graph", "relate", "a", "b"), "other words"),
    (("memories", "--as-of", "yesterweek"), "not a date"),
]


@pytest.mark.parametrize(("words", "said"), BAD, ids=[f"{w[0]} {m}" for w, m in BAD])
def test_bad_input_is_one_sentence_and_nothing_lost(rekal: Rekal, words: tuple[str, ...], said: str) -> None:
    rekal("remember", "kept")
    done = rekal(*words)
    assert done.code == 2, done
    assert said in done.err
    assert done.err.count("\n") == 1
    assert done.err.startswith("rekal: ")
    assert len(_ids(rekal, "--state", "all")) == 1


def test_times_before_1970_are_kept(rekal: Rekal) -> None:
    done = rekal("remember", "the bridge was built", "--valid-from", "1850-01-01", "--json")
    assert done.json["memory"]["valid_from"].startswith("1850-01-01")
    assert rekal("memories", "--as-of", "1900-01-01").code == 0
    assert rekal("memories", "--as-of", "1800-01-01").code == 1


def test_hidden_characters_are_left_out_and_it_is_said(rekal: Rekal) -> None:
    done = rekal("remember", "use \u202eredis\u202c now\x07", "--json")
    assert done.json["memory"]["text"] == "use redis now"
    assert "control characters" in done.json["notes"][0]


OPPOSITES = [
    ("decide", "rule-out", True),
    ("rule-out", "decide", True),
    ("decide", "decide", False),
    ("rule-out", "rule-out", False),
]


@pytest.mark.parametrize(("first", "second", "speaks_against"), OPPOSITES)
def test_near_texts_of_opposite_types_are_named_at_once(
    rekal: Rekal, first: str, second: str, speaks_against: bool
) -> None:
    rekal(first, "jobs wait in the Redis stream")
    done = rekal(second, "jobs wait in a Redis stream", "--json")
    assert [one["why"] for one in done.json["conflicts"]] == (["opposite"] if speaks_against else [])


def test_a_persons_patterns_need_proposals_to_be_tried_on(rekal: Rekal) -> None:
    refused = rekal("rule-out", "Redis as a queue", "--when", "import redis", "--hits", "import redis")
    assert (refused.code, refused.err.count("\n"), _ids(rekal)) == (2, 1, [])
    assert "give 1 that the patterns must hit (--hits) and 2 that come near and are fine (--misses)" in refused.err
    tried = (
        *("--hits", "import redis here", "--hits", "add import redis"),
        *("--misses", "remove redis", "--misses", "write the notes"),
    )
    done = rekal("rule-out", "Redis as a queue", "--when", "import redis", *tried, "--json").json
    assert done["notes"] == ["its patterns hit 0 files now and 0 of the last commits"]
    assert (done["memory"]["matcher"]["code"], len(done["memory"]["matcher"]["hits"])) == (["import redis"], 2)


def test_accepting_says_what_the_patterns_hit_so_far(rekal: Rekal, monkeypatch: pytest.MonkeyPatch) -> None:
    (rekal.root / "queue.py").write_text("import redis\n")
    git(rekal.root, "add", "queue.py")
    git(rekal.root, "commit", "-q", "-m", "queue in redis")
    monkeypatch.setenv("CLAUDECODE", "1")
    proposed = rekal("rule-out", "Redis as a queue", "--when", "import redis", "--json").json["memory"]["id"]
    monkeypatch.delenv("CLAUDECODE")
    tried = ("--hits", "import redis here", "--hits", "add import redis")
    near = ("--misses", "remove redis", "--misses", "write the notes")
    done = rekal("review", "--accept", proposed, *tried, *near)
    assert "its patterns hit 1 files now (queue.py:1) and 1 of the last commits" in done.out
    assert "queue in redis" in done.out


def test_what_was_amended_into_another_type_is_compared_as_that_type(
    rekal: Rekal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(rekal.root)
    made = rekal("remember", "jobs wait in the Redis stream", "--json").json["memory"]["id"]
    amend_memory(desk_here(), made, Amend(type="dead_end"))
    done = rekal("decide", "jobs wait in a Redis stream", "--json")
    assert [one["why"] for one in done.json["conflicts"]] == ["opposite"]
