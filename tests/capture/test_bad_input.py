"""Whatever is wrong with where and with what rekal is run: one sentence, the documented exit code, nothing lost."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from tests.conftest import git
from tests.support.app import Ran, Rekal
from tests.support.claude import ClaudeSession

QUESTION = "why is the queue durable"
READERS = (("recall", QUESTION), ("show", "abc"), ("find", "queue"), ("log",), ("query", "SELECT 1"), ("status",))


def sentence(ran: Ran, code: int, words: str) -> None:
    """One line on stderr that says ``words``, and that exit code."""
    lines = ran.err.splitlines()
    assert ran.code == code, ran
    assert len(lines) == 1, ran
    assert lines[0].startswith("rekal: "), ran
    assert words in lines[0], ran
    assert not any(raw in ran.err for raw in ("Traceback", "Exception", "IO Error", "duckdb")), ran


def session(rekal: Rekal, name: str = "one") -> ClaudeSession:
    start = datetime.now(UTC) - timedelta(minutes=1)
    made = ClaudeSession(rekal.home, rekal.root, name, start=start, step=timedelta(seconds=1))
    return made.human(f"Why is the queue durable, {name}?").says("Because the broker restarts every night.")


def turns(rekal: Rekal) -> int:
    return int(rekal("query", "--json", "SELECT count(*) FROM turns").json["rows"][0][0])


@pytest.mark.parametrize("words", [("init",), ("clean", "--yes"), ("checkpoint",), *READERS], ids=lambda w: w[0])
def test_outside_a_repository(rekal: Rekal, tmp_path: Path, words: tuple[str, ...]) -> None:
    sentence(rekal(*words, cwd=tmp_path), 4, "not inside a git repository")
    sentence(rekal(*words, cwd=rekal.root / ".git"), 4, "inside a .git directory")


@pytest.mark.parametrize("words", [("checkpoint",), ("index",), *READERS], ids=lambda w: w[0])
def test_without_a_store(rekal: Rekal, words: tuple[str, ...]) -> None:
    assert rekal("clean", "--yes").code == 0
    sentence(rekal(*words), 4, "no rekal store; run `rekal init` first")
    assert not rekal.layout.directory.exists()


def test_before_the_first_commit(rekal: Rekal, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    git(tmp_path, "init", "-q", str(fresh))
    unborn = Rekal(fresh, rekal.home, rekal._capsys)
    assert unborn("init", "--backfill", "0").code == 0
    session(unborn)
    for words in (("checkpoint",), ("_worker",), ("checkpoint", "--all"), ("status",)):
        done = unborn(*words)
        assert (done.code, done.err) == (0, ""), words
    assert turns(unborn) == 2
    assert unborn("recall", "--as-of", "HEAD", QUESTION).code == 2


def test_a_detached_head(rekal: Rekal) -> None:
    git(rekal.root, "checkout", "-q", "--detach")
    session(rekal)
    assert rekal("checkpoint").code == 0
    assert turns(rekal) == 2


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("recall", "--nope", QUESTION), "--nope"),
        (("--nope",), "--nope"),
        (("log", "-n", "many"), "many"),
        (("recall", "--since", "yesterweek", QUESTION), "yesterweek"),
        (("recall", "--limit", "-1", QUESTION), "-1"),
        (("recall", "--actor", "robot", QUESTION), "robot"),
        (("recall", "why\0now"), "NUL"),
        (("find", "que\0ue"), "NUL"),
        (("find", ""), "no text"),
        (("forget", "nothere", "--yes"), "nothere"),
        (("show", "a\0b"), "NUL"),
        (("log", "--file", "a\0b"), "NUL"),
        (("query", "DROP TABLE turns"), "SELECT"),
        (("query", "SELECT nope FROM turns"), "nope"),
        (("query", "SELECT 'a\0b'"), "NUL"),
        (("config", "nope"), "nope"),
        (("init", "--agents", "nobody"), "nobody"),
        (("checkpoint", "--since", "soon"), "soon"),
        (("scrub",), "--check"),
        (("scrub", "--check", "/nowhere/at/all"), "/nowhere"),
        (("show", "abc#x"), "abc#x"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_words_that_make_no_sense(rekal: Rekal, words: tuple[str, ...], named: str) -> None:
    sentence(rekal(*words), 2, named)


@pytest.mark.parametrize("question", ["?", "a", "...", "the of and", "\u200b", "🦒"])
def test_thin_questions_are_answered_with_silence(rekal: Rekal, question: str) -> None:
    session(rekal)
    rekal("checkpoint")
    done = rekal("recall", question)
    assert (done.code, done.err) == (1, "")
    assert done.out.startswith("SILENCE ")


def test_settings_with_mistakes(rekal: Rekal) -> None:
    rekal.layout.own_config.write_text("recall: {limit: many}\n", encoding="utf-8")
    sentence(rekal("recall", QUESTION), 2, "config.yml")
    rekal.layout.own_config.write_text("recall: [\n", encoding="utf-8")
    sentence(rekal("recall", QUESTION), 2, "config.yml")
    rekal.layout.own_config.write_bytes(b"\xff\xfe\x00")
    sentence(rekal("checkpoint"), 2, "config.yml")


def test_a_store_of_a_later_version_is_refused_and_left_alone(rekal: Rekal) -> None:
    session(rekal)
    with duckdb.connect(str(rekal.layout.data)) as con:
        con.execute("UPDATE meta SET value = '99' WHERE key = 'schema_version'")
    before = rekal.layout.data.read_bytes()
    for words in (("checkpoint",), ("init",), ("index",), ("find", "x"), ("log",)):
        sentence(rekal(*words), 4, "version 99")
    assert rekal("status").code == 4
    assert rekal("_worker").code == 0
    assert "version 99" in rekal.layout.log.read_text("utf-8")
    assert rekal.layout.data.read_bytes() == before


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:9000])


def _garbage(path: Path) -> None:
    path.write_bytes(b"This is no database.\n" * 400)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _scribbled(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:] = b"\x5a" * (len(data) - 4096)
    path.write_bytes(data)


def _foreign(path: Path) -> None:
    path.unlink()
    con = sqlite3.connect(path)
    con.execute("CREATE TABLE turns (a)")
    con.close()


def _log_scribbled(path: Path) -> None:
    before, log = path.read_bytes(), path.with_name(path.name + ".wal")
    with duckdb.connect(str(path)) as con:
        con.execute("INSERT INTO meta VALUES ('not', 'finished')")
        written = bytearray(log.read_bytes())
    path.write_bytes(before)
    written[-1] ^= 255
    log.write_bytes(written)


DAMAGES = (_cut, _garbage, _empty, _scribbled, _foreign)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda d: d.__name__)
def test_a_damaged_ledger_is_moved_aside_and_captured_again(rekal: Rekal, damage: Callable[[Path], None]) -> None:
    session(rekal)
    rekal("checkpoint")
    damage(rekal.layout.data)
    broken = rekal.layout.data.read_bytes()
    sentence(rekal("find", "queue"), 4, "`rekal status`")
    said = rekal("status")
    assert said.code == 4
    assert "put back a backup" in said.err
    assert rekal.layout.data.read_bytes() == broken, "looking changes nothing"
    done = rekal("checkpoint")
    assert done.code == 0
    assert "put back a backup" in done.err
    assert len(done.err.splitlines()) == 1
    (aside,) = rekal.layout.directory.glob("data.db.damaged-*[!l]")
    assert aside.read_bytes() == broken
    assert turns(rekal) == 2
    asked = rekal("recall", QUESTION)
    assert (asked.err, "nothing is captured yet" in asked.out) == ("", False)


def test_a_damaged_log_costs_the_log_and_not_the_ledger(rekal: Rekal) -> None:
    session(rekal, "one")
    rekal("checkpoint")
    for transcript in (rekal.home / ".claude").rglob("*.jsonl"):
        transcript.unlink()  # as agents delete what is a month old
    _log_scribbled(rekal.layout.data)
    sentence(rekal("find", "queue"), 4, "`rekal status`")
    done = rekal("checkpoint")
    assert done.code == 0
    assert len(done.err.splitlines()) == 1 and "data.db is whole and kept" in done.err
    (aside,) = rekal.layout.directory.glob("data.db.damaged-*")
    assert aside.suffix == ".wal"
    assert turns(rekal) == 2
    assert rekal("checkpoint").err == ""


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda d: d.__name__)
def test_a_damaged_index_is_built_again_and_the_ledger_not_touched(
    rekal: Rekal, damage: Callable[[Path], None]
) -> None:
    session(rekal)
    rekal("checkpoint")
    before = rekal.layout.data.read_bytes()
    good = rekal("recall", QUESTION)
    damage(rekal.layout.index)
    healed = rekal("recall", QUESTION)
    assert (healed.code, healed.err) == (good.code, "")
    assert "built again" in healed.out.splitlines()[0]
    assert healed.out.splitlines()[1:] == good.out.splitlines()[1:]
    damage(rekal.layout.index)
    assert rekal("index").code == 0
    assert rekal("recall", QUESTION).out == good.out
    assert rekal.layout.data.read_bytes() == before


def test_a_missing_ledger_starts_anew(rekal: Rekal) -> None:
    session(rekal)
    rekal("checkpoint")
    rekal.layout.data.unlink()
    sentence(rekal("find", "queue"), 4, "`rekal init`")
    assert rekal("checkpoint").code == 0
    assert turns(rekal) == 2


@pytest.mark.parametrize(
    "content",
    [b"", b"nonsense\n", b'{"kind":"commit"}\n', b'{"kind":"unheard-of","sha":"a"}\n', b"\xff\xfe\n", b'{"kind":"com'],
    ids=["empty", "nonsense", "fields missing", "unknown kind", "not utf-8", "half"],
)
def test_broken_events_cost_themselves_only(rekal: Rekal, content: bytes) -> None:
    made = session(rekal)
    made.writes(rekal.root / "queue.py", "durable line of code")
    (rekal.root / "queue.py").write_text("durable line of code", encoding="utf-8")
    (rekal.layout.spool / "1-broken.json").write_bytes(content)
    git(rekal.root, "add", "-A")
    git(rekal.root, "commit", "-q", "-m", "Add the queue")
    sha = git(rekal.root, "rev-parse", "HEAD").strip()
    done = rekal("checkpoint", "--json")
    assert (done.code, done.json["checkpoints"]) == (0, 1)
    assert [c["git_sha"] for c in rekal("log", "--json").json["checkpoints"]] == [sha]
    assert not list(rekal.layout.spool.glob("*.json"))
    kept = list((rekal.layout.spool / "broken").glob("*")) if content else []
    assert len(kept) == bool(content)
    assert any("unreadable events" in warning for warning in done.json["warnings"]) == bool(content)
    assert any("could not be worked on" in problem for problem in rekal("status", "--json").json["problems"]) == bool(
        content
    )


def test_an_event_that_is_a_directory_costs_itself_only(rekal: Rekal) -> None:
    session(rekal)
    (rekal.layout.spool / "1-broken.json").mkdir()
    done = rekal("checkpoint", "--json")
    assert done.code == 0, done.err
    assert any("unreadable events" in warning for warning in done.json["warnings"])
    assert turns(rekal) == 2


@pytest.mark.parametrize("kind", ["directory", "binary", "unreadable", "empty", "dangling", "fifo"])
def test_a_bad_transcript_costs_itself_only(rekal: Rekal, kind: str) -> None:
    good = session(rekal)
    bad = good.path.with_name("00000000-0000-4000-8000-000000000000.jsonl")
    if kind == "directory":
        bad.mkdir()
    elif kind == "binary":
        bad.write_bytes(os.urandom(1000) + bytes(range(256)) * 40)
    elif kind == "unreadable":
        bad.symlink_to(bad.name)
    elif kind == "dangling":
        bad.symlink_to("/nowhere/at/all")
    elif kind == "fifo":
        os.mkfifo(bad)
    else:
        bad.write_bytes(b"")
    done = rekal("checkpoint", "--json")
    assert (done.code, turns(rekal)) == (0, 2), done
    said = [warning for warning in done.json["warnings"] if bad.name in warning]
    assert len(said) == (kind not in ("empty", "dangling")), done.json["warnings"]
    again = rekal("checkpoint", "--json")
    assert (again.code, again.json["sessions"]) == (0, 0)
