"""Building index.db: small steps end where one big step does, and nothing half built ever answers."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import duckdb
import msgspec
import pytest

from rekal.errors import StoreDamaged, StoreError, StoreUnwritable
from rekal.index import build
from rekal.index.freshness import read_position
from rekal.index.reader import open_index
from rekal.model import Rewrite, Session, Tombstone
from rekal.store.database import Connection, open_database
from rekal.store.ledger import Ledger, open_ledger
from tests.index.ledgers import START, Store, calls, checkpoint, session

QUESTIONS = ("queue retries", "src/app/queue.py", "redis", "日本", "fix the queue", "nothing-like-this", "e0432 cache")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def first() -> Session:
    return session(
        "first",
        "why does the queue retry twice?",
        "src/app/queue.py retries on E0432",
        "keep redis out of it",
        tool_calls=calls("first", "src/app/queue.py", "src/app/job.py", command="pytest -k queue"),
        branch="topic",
        title="Queue retries",
    )


def second() -> Session:
    return session("second", "日本語の検索", "redis cache, not a queue", day=1, author="Bob")


def growing(length: int) -> Session:
    return session("growing", *[f"turn {n} of the queue, retry {n * n}" for n in range(length)], day=2)


def test_a_first_build_covers_the_ledger_and_a_second_one_has_nothing_to_do(store: Store) -> None:
    store.append(first(), second())
    built = store.update()
    assert (built.full, built.reason, built.turns, built.sessions) == (True, "there is no index yet", 5, 2)
    again = store.update()
    assert (again.full, again.turns, again.position) == (False, 0, built.position)


def test_the_position_covered_is_told_without_a_ledger(store: Store) -> None:
    assert read_position(store.index) is None
    store.append(first())
    assert read_position(store.index) is None
    covered = store.update().position
    assert read_position(store.index) == covered > 0
    store.index.write_bytes(b"damaged")
    assert read_position(store.index) is None


def test_small_steps_answer_exactly_like_one_full_build(store: Store) -> None:
    store.append(growing(3))
    store.update()
    one, two = first(), second()
    for step in ((two,), (growing(4),), (one,), (growing(9),)):
        store.append(*step)
        assert not store.update().full
    store.append(checkpoints=[checkpoint("abc123", two, "src/cache.py", subject="Fix the cache")])
    assert not store.update().full
    stepwise = store.answers(*QUESTIONS)
    assert store.update(full=True).reason == "asked for"
    assert store.answers(*QUESTIONS) == stepwise
    assert store.answers(*QUESTIONS) == stepwise


def test_a_later_commit_changes_the_facets_of_a_session_already_indexed(store: Store) -> None:
    one = first()
    store.append(one, second())
    store.update()
    assert store.find_sessions("polish", facets=True) == []
    store.append(checkpoints=[checkpoint("abc123", one, "src/new_file.py", subject="Polish the worker")])
    assert store.update().sessions == 1
    assert store.find_sessions("polish", facets=True) == ["first"]
    assert store.find_sessions("new_file", facets=True) == ["first"]
    with open_index(store.index) as reader:
        row = reader.rows("SELECT commits, branches, files FROM facets WHERE session_id = ?", [one.id])
        counts = reader.rows("SELECT count(*), count(DISTINCT session_ord) FROM docs WHERE kind = 'facet'")
    assert row == [(["abc123"], ["main", "topic"], ["src/app/job.py", "src/app/queue.py", "src/new_file.py"])]
    assert counts == [(2, 2)]


def test_a_rewritten_commit_is_known_by_both_names(store: Store) -> None:
    one = first()
    store.append(one, checkpoints=[checkpoint("aaa111", one)])
    store.update()
    with open_ledger(store.data, read_only=False) as ledger, ledger.transaction():
        ledger.add_rewrite(Rewrite("aaa111", "bbb222", "amend"))
        ledger.add_rewrite(Rewrite("bbb222", "ccc333", "rebase"))
    assert not store.update().full
    with open_index(store.index) as reader:
        assert reader.rows("SELECT commits FROM facets") == [(["aaa111", "bbb222", "ccc333"],)]


def test_commits_rewritten_in_a_circle_are_known_by_all_names(store: Store) -> None:
    one = first()
    store.append(one, second(), checkpoints=[checkpoint("aaa111", one)])
    store.update()
    with open_ledger(store.data, read_only=False) as ledger, ledger.transaction():
        ledger.add_rewrite(Rewrite("aaa111", "bbb222", "amend"))
        ledger.add_rewrite(Rewrite("bbb222", "aaa111", "amend"))
    assert store.update().sessions == 1
    with open_index(store.index) as reader:
        assert reader.rows("SELECT commits FROM facets WHERE session_id = ?", [one.id]) == [(["aaa111", "bbb222"],)]


def test_an_update_leaves_nothing_attached_to_the_ledger(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def attached(ledger: Ledger) -> list[str]:
        rows = ledger.con.execute("SELECT database_name FROM duckdb_databases() WHERE NOT internal").fetchall()
        return [str(row[0]) for row in rows]

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    store.append(first())
    with open_ledger(store.data, read_only=True) as ledger:
        build.update_index(ledger, store.index)
        assert attached(ledger) == ["data"]
        monkeypatch.setattr(build, "write_chunks", die)
        with pytest.raises(KeyboardInterrupt):
            build.update_index(ledger, store.index, full=True)
        assert attached(ledger) == ["data"]
        monkeypatch.undo()
        assert build.update_index(ledger, store.index, full=True).turns == 3


def test_opened_and_surfaced_are_counted_apart(store: Store) -> None:
    one = first()
    store.append(one)
    with open_ledger(store.data, read_only=False) as ledger, ledger.transaction():
        for minute, kind in enumerate(("surfaced", "opened", "opened", "opened")):
            query = "b" if minute < 3 else "a"
            ledger.add_recall_edge(kind, one.id, query, START + timedelta(minutes=minute))
    store.update()
    with open_index(store.index) as reader:
        assert reader.rows("SELECT * FROM opened") == [(one.id, 3, 1, "b")]


def test_files_touched_together_are_counted_by_session(store: Store) -> None:
    store.append(first(), session("third", "x", tool_calls=calls("third", "src/app/queue.py", "src/app/job.py")))
    store.update()
    with open_index(store.index) as reader:
        pairs = reader.rows("SELECT file_b, sessions FROM cooccurrence WHERE file_a = 'src/app/queue.py'")
    assert pairs == [("src/app/job.py", 2)]


def test_what_was_forgotten_is_gone_from_the_file_itself(store: Store) -> None:
    store.append(session("s", "the passphrase is zanzibarquux", "kept"), second())
    store.update()
    assert b"zanzibarquux" in store.index.read_bytes()
    with open_ledger(store.data, read_only=False) as ledger, ledger.transaction():
        ledger.con.execute("DELETE FROM turns WHERE content LIKE '%zanzibarquux%'")
        ledger.add_tombstone(Tombstone("some-uid", "secret", "Ada", START))
    assert store.update().reason == "something was forgotten"
    assert store.find("zanzibarquux") == []
    assert store.find("kept") == [("s", 1)]
    assert b"zanzibarquux" not in store.index.read_bytes()


def _garbage(store: Store) -> None:
    store.index.write_bytes(b"not a database" * 1000)


def _empty(store: Store) -> None:
    store.index.write_bytes(b"")


def _cut(store: Store) -> None:
    store.index.write_bytes(store.index.read_bytes()[:20_000])


def _no_tables(store: Store) -> None:
    store.index.unlink()
    open_database(store.index, read_only=False).close()


@pytest.mark.parametrize("harm", [_garbage, _empty, _cut, _no_tables])
def test_a_damaged_index_says_so_and_is_built_again(store: Store, harm: object) -> None:
    assert callable(harm)
    store.append(first(), second())
    store.update()
    sound = store.answers(*QUESTIONS)
    harm(store)
    with pytest.raises(StoreDamaged), open_index(store.index):
        pytest.fail("a damaged index was opened")
    assert store.update().reason == "the index is damaged"
    assert store.answers(*QUESTIONS) == sound


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("analysis", "0/other", "the index was made by another version"),
        ("schema_version", "0", "the index was made by another version"),
        ("store_id", "another", "the index belongs to another store"),
        ("position", "999", "the index belongs to another store"),
    ],
)
def test_an_index_that_is_not_this_ones_is_built_again(store: Store, key: str, value: str, reason: str) -> None:
    store.append(first())
    store.update()
    con = open_database(store.index, read_only=False)
    con.execute("UPDATE state SET value = ? WHERE key = ?", [value, key])
    con.close()
    assert store.update().reason == reason
    assert store.update().full is False


def test_an_index_of_another_version_or_none_does_not_answer(store: Store) -> None:
    with pytest.raises(StoreError, match="no index"), open_index(store.index):
        pytest.fail("an index that does not exist was opened")
    store.append(first())
    store.update()
    con = open_database(store.index, read_only=False)
    con.execute("UPDATE state SET value = '0/x' WHERE key = 'analysis'")
    con.close()
    with pytest.raises(StoreError, match="another version"), open_index(store.index):
        pytest.fail("an index of another version was opened")


@pytest.mark.parametrize("full", [True, False])
def test_a_build_that_dies_leaves_the_old_index_and_no_litter(
    store: Store, monkeypatch: pytest.MonkeyPatch, full: bool
) -> None:
    store.append(first())
    store.update()
    before = store.index.read_bytes()
    store.append(second())

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(build, "write_chunks", die)
    with pytest.raises(KeyboardInterrupt):
        store.update(full=full)
    assert store.index.read_bytes() == before
    assert sorted(path.name for path in store.index.parent.iterdir()) == ["data.db", "index.db"]
    monkeypatch.undo()
    assert store.update().turns == 2


def test_what_a_killed_build_left_is_swept_by_the_next_one(store: Store) -> None:
    store.append(first())
    store.update()
    for name in ("index.db.building-77", "index.db.building-77.wal"):
        store.index.with_name(name).write_bytes(b"half")
    assert not store.update().full
    assert sorted(path.name for path in store.index.parent.iterdir()) == ["data.db", "index.db"]


def test_another_layer_is_written_in_the_same_step_and_knows_what_is_new(store: Store) -> None:
    seen: list[int] = []

    def part(ledger: Ledger, con: Connection, after: int) -> None:
        seen.append(after)
        assert ledger.position() > after
        con.execute("CREATE OR REPLACE TABLE layer AS SELECT count(*) AS turns FROM docs WHERE kind = 'turn'")

    store.append(first())
    with open_ledger(store.data, read_only=True) as ledger:
        covered = build.update_index(ledger, store.index, parts=[part]).position
    store.append(second())
    with open_ledger(store.data, read_only=True) as ledger:
        build.update_index(ledger, store.index, parts=[part])
        build.update_index(ledger, store.index, parts=[part])
    assert seen == [-1, covered]
    with open_index(store.index) as reader:
        assert reader.rows("SELECT turns FROM layer") == [(5,)]


def test_a_reader_keeps_its_index_while_a_new_one_is_renamed_in(store: Store) -> None:
    store.append(first())
    store.update()
    with open_index(store.index) as reader:
        store.append(second())
        store.update()
        assert len(reader.units("turn")) == 3
    with open_index(store.index) as reader:
        assert len(reader.units("turn")) == 5


def test_many_small_updates_do_not_bloat_the_file(store: Store) -> None:
    text = " ".join(f"word{n}" for n in range(400))
    store.append(*[session(f"s{n}", *[text] * 8) for n in range(8)])
    store.update()
    for n in range(8):
        store.append(growing(2 * n + 1))
        assert not store.update().full
    grown = store.index.stat().st_size
    store.update(full=True)
    assert grown <= store.index.stat().st_size * 2


def test_a_turn_without_a_time_has_its_sessions(store: Store) -> None:
    timeless = session("s", "a", "b")
    bare = msgspec.structs.replace(timeless.turns[1], occurred_at=None)
    store.append(msgspec.structs.replace(timeless, turns=(timeless.turns[0], bare), started_at=START - timedelta(1)))
    store.update()
    with open_index(store.index) as reader:
        day = 86_400_000_000
        assert reader.turn_times[0] - reader.turn_times[1] == day


def test_a_directory_that_cannot_be_written_is_named(store: Store, tmp_path: Path) -> None:
    store.append(first())
    store.index = tmp_path / "missing" / "index.db"
    with pytest.raises(StoreUnwritable, match=r"index\.db"):
        store.update()


def test_a_ledger_that_cannot_be_read_is_not_blamed_on_the_index(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append(first())
    store.update()
    store.append(second())

    def broken(*_: object) -> None:
        raise duckdb.IOException("checksum mismatch")

    monkeypatch.setattr(build, "read_facets", broken)
    with pytest.raises(StoreDamaged, match=r"data\.db"):
        store.update()
    assert store.find("redis") == [("first", 2)]
