"""Gemini CLI: documents and logs, projects by hash and by name, noise, calls, damage."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from rekal.agents.contract import Where
from rekal.agents.gemini.adapter import ADAPTER
from rekal.errors import SourceError
from rekal.model import Transcript
from tests.agents.adapter_checks import Change, Counts, check_golden, counts, mutations, shared_file
from tests.agents.gemini_maker import META, SESSION, Json, call, document, message, model, user, write
from tests.agents.pieces import check_pieces, flat, keep, only, read, said, source_of, write_lines

ROOT = Path("/w/app")


def parsed(tmp_path: Path, *messages: Json, **more: Any) -> Transcript:
    return only(read(ADAPTER, write(tmp_path / "p/chats/session-1.json", document(*messages, **more))))


def logged(tmp_path: Path, *records: Json) -> Transcript:
    return only(read(ADAPTER, write_lines(tmp_path / "p/chats/session-1.jsonl", records)))


def test_a_document(tmp_path: Path) -> None:
    transcript = parsed(
        tmp_path,
        user("m0", "<session_context>\nThis is the Gemini CLI."),
        message("m1", "info", "Update available"),
        user("m2", "tidy up"),
        model("m3", "Listing.", call("ls-1", "run_shell_command", {"command": "ls"}, output="a\nExit Code: 0\n")),
        model("m4", "Tidied."),
        message("m5", "user", "/quit"),
        summary="Tidying",
    )
    assert said(transcript) == [("human", "tidy up"), ("assistant", "Listing."), ("assistant", "Tidied.")]
    (one,) = transcript.calls
    assert (one.tool, one.command, one.outcome, one.turn) == ("run_shell_command", "ls", "ok", 1)
    assert one.native_id == "m3/ls-1" and transcript.turns[1].model == "model-a"
    assert (transcript.native_id, transcript.title, transcript.actor) == (SESSION, "Tidying", "human")
    assert transcript.started_at is not None and transcript.started_at.isoformat() == "2026-05-01T10:00:00+00:00"


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ({"content": "plain"}, "plain"),
        (
            {"content": [{"text": "see @a"}, {"text": "\n--- Content from referenced files ---"}, {"text": "x"}]},
            "see @a",
        ),
        ({"content": "see @a\n--- Content from referenced files ---\nx"}, "see @a"),
        ({"content": [{"text": "long"}], "displayContent": [{"text": "short"}]}, "short"),
        ({"content": "/memory show"}, None),
        ({"content": "/usr/bin is missing"}, "/usr/bin is missing"),
        ({"content": [{"functionResponse": {"id": "x", "response": {"output": "y"}}}]}, None),
        ({"content": [{"inlineData": {"data": "AAAA"}}, {"text": "this image"}]}, "this image"),
        ({"content": None}, None),
    ],
)
def test_what_was_typed(tmp_path: Path, sent: Json, meant: str | None) -> None:
    transcript = parsed(tmp_path, {**message("m1", "user", ""), **sent})
    assert [turn.content for turn in transcript.turns] == ([] if meant is None else [meant])


def test_edits_and_outcomes(tmp_path: Path) -> None:
    replaced = {"file_path": "/w/app/a.py", "old_string": "x = 1\nkeep", "new_string": "x = 2\nkeep"}
    shown = {"fileDiff": "--- b.py\n+++ b.py\n@@ -1 +1,2 @@\n-old\n+new\n+er\n", "fileName": "b.py"}
    transcript = parsed(
        tmp_path,
        user("m1", "go"),
        model(
            *("m2", ""),
            call("c1", "replace", replaced),
            {**call("c2", "write_file", {"file_path": "b.py", "content": "new\ner\n"}), "resultDisplay": shown},
            call("c3", "write_file", {"file_path": "c.py", "content": "one\n"}),
            call("c4", "write_file", {"file_path": "d.py", "content": "one\n"}, "cancelled"),
            call("c5", "replace", replaced, "error", "no such text"),
            call("c6", "run_shell_command", {"command": "make"}, output="no\nExit Code: 2\nSignal: 0"),
        ),
    )
    assert [(one.path, one.outcome, one.wrote) for one in transcript.calls] == [
        ("/w/app/a.py", "ok", ("x = 2",)),
        ("b.py", "ok", ("new", "er")),
        ("c.py", "ok", ("one",)),
        ("d.py", None, ()),
        ("/w/app/a.py", "error", ()),
        (None, "error", ()),
    ]
    assert transcript.calls[4].excerpt == "no such text"


def test_calls_without_an_answer(tmp_path: Path) -> None:
    waiting = [user("m1", "go"), model("m2", "", call("c1", "write_file", {"file_path": "a", "content": "x"}, None))]
    assert parsed(tmp_path, *waiting).calls == ()
    (one,) = parsed(tmp_path, *waiting, user("m3", "never mind")).calls
    assert (one.outcome, one.wrote) == (None, ())
    response = {"functionResponse": {"id": "c1", "response": {"output": "written"}}}
    (answered,) = parsed(tmp_path, *waiting, message("m3", "user", [response])).calls
    assert (answered.outcome, answered.wrote) == ("ok", ("x",))


def test_a_log_says_the_last_word_in_the_first_place(tmp_path: Path) -> None:
    transcript = logged(
        tmp_path,
        META,
        user("m1", "go"),
        {"$set": {"lastUpdated": "2026-05-01T10:00:02.000Z"}},
        model("m2", "Going."),
        model("m3", "Gone."),
        model("m2", "Going.", call("t", "update_topic", {"title": "The trip"}), call("c", "glob", {"pattern": "*"})),
        {"$set": {"summary": None}},
    )
    assert said(transcript) == [("human", "go"), ("assistant", "Going."), ("assistant", "Gone.")]
    assert [(one.tool, one.turn) for one in transcript.calls] == [("update_topic", 1), ("glob", 1)]
    assert (transcript.native_id, transcript.title) == (SESSION, "The trip")


def test_batches_replace_and_later_lines_add(tmp_path: Path) -> None:
    batch = {"$set": {"messages": [user("m1", "kept"), model("m2", "Kept.")]}}
    records = [META, user("m0", "gone"), batch, model("m2", "Kept, better."), {"$set": {"lastUpdated": "x"}}]
    transcript = logged(tmp_path, *records, user("m3", "more"))
    assert said(transcript) == [("human", "kept"), ("assistant", "Kept, better."), ("human", "more")]


def test_rewinding(tmp_path: Path) -> None:
    talk = [META, user("m1", "one"), model("m2", "1"), user("m3", "two"), model("m4", "2")]
    assert said(logged(tmp_path, *talk, {"$rewindTo": "m3"}, user("m5", "three"))) == [
        ("human", "one"),
        ("assistant", "1"),
        ("human", "three"),
    ]
    assert said(logged(tmp_path, *talk, {"$rewindTo": "unknown"}, user("m5", "new"))) == [("human", "new")]


def test_reading_twice_keeps_what_was_rewound_in_between(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "p/chats/session-1.jsonl", [META, user("m1", "one"), user("m2", "two")])
    kept: Any = {}
    keep(kept, read(ADAPTER, path))
    write_lines(path, [META, user("m1", "one"), user("m2", "two"), {"$rewindTo": "m2"}, user("m3", "three")])
    keep(kept, read(ADAPTER, path))
    assert [content for _, _, content in flat(kept)[SESSION]] == ["one", "two", "three"]


def test_reading_in_two_pieces_anywhere(tmp_path: Path) -> None:
    first = model("m2", "Going.")
    records = [META, user("m1", "go"), first, {**first, "toolCalls": [call("c", "glob", {})]}, user("m3", "on")]
    check_pieces(ADAPTER, write_lines(tmp_path / "session.jsonl", records), tmp_path / "cut")


def projects(home: Path) -> Path:
    return home / ".gemini" / "tmp"


def found(home: Path, *roots: Path, **env: str) -> list[str]:
    where = Where(home, roots or (ROOT,), env)
    return [source.path.relative_to(projects(home)).as_posix() for source in ADAPTER.discover(where)]


def test_projects_by_hash_and_by_name(tmp_path: Path) -> None:
    hashed = hashlib.sha256(str(ROOT).encode()).hexdigest()
    other = hashlib.sha256(b"/w/app2").hexdigest()
    for name in (hashed, other, "app", "app-2", "inner", "unknown"):
        write(projects(tmp_path) / name / "chats/session-1.json", document(user("m1", "go")))
    (projects(tmp_path) / "app-2/.project_root").write_text("/w/app2\n", encoding="utf-8")
    (projects(tmp_path) / "inner/.project_root").write_text("/w/app/inner", encoding="utf-8")
    write(tmp_path / ".gemini/projects.json", {"projects": {"/w/app": "app", "/w/elsewhere": "unknown"}})
    # A hash that is no root's may be that of a directory inside one: what the chats touched tells.
    wanted = sorted((hashed, other, "app", "inner"))
    assert found(tmp_path) == [f"{name}/chats/session-1.json" for name in wanted]
    wanted = sorted((hashed, other, "app-2"))
    assert found(tmp_path, Path("/w/app2")) == [f"{name}/chats/session-1.json" for name in wanted]
    assert not list(ADAPTER.discover(Where(tmp_path / "none", (ROOT,))))
    assert list(ADAPTER.discover(Where(tmp_path / "none", (ROOT,), {"GEMINI_CLI_HOME": str(tmp_path)})))
    where = Where(tmp_path, (ROOT,))
    cwds = {only(ADAPTER.parse(source, None, where)).cwds for source in ADAPTER.discover(where)}
    assert cwds == {("/w/app",), ("/w/app/inner",), ()}


def test_a_project_known_by_its_hash_alone_is_where_its_files_are(tmp_path: Path) -> None:
    edit = call("c1", "write_file", {"file_path": "/w/app/src/a.py", "content": "x"})
    chat = projects(tmp_path) / hashlib.sha256(b"/w/app/src").hexdigest() / "chats/session-1.json"
    write(chat, document(user("m1", "go"), model("m2", "Going.", edit)))
    where = Where(tmp_path, (ROOT,))
    (source,) = ADAPTER.discover(where)
    assert only(ADAPTER.parse(source, None, where)).cwds == ("/w/app/src",)


def test_sub_agents(tmp_path: Path) -> None:
    chats = projects(tmp_path) / hashlib.sha256(str(ROOT).encode()).hexdigest() / "chats"
    write_lines(chats / "session-1.jsonl", [META, user("m1", "go")])
    write_lines(
        chats / SESSION / "sub-1.jsonl", [{**META, "kind": "subagent"}, user("s1", "look"), model("s2", "Seen.")]
    )
    (chats / "logs.txt").write_text("x", encoding="utf-8")
    where = Where(tmp_path, (ROOT,))
    main, sub = (only(ADAPTER.parse(source, None, where)) for source in ADAPTER.discover(where))
    assert (main.native_id, main.parent_native_id) == (SESSION, None)
    assert (sub.native_id, sub.parent_native_id, sub.actor) == ("sub-1", SESSION, "agent")
    assert sub.cwds == ("/w/app",) and said(sub) == [("human", "look"), ("assistant", "Seen.")]


def test_directories_added_to_the_workspace_count(tmp_path: Path) -> None:
    assert parsed(tmp_path, user("m1", "go"), directories=["/w/app", "/w/lib", 3]).cwds == ("/w/app", "/w/lib")


def test_drift_and_damage(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s.jsonl", [META, user("m1", "go"), message("m2", "brand_new", ""), {"odd": 1}])
    with path.open("ab") as file:
        file.write(b'{"id":"m3","type":"user","content":"cut of' + json.dumps(user("m4", "on")).encode() + b"\nbad\n")
    parsed_log = read(ADAPTER, path)
    assert said(only(parsed_log)) == [("human", "go"), ("human", "on")]
    assert parsed_log.drift == {"brand_new": 1, "record": 1}
    assert parsed_log.skipped_bytes == len(b'{"id":"m3","type":"user","content":"cut of') + len(b"bad\n")


@pytest.mark.parametrize("body", ['{"history": []}', "[]", "{", ""])
def test_other_documents_are_refused(tmp_path: Path, body: str) -> None:
    path = tmp_path / "p/chats/x.json"
    path.parent.mkdir(parents=True)
    path.write_text(body, encoding="utf-8")
    with pytest.raises(SourceError):
        read(ADAPTER, path)


def test_sniffing() -> None:
    def lines(records: Sequence[Json]) -> bytes:
        return "\n".join(json.dumps(one) for one in records).encode()

    assert ADAPTER.sniff(json.dumps(document(user("m1", "go")), indent=2).encode())
    assert ADAPTER.sniff(json.dumps(document(user("m1", "go"))).encode())
    assert ADAPTER.sniff(lines([META, user("m1", "go")]))
    assert ADAPTER.sniff(lines([user("m1", "go"), model("m2", "ok")]))
    assert not ADAPTER.sniff(lines([user("m1", "go")]))
    assert not ADAPTER.sniff(
        b'{"type":"user","sessionId":"s","uuid":"u","message":{"content":"\\"type\\": \\"gemini\\""}}'
    )
    assert not ADAPTER.sniff(b'{"type":"session.start","data":{"sessionId":"s","startTime":"t"}}')
    assert not ADAPTER.sniff(b"")


@settings(deadline=None, max_examples=60)
@given(change=mutations())
def test_odd_values_never_escape_as_other_errors(tmp_path_factory: pytest.TempPathFactory, change: Change) -> None:
    talk = [user("m1", "go"), model("m2", "Going.", call("c1", "write_file", {"file_path": "a", "content": "x"}))]
    folder = tmp_path_factory.mktemp("odd")
    log = change([META, *talk, {"$set": {"messages": talk}}, {"$rewindTo": "m2"}])
    for path in (write_lines(folder / "x.jsonl", log), write(folder / "x.json", change(document(*talk)))):
        try:
            read(ADAPTER, path)
        except SourceError:
            continue


@pytest.mark.shared
def test_golden_counts() -> None:
    folder = shared_file("fixtures/gemini")
    tallied: dict[str, Counts] = {}
    for path in sorted(path for path in folder.rglob("*.json*") if path.is_file()):
        tallied[path.relative_to(folder).as_posix()] = counts(ADAPTER, source_of(ADAPTER, path), folder / "none")
    check_golden("gemini", tallied)
