"""One conversation as each agent keeps it, in every kind of store it has had: written whole, again when it grows."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from tests.agents import codex_log, copilot_log, cursor_maker, gemini_maker
from tests.agents import kiro_maker as kiro
from tests.agents import opencode_store_maker as shop
from tests.agents.pieces import write_lines
from tests.support.claude import ClaudeSession

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
"""When every conversation begins; its n-th round is ten minutes times n later."""
_ROUND = timedelta(minutes=10)
Json = dict[str, Any]


class Round(msgspec.Struct, frozen=True):
    """A prompt, the file that the agent then wrote, whole, and what it said about it."""

    asked: str
    path: Path
    text: str
    answered: str


class Conversation(msgspec.Struct, frozen=True):
    """A conversation in ``cwd``; ``name`` makes its ids."""

    home: Path
    cwd: Path
    name: str
    rounds: Sequence[Round]

    @property
    def id(self) -> str:
        """The agent's id of it."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, self.name))


def moment(place: int, second: int = 0) -> datetime:
    """A second of the n-th round."""
    return START + place * _ROUND + timedelta(seconds=second)


def _iso(place: int, second: int = 0) -> str:
    return moment(place, second).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _ms(place: int, second: int = 0) -> int:
    return int(moment(place, second).timestamp() * 1000)


def claude(talk: Conversation) -> None:
    session = ClaudeSession(talk.home, talk.cwd, talk.name, start=START, step=timedelta(seconds=1))
    session.path.write_bytes(b"")
    for place, one in enumerate(talk.rounds):
        session.now = moment(place)
        session.human(one.asked).writes(one.path, one.text, text=one.answered)


def codex(talk: Conversation) -> None:
    records = [codex_log.meta(talk.id, str(talk.cwd))]
    records[0]["payload"]["timestamp"] = records[0]["timestamp"] = _iso(0)
    for place, one in enumerate(talk.rounds):
        added = "".join(f"+{line}\n" for line in one.text.splitlines())
        patch = f"*** Begin Patch\n*** Add File: {one.path}\n{added}*** End Patch"
        turn = [
            *(codex_log.started(place), codex_log.context(place, str(talk.cwd)), *codex_log.typed(one.asked)),
            codex_log.custom(f"c{place}", "apply_patch", patch),
            codex_log.output(f"c{place}", '{"output":"Success","metadata":{"exit_code":0}}'),
            *(*codex_log.answer(one.answered), codex_log.done(place)),
        ]
        records += [{**record, "timestamp": _iso(place, n)} for n, record in enumerate(turn)]
    codex_log.write(
        talk.home / ".codex/sessions/2026/03/02", *records, name=f"rollout-2026-03-02T09-00-00-{talk.id}.jsonl"
    )


def copilot_cli(talk: Conversation) -> None:
    records = [{**copilot_log.start(str(talk.cwd)), "id": "ev-start", "timestamp": _iso(0)}]
    records[0]["data"] |= {"sessionId": talk.id, "startTime": _iso(0)}
    for place, one in enumerate(talk.rounds):
        key, arguments = f"{talk.name}-{place}", {"path": str(one.path), "file_text": one.text}
        turn = [
            copilot_log.user(one.asked),
            copilot_log.says(one.answered, copilot_log.request(key, "create", arguments)),
            copilot_log.runs(key, "create", arguments),
            copilot_log.ran(key),
        ]
        stamped = enumerate(turn)
        records += [{**e, "id": f"{talk.name}-{place}-{n}", "timestamp": _iso(place, n)} for n, e in stamped]
    write_lines(talk.home / ".copilot/session-state" / talk.id / "events.jsonl", records)


def copilot_vscode(talk: Conversation) -> None:
    requests = []
    for place, one in enumerate(talk.rounds):
        arguments = json.dumps({"filePath": str(one.path), "content": one.text})
        rounds = [copilot_log.turn(copilot_log.made(f"{talk.name}-{place}", "create_file", arguments))]
        asked = copilot_log.asked(f"{talk.name}-{place}", one.asked, {"value": one.answered}, rounds=rounds)
        requests.append({**asked, "timestamp": _ms(place)})
    storage = talk.home / ".config/Code/User/workspaceStorage" / hashlib.md5(str(talk.cwd).encode()).hexdigest()
    state = copilot_log.state(*requests, sessionId=talk.id, creationDate=_ms(0))
    kiro.put(storage / "workspace.json", {"folder": talk.cwd.as_uri()})
    kiro.put(storage / "chatSessions" / f"{talk.id}.json", json.dumps(state, indent=1))


def cursor_ide(talk: Conversation) -> None:
    bubbles = []
    for place, one in enumerate(talk.rounds):
        given = {"file_path": str(one.path), "contents": one.text}
        bubbles += [
            cursor_maker.human(one.asked, None, workspaceUris=[talk.cwd.as_uri()], createdAt=_iso(place)),
            cursor_maker.answer(one.answered, createdAt=_iso(place, 1)),
            cursor_maker.tool("write", given) | {"createdAt": _iso(place, 2)},
        ]
    ide = cursor_maker.Ide(talk.home)
    ide.composer(talk.id, *bubbles, createdAt=_ms(0), lastUpdatedAt=_ms(len(talk.rounds)))


def _query(place: int, one: Round) -> str:
    stamp = moment(place).strftime("%A, %b %d, %Y, %I:%M %p (UTC)")
    return f"<timestamp>{stamp}</timestamp>\n<user_query>\n{one.asked}\n</user_query>"


def cursor_cli(talk: Conversation) -> None:
    info = f"<user_info>\nWorkspace Path: {talk.cwd}\n</user_info>"
    messages: list[Json] = [{"role": "user", "content": info}]
    for place, one in enumerate(talk.rounds):
        asked = _query(place, one)
        named = {"toolCallId": f"t{place}", "toolName": "Write"}
        call = {"type": "tool-call", **named, "args": {"path": str(one.path), "contents": one.text}}
        messages += [
            {"role": "user", "content": [{"type": "text", "text": asked}]},
            {"role": "assistant", "content": [{"type": "text", "text": one.answered}, call]},
            {"role": "tool", "content": [{"type": "tool-result", **named, "result": "Wrote contents"}]},
        ]
    cursor_maker.chat(talk.home, str(talk.cwd), talk.id, messages)


def cursor_transcript(talk: Conversation) -> None:
    records = []
    for place, one in enumerate(talk.rounds):
        asked = _query(place, one)
        write = cursor_maker.use("Write", path=str(one.path), contents=one.text)
        records += [cursor_maker.line("user", asked), cursor_maker.line("assistant", one.answered, write)]
        records.append(cursor_maker.line("assistant", "Written."))
    project = str(talk.cwd).strip("/").replace("/", "-").replace(".", "-")
    cursor_maker.transcript_file(talk.home, project, f"{talk.id}/{talk.id}.jsonl", *records)


def _gemini(talk: Conversation) -> list[Json]:
    records = []
    for place, one in enumerate(talk.rounds):
        call = gemini_maker.call(
            f"{talk.name}-{place}", "write_file", {"file_path": str(one.path), "content": one.text}
        )
        said = gemini_maker.model(f"{talk.name}-{place}-b", one.answered, call | {"timestamp": _iso(place, 2)})
        asked = gemini_maker.user(f"{talk.name}-{place}-a", one.asked)
        records += [asked | {"timestamp": _iso(place)}, said | {"timestamp": _iso(place, 1)}]
    return records


def _gemini_meta(talk: Conversation) -> tuple[Path, Json]:
    project = hashlib.sha256(str(talk.cwd).encode()).hexdigest()
    folder = talk.home / ".gemini/tmp" / project / "chats"
    return folder, {"sessionId": talk.id, "projectHash": project, "startTime": _iso(0), "kind": "main"}


def gemini_document(talk: Conversation) -> None:
    folder, meta = _gemini_meta(talk)
    document = {**meta, "lastUpdated": _iso(len(talk.rounds)), "messages": _gemini(talk)}
    gemini_maker.write(folder / f"session-{talk.id[:8]}.json", document)


def gemini_log(talk: Conversation) -> None:
    folder, meta = _gemini_meta(talk)
    write_lines(folder / f"session-{talk.id[:8]}.jsonl", [meta, *_gemini(talk)])


def kiro_database(talk: Conversation) -> None:
    history: list[Json] = []
    for place, one in enumerate(talk.rounds):
        key, write = f"t{place}", {"command": "create", "path": str(one.path), "file_text": one.text}
        used = kiro.uses(f"{talk.name}-{place}", one.answered, (key, "fs_write", write))
        asked = kiro.prompt(one.asked, used, str(talk.cwd))
        asked["user"]["timestamp"] = _iso(place)
        answered = kiro.results(kiro.result(key, ""), answer=kiro.response(f"{talk.name}-{place}-z", "Done."))
        history += [asked, answered]
        for n, item in enumerate((asked, answered)):
            item["request_metadata"]["stream_end_timestamp_ms"] = _ms(place, 1 + n)
    kiro.converse(talk.home, talk.id, history, str(talk.cwd), _ms(len(talk.rounds)))


def kiro_flat(talk: Conversation) -> None:
    records: list[Json] = []
    for place, one in enumerate(talk.rounds):
        write = kiro.flat_use(f"t{place}", "fs_write", command="create", path=str(one.path), file_text=one.text)
        stamp = {"meta": {"timestamp": moment(place).timestamp()}}
        words, key = kiro.words, f"{talk.name}-{place}"
        records += [
            kiro.flat("Prompt", f"{key}-p", words(one.asked), **stamp),
            kiro.flat("AssistantMessage", f"{key}-a", words(one.answered), write, **stamp),
            kiro.flat("ToolResults", f"{key}-r", kiro.flat_result(f"t{place}", "ok"), **stamp),
        ]
    kiro.flat_session(talk.home, talk.id, *records, cwd=str(talk.cwd), created_at=_iso(0))


def kiro_shared(talk: Conversation) -> None:
    records: list[Json] = []
    for place, one in enumerate(talk.rounds):
        args = {"path": str(one.path), "text": one.text}
        turn = [
            kiro.event(f"{talk.name}-{place}-u", "user", content=one.asked),
            kiro.event(f"{talk.name}-{place}-a", "assistant", content=one.answered, operationType="Say"),
            kiro.event(f"{talk.name}-{place}-c", "tool_call", toolCallId=f"t{place}", toolName="fs_write", args=args),
            kiro.event(f"{talk.name}-{place}-r", "tool_result", toolCallId=f"t{place}", success=True, content="ok"),
        ]
        records += [{**record, "timestamp": _iso(place, n)} for n, record in enumerate(turn)]
    kiro.shared_session(talk.home, f"sess_{talk.id}", *records, cwd=str(talk.cwd), createdAt=_iso(0))


def kiro_ide(talk: Conversation) -> None:
    history: list[Json] = []
    for place, one in enumerate(talk.rounds):
        name = f"{talk.name}-{place}"
        history += [kiro.said("user", one.asked, f"{name}-u"), kiro.said("assistant", "On it.", f"{name}-a", name)]
        given = {"file": str(one.path), "originalContent": "", "modifiedContent": one.text}
        kiro.execution(
            talk.home,
            name,
            kiro.action(f"{name}-1", "say", message=one.answered),
            kiro.action(f"{name}-2", "replace", "Accepted", given),
            cwd=str(talk.cwd),
            start=_ms(place),
        )
    kiro.ide_session(talk.home, talk.id, *history, cwd=str(talk.cwd))


def opencode_database(talk: Conversation) -> None:
    store = shop.Store(talk.home / ".local/share/opencode/opencode.db")
    for table in ("session", "message", "part"):
        store.run(f"DELETE FROM {table} WHERE {'id' if table == 'session' else 'session_id'} = ?", f"ses_{talk.id}")
    store.clock = _ms(0)
    store.session(f"ses_{talk.id}", str(talk.cwd))
    for place, one in enumerate(talk.rounds):
        store.clock = _ms(place)
        key, said = f"{talk.name}-{place}", shop.said
        write = shop.tool("write", key, {"filePath": str(one.path), "content": one.text})
        store.message(f"ses_{talk.id}", f"{key}-a", "user", said(one.asked))
        store.message(f"ses_{talk.id}", f"{key}-b", "assistant", said(one.answered), write, path={"cwd": str(talk.cwd)})


def opencode_tree(talk: Conversation) -> None:
    storage, sid = talk.home / ".local/share/opencode/storage", f"ses_{talk.id}"
    for place, one in enumerate(talk.rounds):
        user, agent = f"{talk.name}-{place}-a", f"{talk.name}-{place}-b"
        write = shop.tool("write", f"t{place}", {"filePath": str(one.path), "content": one.text})
        heads: list[Json] = [
            {"id": user, "role": "user", "time": {"created": _ms(place)}},
            {"id": agent, "role": "assistant", "time": {"created": _ms(place, 1), "completed": _ms(place, 2)}},
        ]
        for head in heads:
            kiro.put(storage / "message" / sid / f"{head['id']}.json", {**head, "sessionID": sid})
        parts = ((user, shop.said(one.asked)), (agent, shop.said(one.answered)), (agent, write))
        for number, (message, part) in enumerate(parts):
            name = f"{message}-{number}"
            kiro.put(storage / "part" / message / f"{name}.json", {"id": name, "messageID": message, **part})
    info = {"id": sid, "projectID": "p1", "directory": str(talk.cwd), "title": "Tree"}
    times = {"created": _ms(0), "updated": _ms(len(talk.rounds))}
    kiro.put(storage / "session" / "p1" / f"{sid}.json", {**info, "time": times})


STORES: Mapping[str, Callable[[Conversation], None]] = {
    "claude": claude,
    "codex": codex,
    "copilot cli": copilot_cli,
    "copilot vscode": copilot_vscode,
    "cursor ide": cursor_ide,
    "cursor cli": cursor_cli,
    "cursor transcript": cursor_transcript,
    "gemini document": gemini_document,
    "gemini log": gemini_log,
    "kiro database": kiro_database,
    "kiro flat": kiro_flat,
    "kiro shared": kiro_shared,
    "kiro ide": kiro_ide,
    "opencode database": opencode_database,
    "opencode tree": opencode_tree,
}
