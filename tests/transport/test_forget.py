"""Forgetting: gone from every file and object, and it stays gone."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rekal.model import MemoryEvent, Session
from rekal.store import spool
from rekal.store.database import insert_rows
from rekal.store.ledger import open_ledger
from rekal.wire.segment import decode_segments
from tests.capture.test_link import commit, work
from tests.conftest import git
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession
from tests.transport.team import Clone, bare, segments_on, talk

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
SECRET = "the launch is moved to the ninth of Brumaire"


def say(rekal: Rekal, name: str, *said: str, file: str | None = None, minutes: int = 0) -> ClaudeSession:
    """A session with these prompts, and its commit."""
    start = START + timedelta(minutes=minutes)
    session = ClaudeSession(rekal.home, rekal.root, name, start=start)
    for text in said:
        session.human(text)
    path = file or f"{name}.py"
    session.writes(work(rekal.root, path, f"{name} line of code\n"), f"{name} line of code")
    commit(rekal.root, start + timedelta(minutes=2), f"add {name}")
    return session


@pytest.fixture(autouse=True)
def _no_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rekal.daemon.spawn.start_worker", lambda app: None)


def saved(rekal: Rekal, name: str, *said: str, minutes: int = 0) -> None:
    """A session, its commit, and their capture."""
    say(rekal, name, *said, minutes=minutes)
    assert rekal("_worker").code == 0


def everything(rekal: Rekal) -> Iterator[tuple[str, bytes]]:
    """Every file of the store as it is, segments also decoded, and every loose object of git unpacked."""
    for path in {*rekal.layout.directory.rglob("*"), *rekal.layout.run.rglob("*")}:
        if path.is_file():
            yield str(path), path.read_bytes()
    for path in (rekal.root / ".git" / "objects").glob("??/*"):
        data = zlib.decompress(path.read_bytes())
        yield str(path), data
        body = data.partition(b"\0")[2]
        if body.startswith(b"RKL"):
            yield f"{path} decoded", repr(decode_segments([body])[0]).encode()


def where(rekal: Rekal, text: str) -> list[str]:
    """Files and objects of ours that hold a text. The user's own commits may hold it: they are left out."""
    users = set(git(rekal.root, "rev-list", "--objects", "--no-object-names", "--branches").split())
    found = [name for name, data in everything(rekal) if text.encode() in data]
    return [name for name in found if "".join(Path(name).parts[-2:]) not in users]


def push(rekal: Rekal) -> None:
    git(rekal.root, "push", "-q", "--no-verify")
    assert rekal("push").code == 0


def handle(rekal: Rekal, name: str) -> str:
    with open_ledger(rekal.layout.data, read_only=True) as ledger:
        session = ClaudeSession(rekal.home, rekal.root, name).session_id
        row = ledger.con.execute("SELECT id FROM sessions WHERE native_id = ?", [session]).fetchone()
    assert row is not None
    return str(row[0])


KINDS = ("session", "turn", "text", "pattern", "path")


def secrets(rekal: Rekal) -> dict[str, str]:
    """A session for each way to forget, all captured: the text to forget in each."""
    found = {}
    for number, kind in enumerate(KINDS):
        found[kind] = f"{kind} talk of {SECRET}"
        say(rekal, kind, f"Write {kind}.py please", f"In {kind}.py note the {found[kind]}.", minutes=30 * number)
    assert rekal("_worker").code == 0
    return found


def words(rekal: Rekal, kind: str) -> list[str]:
    """The arguments that forget the secret of one kind."""
    session = handle(rekal, kind)
    return {
        "session": [session],
        "turn": [f"{session[:20]}#1"],
        "text": ["--text", "text talk of the launch"],
        "pattern": ["--pattern", r"pattern\s+talk of .* Bru\w+"],
        "path": ["--path", "path.py"],
    }[kind]


def test_what_is_forgotten_is_in_no_file_and_no_loose_object(rekal: Rekal, remote: Path) -> None:
    found = secrets(rekal)
    push(rekal)
    for kind, secret in found.items():
        rekal("recall", f"{kind}.py note the {secret}")
        with rekal.layout.log.open("a") as log:
            log.write(f"could not read: In {kind}.py note the {secret}.\n")
    rekal("_worker")
    for kind, secret in found.items():  # waits in the spool
        rekal("recall", f"{kind}.py note the {secret}")
    for kind, secret in found.items():
        assert len(where(rekal, secret)) > 3
        ran = rekal("forget", "--yes", *words(rekal, kind))
        assert ran.code == 0, ran.err
        assert "out of reach" in ran.out
        assert where(rekal, secret) == [], kind
    assert git(rekal.root, "fsck", "--no-dangling").strip() == ""


def test_neither_capture_nor_rebuild_nor_restart_brings_it_back(rekal: Rekal) -> None:
    found = secrets(rekal)
    for kind in KINDS:
        assert rekal("forget", "--yes", *words(rekal, kind)).code == 0
    with open_ledger(rekal.layout.data, read_only=False) as ledger:
        ledger.con.execute("DELETE FROM source_state")
    for path in (rekal.home / ".claude" / "projects").rglob("*.jsonl"):
        name = next(kind for kind in KINDS if ClaudeSession(rekal.home, rekal.root, kind).path == path)
        ClaudeSession(rekal.home, rekal.root, name).says(f"a later answer in {name}")
    assert rekal("checkpoint", "--all").code == 0
    assert rekal("index", "--full").code == 0
    for secret in found.values():
        assert where(rekal, secret) == []
    later = rekal("query", "--json", "SELECT content FROM turns WHERE starts_with(content, 'a later') ORDER BY 1")
    assert [row[0].split()[-1] for row in later.json["rows"]] == sorted(set(KINDS) - {"session"})


def test_a_dry_run_counts_and_changes_nothing(rekal: Rekal) -> None:
    saved(rekal, "plan", f"Note that {SECRET}.")
    before = rekal.layout.data.read_bytes()
    counted = rekal("forget", "--dry-run", "--json", "--text", SECRET).json
    assert counted["erased"]["turns"] == 1
    assert rekal("query", "--json", "SELECT count(*) FROM tombstones").json["rows"] == [[0]]
    assert where(rekal, SECRET)
    assert len(before) == rekal.layout.data.stat().st_size


def test_without_a_yes_nothing_happens(rekal: Rekal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    saved(rekal, "plan", f"Note that {SECRET}.")
    assert rekal("forget", "--text", SECRET).code == 2
    assert where(rekal, SECRET)


@pytest.mark.parametrize(
    "words", [["--text", ""], ["--pattern", "("], ["--pattern", "a*"], ["nosuchsession"], ["nosuch#1"], []]
)
def test_what_is_not_meant_is_refused(rekal: Rekal, words: list[str]) -> None:
    saved(rekal, "plan", f"Note that {SECRET}.")
    ran = rekal("forget", "--yes", *words)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert where(rekal, SECRET)


def test_nothing_that_matches_is_said(rekal: Rekal) -> None:
    ran = rekal("forget", "--yes", "--text", "never said")
    assert (ran.code, ran.err) == (1, "rekal: nothing here matches; nothing was changed\n")


def test_a_tombstone_tells_nothing_of_what_was_forgotten(rekal: Rekal) -> None:
    saved(rekal, "plan", f"In plan.py note that {SECRET}.", "hunter2")
    rekal("forget", "--yes", "--text", "hunter2", "--text", SECRET, "--path", "plan.py")
    rows = rekal("query", "--json", "SELECT target, reason, actor FROM tombstones").json["rows"]
    assert rows
    for target, reason, actor in rows:
        assert target.isalnum()
        assert (reason, actor) == ("text, path", "Test Person")
    from rekal.ids import content_hash

    # Whoever gets the tombstones could try short texts one by one.
    assert content_hash("hunter2") not in {row[0] for row in rows}


def test_an_undo_lets_it_be_captured_again(rekal: Rekal) -> None:
    saved(rekal, "plan", f"Note that {SECRET}.")
    act = rekal("forget", "--yes", "--json", handle(rekal, "plan")[:10]).json["act"]
    listed = rekal("forget", "--list", "--json").json["acts"]
    assert [(one["id"], one["shipped"], one["reason"]) for one in listed] == [(act, False, "id")]

    assert rekal("forget", "--undo", act).code == 0
    rekal("_worker")

    assert rekal("forget", "--list").code == 1
    assert SECRET in rekal("show", handle(rekal, "plan")).out
    assert rekal("log").out.count("add plan") == 1


def test_an_undo_is_refused_once_teammates_were_told(rekal: Rekal, remote: Path) -> None:
    saved(rekal, "plan", f"Note that {SECRET}.")
    push(rekal)
    act = rekal("forget", "--yes", "--json", handle(rekal, "plan")[:10]).json["act"]
    ran = rekal("forget", "--undo", act)
    assert (ran.code, "teammates were already told" in ran.err) == (5, True)


def test_the_remote_gets_the_ref_without_it_in_one_commit(rekal: Rekal, remote: Path) -> None:
    saved(rekal, "plan", f"Note that {SECRET}.")
    saved(rekal, "other", "Something else", minutes=30)
    push(rekal)
    git(rekal.root, "fetch", "-q")
    ran = rekal("forget", "--yes", "--text", SECRET)
    assert "origin has the ref without it" in ran.out
    (ref,) = git(remote, "for-each-ref", "--format=%(refname)", "refs/rekal").split()
    assert git(remote, "rev-list", "--count", ref).strip() == "1"
    records, report = decode_segments(segments_on(remote, ref))
    assert report.skips == ()
    assert SECRET not in repr(records)
    assert "Something else" in repr(records)
    assert git(rekal.root, "fsck", "--no-dangling").strip() == ""
    saved(rekal, "later", "One more", minutes=60)
    push(rekal)
    assert git(remote, "rev-list", "--count", ref).strip() == "2"


def test_an_unreachable_remote_gets_it_with_the_next_push(rekal: Rekal, remote: Path) -> None:
    saved(rekal, "plan", f"Note that {SECRET}.")
    push(rekal)
    remote.rename(remote.with_name("away.git"))
    ran = rekal("forget", "--yes", "--text", SECRET)
    assert "origin still has it" in ran.out
    assert where(rekal, SECRET) == []
    remote.with_name("away.git").rename(remote)
    assert rekal("push").code == 0
    (ref,) = git(remote, "for-each-ref", "--format=%(refname)", "refs/rekal").split()
    assert SECRET not in repr(decode_segments(segments_on(remote, ref))[0])


def test_a_ref_that_somebody_else_moved_is_not_overwritten(rekal: Rekal, remote: Path) -> None:
    saved(rekal, "plan", f"Note that {SECRET}.")
    push(rekal)
    (ref,) = git(remote, "for-each-ref", "--format=%(refname)", "refs/rekal").split()
    git(remote, "update-ref", ref, git(remote, "rev-parse", "main").strip())
    ran = rekal("forget", "--yes", "--text", SECRET)
    assert "origin still has it" in ran.out
    assert git(remote, "rev-parse", ref) == git(remote, "rev-parse", "main")


def test_a_memory_goes_with_all_its_events(rekal: Rekal) -> None:
    saved(rekal, "plan", "Write the plan")
    at = START.replace(tzinfo=None)
    rows: list[tuple[object, ...]] = [
        (f"event{i}", "0memory", "assert", f'{{"text":"{SECRET}"}}', "Mara", "human", at, at, None, "local", 1)
        for i in range(2)
    ]
    with open_ledger(rekal.layout.data, read_only=False) as ledger:
        insert_rows(ledger.con, "memory_events", rows)
    assert rekal("forget", "--yes", "--json", "0memory").json["erased"]["events"] == 2
    assert where(rekal, SECRET) == []
    assert MemoryEvent.__struct_fields__[0] == "id"


def test_events_that_wait_and_broken_ones_go_too(rekal: Rekal) -> None:
    saved(rekal, "plan", f"Note that {SECRET}.")
    event = spool.RecallEvent("surfaced", (handle(rekal, "plan"),), START, f"about {SECRET} é")
    spool.put_event(rekal.layout.spool, event)
    broken = rekal.layout.spool / "broken"
    broken.mkdir()
    (broken / "x.json").write_text(f"{{ {SECRET}", encoding="utf-8")
    assert rekal("forget", "--yes", "--json", "--text", SECRET).json["traces"] == 2
    assert where(rekal, SECRET) == []


def test_the_owners_tombstone_reaches_a_teammate(tmp_path: Path, rekal: Rekal, remote: Path) -> None:
    saved(rekal, "plan", "Write plan.py please", f"Note that {SECRET}.")
    push(rekal)
    noor = Clone(tmp_path / "noor", remote, "noor")
    noor.receive()
    assert any(SECRET in text for text in noor.texts())

    rekal("forget", "--yes", handle(rekal, "plan")[:10] + "#1")
    received = noor.receive()

    assert received.imported.erased >= 1
    assert not any(SECRET in text for text in noor.texts())
    assert SECRET.encode() not in noor.layout.data.read_bytes()
    # An older copy of the ref, from a mirror or a backup, does not bring it back.
    with open_ledger(noor.layout.data, read_only=False) as ledger:
        ledger.con.execute("DELETE FROM received")
    noor.receive()
    assert not any(SECRET in text for text in noor.texts())


def test_a_teammates_session_is_forgotten_here_only_and_does_not_return(tmp_path: Path) -> None:
    remote = bare(tmp_path)
    mara, noor = Clone(tmp_path / "mara", remote, "mara"), Clone(tmp_path / "noor", remote, "noor")
    session: Session = talk("mara", "plan", "Write it", SECRET)
    mara.publish(session, talk("mara", "kept"))
    noor.receive()
    from rekal.forget.own_store import ForgetPlace, forget_locally
    from rekal.forget.request import ForgetRequest

    forgot = forget_locally(ForgetPlace(noor.layout, noor.repo, "rekal"), ForgetRequest((session.id,)))
    assert forgot.others == (mara.origin,)
    mara.publish(talk("mara", "more"))
    noor.receive()
    assert SECRET not in noor.texts()
    assert len(noor.texts()) == 4


def _copy_of(rekal: Rekal, name: str, words: str) -> None:
    """The same conversation under new ids, as a fork of it is filed, with the words in title, prompt and command."""
    session = ClaudeSession(rekal.home, rekal.root, name, start=START + timedelta(hours=1))
    session.human(f"{words} and then go on\nwith the rest")
    session.runs(f"./deploy --customer {words} --region north", "ok")
    session.says("It is done.")


@pytest.mark.parametrize("option", [("--text", "BLUEHERON42"), ("--pattern", r"BLUE[A-Z]+\d\d")])
def test_forgotten_words_do_not_return_in_other_texts(rekal: Rekal, option: tuple[str, str]) -> None:
    saved(rekal, "plan", "Note that BLUEHERON42 is the customer's name.")
    assert rekal("forget", "--yes", *option).code == 0
    _copy_of(rekal, "copy", "BLUEHERON42")
    commit_at = START + timedelta(hours=2)
    git(rekal.root, "checkout", "-qb", "for-BLUEHERON42")
    work(rekal.root, "k.py", "kappa = 3  # a line of its own\n")
    commit(rekal.root, commit_at, "kappa for BLUEHERON42")
    rekal("_worker")
    rekal("recall", "what does BLUEHERON42 want")
    rekal("_worker")
    left = [name for name, data in everything(rekal) if b"BLUEHERON42" in data and "objects" not in name]
    assert left == []
    with open_ledger(rekal.layout.data, read_only=True) as ledger:
        kept = ledger.con.execute("SELECT count(*) FROM sessions").fetchone()
    assert kept and kept[0] >= 2  # the copy is there, without the words


def test_an_undo_lets_the_words_in_again(rekal: Rekal) -> None:
    saved(rekal, "plan", "Note that BLUEHERON42 is the customer's name.")
    act = rekal("forget", "--yes", "--text", "BLUEHERON42").out.split("(")[1][:8]
    assert rekal("forget", "--undo", act).code == 0
    rekal("_worker")
    assert "BLUEHERON42" in rekal("show", handle(rekal, "plan")).out


def test_a_forgotten_prompt_is_no_title_of_a_copy(rekal: Rekal) -> None:
    saved(rekal, "plan", "The launch is moved to the ninth of Brumaire, tell nobody")
    assert rekal("forget", "--yes", handle(rekal, "plan")).code == 0
    session = ClaudeSession(rekal.home, rekal.root, "copy", start=START + timedelta(hours=1))
    session._write({"type": "summary", "summary": "The launch is moved to the ninth of Brumaire, tell nobody"})
    session.human("go on with it")
    session.says("Done.")
    rekal("_worker")
    with open_ledger(rekal.layout.data, read_only=True) as ledger:
        titles = ledger.con.execute("SELECT title FROM sessions WHERE title IS NOT NULL").fetchall()
    assert not any("Brumaire" in title for (title,) in titles)


def test_a_repeated_request_finishes_an_interrupted_one(rekal: Rekal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after the ledger and before the index: the words still stand in index.db."""
    saved(rekal, "plan", f"Note that {SECRET}.")
    rekal("recall", "plan.py")

    def die(*args: object, **more: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("rekal.app.forget_everywhere.refresh_index", die)
        rekal("forget", "--yes", "--text", SECRET)
    assert any("index.db" in name for name in where(rekal, SECRET))
    again = rekal("forget", "--yes", "--text", SECRET)
    assert again.code == 0
    assert "finished" in again.out + again.err
    assert where(rekal, SECRET) == []


@pytest.mark.parametrize("captured", [False, True])
def test_words_in_a_question_alone_are_forgotten_and_stay_out(rekal: Rekal, captured: bool) -> None:
    """The question still waits in the spool, or is in the ledger already."""

    def ask() -> None:
        asked = spool.RecallEvent("opened", ("s" * 26,), datetime.now(UTC), SECRET)
        spool.put_event(rekal.layout.spool, asked)

    ask()
    if captured:
        rekal("checkpoint")
    done = rekal("forget", "--text", SECRET, "--yes")
    assert done.code == 0, done.err
    assert "question" in done.out
    ask()
    rekal("checkpoint")
    for folder in (rekal.layout.directory, rekal.layout.run):
        for path in folder.rglob("*"):
            assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path
    assert rekal("forget", "--text", SECRET, "--yes").code == 1
