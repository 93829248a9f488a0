"""Copilot Chat in VS Code: replaying the log, what a request tells, workspaces, damage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from rekal.agents.contract import Where
from rekal.agents.copilot.chat import chat_uri_path, replay_changes
from rekal.agents.copilot.vscode import ADAPTER
from rekal.errors import SourceError
from rekal.model import Transcript
from tests.agents.adapter_checks import Change, Counts, check_golden, counts, mutations, shared_file
from tests.agents.copilot_log import SESSION, T0, Json, asked, file_uri, made, runs, says, start, state, turn, user
from tests.agents.pieces import only, read, said, source_of, write_lines

EDIT = json.dumps({"filePath": "/w/app/a.ts", "oldString": "a\nkeep", "newString": "b\nkeep"})
GROUP = {"kind": "textEditGroup", "uri": file_uri("/w/app/b.ts"), "edits": [[{"text": "let x\n", "range": {}}], []]}


def write_state(path: Path, value: Json) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
    return path


def parsed(tmp_path: Path, *requests: Json) -> Transcript:
    return only(read(ADAPTER, write_state(tmp_path / "chatSessions" / f"{SESSION}.json", state(*requests))))


def test_a_chat(tmp_path: Path) -> None:
    reference = {"kind": "inlineReference", "inlineReference": file_uri("/w/app/src/a.ts")}
    hidden = {"kind": "toolInvocationSerialized", "toolCallId": "x", "toolId": "copilot_replaceString"}
    response: list[Json] = [{"value": "See "}, reference, {"value": ", it is short."}, hidden, {"value": "\n```\n"}]
    transcript = parsed(
        tmp_path,
        asked("1", "what is here", *response),
        asked("2", "change it", {"value": "Done."}, rounds=[turn(made("c1", "replace_string_in_file", EDIT))]),
    )
    assert said(transcript) == [
        ("human", "what is here"),
        ("assistant", "See `a.ts`, it is short."),
        ("human", "change it"),
        ("assistant", "Done."),
    ]
    assert [turn_.native_id for turn_ in transcript.turns] == ["request_1", "response_1", "request_2", "response_2"]
    assert transcript.turns[0].occurred_at is not None
    assert transcript.turns[0].occurred_at.timestamp() == (T0 + 1000) / 1000
    invoked, edit = transcript.calls
    assert (invoked.tool, invoked.outcome) == ("copilot_replaceString", None)
    assert (edit.tool, edit.path, edit.wrote, edit.outcome, edit.turn) == (
        *("replace_string_in_file", "/w/app/a.ts", ("b",), "ok"),
        3,
    )
    assert (transcript.title, transcript.model, transcript.native_id) == ("Tidy up", "model-a", SESSION)
    assert transcript.started_at is not None and transcript.started_at.timestamp() == T0 / 1000


def test_a_request_that_still_runs_keeps_its_answer_back(tmp_path: Path) -> None:
    growing = asked("1", "go", {"value": "So f"}, rounds=[turn(made("c1", "read_file", "{}"))], result=None)
    assert said(parsed(tmp_path, growing)) == [("human", "go")]
    assert parsed(tmp_path, growing).calls == ()
    assert said(parsed(tmp_path, growing, asked("2", "next")))[1] == ("assistant", "So f")
    assert said(parsed(tmp_path, {**growing, "isCanceled": True}))[1] == ("assistant", "So f")


def test_edits_are_told_once(tmp_path: Path) -> None:
    many = {"replacements": [{"filePath": "/w/app/c.ts", "oldString": "", "newString": new} for new in ("p", "q")]}
    rounds = [turn(made("c1", "multi_replace_string_in_file", json.dumps(many)))]
    covered = {**GROUP, "uri": file_uri("/w/app/c.ts")}
    transcript = parsed(tmp_path, asked("1", "edit", GROUP, covered, rounds=rounds))
    assert [(one.tool, one.native_id, one.path, one.wrote) for one in transcript.calls] == [
        ("multi_replace_string_in_file", "c1", "/w/app/c.ts", ("p", "q")),
        ("textEdit", "request_1:edit#1", "/w/app/b.ts", ("let x",)),
    ]


def test_terminals(tmp_path: Path) -> None:
    def terminal(key: str, code: int) -> Json:
        details = {
            "kind": "terminal",
            "commandLine": {"original": "npm test"},
            "terminalCommandState": {"exitCode": code},
        }
        shown = {"kind": "toolInvocationSerialized", "toolId": "run_in_terminal", "isComplete": True}
        return {**shown, "toolCallId": key, "toolSpecificData": details}

    transcript = parsed(tmp_path, asked("1", "test", terminal("t1", 0), terminal("t2", 1)))
    assert [(one.command, one.outcome) for one in transcript.calls] == [("npm test", "ok"), ("npm test", "error")]
    line = json.dumps({"command": "npm ci", "explanation": "install"})
    (one,) = parsed(tmp_path, asked("1", "go", rounds=[turn(made("c", "run_in_terminal", line))])).calls
    assert (one.command, one.outcome) == ("npm ci", "ok")


def test_plain_and_empty_messages(tmp_path: Path) -> None:
    parts = asked("2", "", message={"parts": [{"text": "in "}, {"text": "parts"}]})
    transcript = parsed(tmp_path, asked("1", "", message="plain"), parts, asked("3", " "))
    assert said(transcript) == [("human", "plain"), ("human", "in parts")]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([{"kind": 0, "v": {"requests": [1]}}, {"kind": 0, "v": {"requests": [2]}}], {"requests": [2]}),
        ([{"kind": 1, "k": ["a"], "v": {"b": []}}, {"kind": 2, "k": ["a", "b"], "v": [1, 2]}], {"a": {"b": [1, 2]}}),
        ([{"kind": 2, "k": ["requests"], "v": [1, 2, 3]}, {"kind": 2, "k": ["requests"], "i": 1, "v": [9]}], [1, 9]),
        ([{"kind": 2, "k": ["requests"], "v": [{"r": 1}]}, {"kind": 1, "k": ["requests", 0, "r"], "v": 2}], [{"r": 2}]),
        ([{"kind": 1, "k": ["t"], "v": 1}, {"kind": 3, "k": ["t"]}], {}),
        ([{"kind": 2, "k": ["requests"], "v": [1, 2]}, {"kind": 3, "k": ["requests", 0]}], [2]),
        ([{"kind": 1, "k": ["no", "such"], "v": 1}, {"kind": 1, "k": [], "v": 1}, {"kind": 9}], {}),
        ([{"kind": 1, "k": ["requests", 5], "v": 1}, {"kind": 2, "k": ["requests"], "v": "x"}], []),
    ],
)
def test_replay(entries: list[Json], expected: Any) -> None:
    found = replay_changes(entries)
    if isinstance(expected, list):
        assert found == {"requests": expected}
    else:
        assert found == {"requests": [], **expected}


def test_a_log_gives_what_its_state_gives(tmp_path: Path) -> None:
    one, two = asked("1", "first", {"value": "1."}), asked("2", "second", {"value": "2."})
    log = [
        {"kind": 0, "v": state()},
        {"kind": 1, "k": ["inputState", "inputText"], "v": "never sent"},
        {"kind": 2, "k": ["requests"], "v": [{**one, "response": [], "result": None}]},
        {"kind": 2, "k": ["requests", 0, "response"], "i": 0, "v": one["response"]},
        {"kind": 1, "k": ["requests", 0, "result"], "v": one["result"]},
        {"kind": 2, "k": ["requests"], "v": [two]},
    ]
    path = write_lines(tmp_path / "chatSessions" / f"{SESSION}.jsonl", log)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\nbroken\n", 1))
    found = read(ADAPTER, path)
    assert only(found) == parsed(tmp_path, one, two)
    assert (found.skipped_bytes, found.offset) == (len(b"broken\n"), 0)


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///w/my%20app", "/w/my app"),
        ("file:///c%3A/code/app", "c:/code/app"),
        ("vscode-remote://wsl%2Bubuntu/home/me/app", "/home/me/app"),
        ("vscode-remote://ssh-remote%2Bhost/home/me/app", None),
        ({"scheme": "file", "path": "/c:/code/a.ts"}, "c:/code/a.ts"),
        ({"scheme": "untitled", "path": "/x"}, None),
        ("file://[bad", None),
        (None, None),
    ],
)
def test_uris(uri: object, path: str | None) -> None:
    assert chat_uri_path(uri) == path


def workspace(user_folder: Path, name: str, described: Json) -> Path:
    folder = user_folder / "workspaceStorage" / name
    write_state(folder / "workspace.json", described)
    return folder


def test_discovery_by_workspace(tmp_path: Path) -> None:
    user_folder = tmp_path / ".config/Code/User"
    mine = workspace(user_folder, "h1", {"folder": "file:///w/app"})
    workspace(user_folder, "h2", {"folder": "file:///w/app2"})
    write_state(user_folder / "workspaceStorage/h2/chatSessions/other.json", state())
    for name in ("both.json", "both.jsonl", "old.json", "notes.txt"):
        write_state(mine / "chatSessions" / name, state())
    for name in ("both", "extra"):
        write_lines(mine / f"GitHub.copilot-chat/transcripts/{name}.jsonl", [start()])
    listed = write_state(tmp_path / "all.code-workspace", {})
    listed.write_text('{ // ours\n "folders": [{"path": "../w"}, {"uri": "file:///w/app"}],}', encoding="utf-8")
    several = workspace(tmp_path / ".vscode-server/data/User/profiles/p1", "h3", {"workspace": listed.as_uri()})
    write_state(several / "chatSessions/multi.json", state())
    found = [
        source.path.relative_to(tmp_path).as_posix() for source in ADAPTER.discover(Where(tmp_path, (Path("/w/app"),)))
    ]
    assert [name.rsplit("/", 1)[-1] for name in found] == ["both.jsonl", "old.json", "extra.jsonl", "multi.json"]
    assert only(read(ADAPTER, several / "chatSessions/multi.json")).cwds[-1] == "/w/app"
    mac = Where(tmp_path, (Path("/w/app"),), platform="darwin")
    assert [source.path.name for source in ADAPTER.discover(mac)] == ["multi.json"]


def test_transcripts_of_the_extension(tmp_path: Path) -> None:
    storage = workspace(tmp_path, "h1", {"folder": "file:///w/app"})
    opened = {**start(), "data": {"sessionId": "chat-1", "producer": "copilot-agent"}}
    events = [opened, user("add it"), says("Adding."), runs("c1", "read_file", {"filePath": "/w/app/a.ts"})]
    path = write_lines(storage / "GitHub.copilot-chat/transcripts/chat-1.jsonl", events)
    found = read(ADAPTER, path)
    assert said(only(found)) == [("human", "add it"), ("assistant", "Adding.")]
    assert (only(found).native_id, only(found).cwds) == ("chat-1", ("/w/app",))
    assert found.offset > 0


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        read(ADAPTER, write_state(tmp_path / "chatSessions/x.json", {"messages": []}))
    with pytest.raises(SourceError):
        read(ADAPTER, write_lines(tmp_path / "chatSessions/x.jsonl", [start()]))
    assert ADAPTER.sniff(json.dumps({"kind": 0, "v": state()}).encode())
    assert ADAPTER.sniff(json.dumps(state(), indent=2).encode())
    assert not ADAPTER.sniff(json.dumps(start()).encode())
    assert not ADAPTER.sniff(b'{"kind": "main", "sessionId": "x", "projectHash": "y"}')


@settings(deadline=None, max_examples=60)
@given(change=mutations())
def test_odd_values_never_escape_as_other_errors(tmp_path_factory: pytest.TempPathFactory, change: Change) -> None:
    one = asked("1", "go", {"value": "x"}, GROUP, rounds=[turn(made("c1", "replace_string_in_file", EDIT))])
    log = [{"kind": 0, "v": state(one)}, {"kind": 2, "k": ["requests", 0, "response"], "i": 1, "v": [GROUP]}]
    path = write_lines(tmp_path_factory.mktemp("odd") / "x.jsonl", change(log))
    try:
        read(ADAPTER, path)
    except SourceError:
        return


@pytest.mark.shared
def test_golden_counts() -> None:
    folder = shared_file("fixtures/copilot/vscode")
    found: dict[str, Counts] = {}
    for path in sorted(path for path in folder.rglob("*.json*") if path.is_file()):
        found[path.relative_to(folder).as_posix()] = counts(ADAPTER, source_of(ADAPTER, path), folder / "none")
    check_golden("copilot_vscode", found)
