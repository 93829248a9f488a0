"""Appending to the ledger: what is new goes in once, whatever is repeated, copied or forgotten."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import duckdb
import msgspec
import pytest

from rekal import ids
from rekal.errors import NotInitialised, StoreBusy, StoreDamaged, StoreTooNew
from rekal.model import Checkpoint, Edit, FileChange, Rewrite, Session, SessionRange, Tombstone, ToolCall, Turn
from rekal.store import queries
from rekal.store.ledger import Ledger, open_ledger, set_aside_damaged

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def turn(seq: int, content: str, role: str = "human", uid: str | None = None) -> Turn:
    return msgspec.convert(
        {"seq": seq, "uid": uid or f"u-{content}", "role": role, "content": content, "occurred_at": NOW}, Turn
    )


def session(name: str, *turns: Turn, calls: tuple[ToolCall, ...] = (), edits: tuple[Edit, ...] = ()) -> Session:
    return Session(
        id=ids.session_id("claude", name, "p@example.com"),
        agent="claude",
        native_id=name,
        author_name="P",
        author_email="p@example.com",
        turns=turns,
        tool_calls=calls,
        edits=edits,
    )


def contents(ledger: Ledger, s: Session) -> list[tuple[int, str]]:
    stored = queries.read_session(ledger.con, s.id)
    return [] if stored is None else [(t.seq, t.content) for t in stored.turns]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "data.db"
    with open_ledger(target, read_only=False, create=True):
        pass
    return target


def test_appending_twice_changes_nothing(path: Path) -> None:
    s = session("one", turn(0, "a"), turn(1, "b", "assistant"))
    with open_ledger(path, read_only=False) as ledger:
        with ledger.transaction():
            first = ledger.append(s)
        with ledger.transaction():
            again = ledger.append(s)
        assert (first.turns, again.turns, again.last_seq) == (2, 0, 1)
        assert queries.read_session(ledger.con, s.id) == s


def test_a_grown_session_only_appends(path: Path) -> None:
    with open_ledger(path, read_only=False) as ledger:
        with ledger.transaction():
            ledger.append(session("one", turn(0, "a"), turn(1, "b")))
        with ledger.transaction():
            # A later reading numbers what it saw from zero; the ledger goes on where it was.
            call = ToolCall(0, "c-1", 0, "Edit", "x.py")
            grown = session("one", turn(0, "b"), turn(1, "c"), calls=(call,), edits=(Edit(0, 0, "x.py", (1, 2)),))
            ledger.append(grown)
        assert contents(ledger, grown) == [(0, "a"), (1, "b"), (2, "c")]
        stored = queries.read_session(ledger.con, grown.id)
        assert stored is not None
        assert stored.tool_calls[0].turn_seq == 1
        assert stored.edits == (Edit(0, 0, "x.py", (1, 2)),)


def test_a_fork_shares_turns_and_names_its_origin(path: Path) -> None:
    origin = session("one", turn(0, "a"), turn(1, "b"))
    fork = session("two", turn(0, "a"), turn(1, "b"), turn(2, "other"))
    with open_ledger(path, read_only=False) as ledger, ledger.transaction():
        ledger.append(origin)
        appended = ledger.append(fork)
        assert appended.turns == 1
        assert contents(ledger, fork) == [(0, "other")]
        stored = queries.read_session(ledger.con, fork.id)
        assert stored is not None
        assert stored.forked_from == origin.id
        copy = session("three", turn(0, "a"), turn(1, "b"))
        assert ledger.append(copy).turns == 0
        assert queries.read_session(ledger.con, copy.id) is None


def test_what_was_typed_while_the_agent_worked_is_not_stored_again_as_a_prompt(path: Path) -> None:
    with open_ledger(path, read_only=False) as ledger, ledger.transaction():
        s = session("one", turn(0, "a"), turn(1, "use tabs", "steering", "s-1"))
        ledger.append(s)
        ledger.append(session("one", turn(0, "use tabs", "human", "h-1"), *(turn(n, f"b{n}") for n in range(1, 7))))
        assert [content for _, content in contents(ledger, s)][:3] == ["a", "use tabs", "b1"]
        # Typed again much later it is a prompt of its own.
        assert ledger.append(session("one", turn(0, "use tabs", "human", "h-2"))).turns == 1


def test_a_call_that_waited_belongs_to_the_turn_stored_before(path: Path) -> None:
    with open_ledger(path, read_only=False) as ledger, ledger.transaction():
        s = session("one", turn(0, "a"), turn(1, "b"))
        ledger.append(s)
        ledger.append(session("one", turn(0, "c"), calls=(ToolCall(0, "c-1", -1, "Bash"),)))
        stored = queries.read_session(ledger.con, s.id)
        assert stored is not None
        assert [call.turn_seq for call in stored.tool_calls] == [1]


@pytest.mark.parametrize("target", ["session", "turn", "content"])
def test_a_tombstone_blocks_what_it_names(path: Path, target: str) -> None:
    s = session("one", turn(0, "secret"), turn(1, "plain"))
    named = {"session": s.id, "turn": "u-secret", "content": ids.content_hash("secret")}[target]
    with open_ledger(path, read_only=False) as ledger, ledger.transaction():
        ledger.add_tombstone(Tombstone(named, "asked", "p@example.com", NOW))
        ledger.append(s)
        left = [content for _, content in contents(ledger, s)]
        assert left == ([] if target == "session" else ["plain"])


def test_a_failed_transaction_leaves_the_old_state(path: Path) -> None:
    with open_ledger(path, read_only=False) as ledger:
        with pytest.raises(RuntimeError), ledger.transaction():
            ledger.append(session("one", turn(0, "a")))
            raise RuntimeError
        assert queries.session_ids(ledger.con) == []
        assert ledger.position() == 0


def test_checkpoints_come_back_as_they_went_in(path: Path) -> None:
    checkpoint = Checkpoint(
        ids.checkpoint_id("f" * 40, "p@example.com"),
        "f" * 40,
        "p@example.com",
        subject="first",
        committed_at=NOW,
        files=(FileChange("a.py", "A"), FileChange("b.py", "R", "c.py")),
        sessions=(SessionRange("s1", 0, 4, "edited"),),
    )
    more = msgspec.structs.replace(checkpoint, sessions=(SessionRange("s2", 1, 2, "active"),))
    with open_ledger(path, read_only=False) as ledger, ledger.transaction():
        assert ledger.add_checkpoint(checkpoint)
        assert not ledger.add_checkpoint(checkpoint)
        assert queries.read_checkpoints(ledger.con) == [checkpoint]
        assert ledger.add_checkpoint(more)
        assert [r.session_id for r in queries.read_checkpoints(ledger.con)[0].sessions] == ["s1", "s2"]


def test_gits_word_on_a_rewrite_replaces_what_was_found_by_patch_id(path: Path) -> None:
    with open_ledger(path, read_only=False) as ledger, ledger.transaction():
        assert ledger.add_rewrite(Rewrite("a", "b", "patch-id"))
        assert not ledger.add_rewrite(Rewrite("a", "b", "rebase"))
        assert not ledger.add_rewrite(Rewrite("a", "b", "patch-id"))
        assert ledger.con.execute("SELECT how FROM rewrites").fetchall() == [("rebase",)]


def test_a_newer_store_is_refused_by_both_versions_names(path: Path) -> None:
    con = duckdb.connect(str(path))
    con.execute("UPDATE meta SET value = '99' WHERE key = 'schema_version'")
    con.close()
    for read_only in (True, False):
        with pytest.raises(StoreTooNew, match=r"version 99 .* up to 1"), open_ledger(path, read_only=read_only):
            pass


def test_a_damaged_store_is_said_to_be_damaged_and_can_be_set_aside(path: Path) -> None:
    path.write_bytes(b"not a database at all" * 1000)
    with pytest.raises(StoreDamaged, match=r"data\.db is damaged"), open_ledger(path, read_only=True):
        pass
    moved = set_aside_damaged(path, NOW).moved_to
    assert moved.exists()
    assert not path.exists()


def test_no_store_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(NotInitialised, match="rekal init"), open_ledger(tmp_path / "data.db", read_only=True):
        pass


def test_a_held_store_is_busy_not_broken(path: Path) -> None:
    import subprocess
    import sys

    code = f"import duckdb; c = duckdb.connect({str(path)!r}); print('held', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(StoreBusy, match=f"process {holder.pid}"), open_ledger(path, read_only=True, wait=0.05):
            pass
        holder.communicate(b"\n", timeout=30)


def test_a_damaged_log_does_not_take_the_whole_file_with_it(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    with open_ledger(path, read_only=False, create=True) as ledger:
        store_id = ledger.meta("store_id")
    log = tmp_path / "data.db.wal"
    log.write_bytes(b"no log at all" * 100)
    moved = set_aside_damaged(path, NOW).moved_to
    assert moved.name.endswith(".wal")
    assert not log.exists()
    with open_ledger(path, read_only=True) as ledger:
        assert ledger.meta("store_id") == store_id
