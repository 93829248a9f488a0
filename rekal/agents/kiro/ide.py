"""The Kiro IDE before 1.0: sessions whose answers lie in execution files, and the still older ``.chat`` files.

A session's own file often says only ``On it.``; what the agent said and did is in the files of its executions, in a
folder named by a hash of the workspace's path.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from rekal.agents.formats.json_fields import (
    first_text,
    load_object,
    number_at,
    object_at,
    objects_at,
    read_object,
    text_at,
    value_at,
)
from rekal.agents.formats.jsonl import Record, clean_text
from rekal.agents.formats.timestamps import parse_time
from rekal.agents.formats.tool_calls import describe_call
from rekal.agents.formats.transcript_builder import TranscriptBuilder
from rekal.agents.kiro import text
from rekal.errors import SourceError
from rekal.model import Outcome, RawCall, RawTurn, Transcript
from rekal.plain_text import lazy_pattern

# The same name in every installation: it is the hash of a constant of Kiro's.
EXECUTIONS = "414d1636299d2b9e4ce7e17fb11f63e9"
_HEAD = 4096
_EXECUTION_ID = lazy_pattern(rb'"executionId"\s*:\s*"([^"]+)"')
# What a session's own file says in place of an answer that lies in an execution.
_PLACEHOLDERS = frozenset({"On it.", "..."})
_STATES: dict[str, Outcome | None] = {
    "success": "ok", "accepted": "ok", "completed": "ok", "error": "error", "failed": "error", "rejected": None,
    "cancelled": None, "canceled": None, "aborted": None,
}  # fmt: skip
# The status of an execution that nothing is written to any more.
_OVER = frozenset({"succeed", "succeeded", "failed", "aborted", "cancelled", "canceled", "error"})


def workspace_hash(path: str) -> str:
    """Name of the folder that holds a workspace's executions."""
    return hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def session_files(agent_folder: Path) -> Iterator[tuple[Path, str]]:
    """Session files with their workspaces' directories, as the index beside them says."""
    for index in sorted((agent_folder / "workspace-sessions").glob("*/sessions.json")):
        for entry in _index_entries(index):
            name, directory = text_at(entry, "sessionId"), text_at(entry, "workspaceDirectory")
            # The name goes into a path: one with a slash in it could lead anywhere.
            if name is None or directory is None or Path(name).name != name or "\0" in name:
                continue
            file = index.with_name(f"{name}.json")
            if file.is_file():
                yield file, directory


def _index_entries(index: Path) -> list[Record]:
    try:
        listed = index.read_bytes()
    except OSError:
        return []
    # The index is a list; with an object around it the tolerant reader takes it.
    return objects_at(load_object(b'{"entries":' + listed + b"}"), "entries")


def execution_files(agent_folder: Path, directory: str) -> list[Path]:
    """The execution files of one workspace."""
    folder = agent_folder / workspace_hash(directory) / EXECUTIONS
    return sorted(path for path in folder.glob("*") if path.is_file())


def read_ide_session(file: Path) -> tuple[Transcript, dict[str, int]]:
    """Read one session with its executions. Raises SourceError when its own file cannot be read."""
    session = read_object(file)
    entry = _index_entry(file)
    directory = text_at(session, "workspacePath") or text_at(entry, "workspaceDirectory")
    history = objects_at(session, "history")
    wanted = {name for item in history if (name := text_at(item, "executionId"))}
    executions = _executions(execution_files(file.parents[2], directory) if directory else [], wanted)
    told = _HistoryDraft()
    if not isinstance(session.get("history"), list):
        told.odd("session without history")
    for place, item in enumerate(history):
        told.item(item, place, executions)
    transcript = Transcript(
        agent="kiro",
        native_id=text_at(session, "sessionId") or file.stem,
        turns=tuple(told.draft.turns),
        calls=tuple(told.draft.calls),
        cwds=(directory,) if directory else (),
        title=text.title_name(text_at(session, "title") or text_at(entry, "title")),
        started_at=parse_time(entry.get("dateCreated") or session.get("dateCreated")),
    )
    return transcript, told.drift


def _index_entry(file: Path) -> Record:
    entries = _index_entries(file.with_name("sessions.json"))
    return next((entry for entry in entries if text_at(entry, "sessionId") == file.stem), {})


def _executions(files: Iterable[Path], wanted: set[str]) -> dict[str, Record]:
    """The executions named, decoding only files whose beginning may name one; a broken file costs itself."""
    found: dict[str, Record] = {}
    for file in files:
        try:
            with file.open("rb") as opened:
                named = _EXECUTION_ID.search(opened.read(_HEAD))
            if named is not None and named[1].decode("utf-8", "replace") not in wanted:
                continue
            execution = read_object(file)
        except (OSError, SourceError):
            continue
        if (name := text_at(execution, "executionId")) in wanted and name is not None:
            found[name] = execution
    return found


class _HistoryDraft:
    """The history of one session being told."""

    def __init__(self) -> None:
        self.draft = TranscriptBuilder()
        self.drift: dict[str, int] = {}

    def item(self, item: Record, place: int, executions: dict[str, Record]) -> None:
        message = object_at(item, "message")
        content = message.get("content")
        parts = objects_at(content) if isinstance(content, list) else [{"text": content}]
        words = "\n".join(said for part in parts if (said := text_at(part, "text")))
        native_id = text_at(message, "id")
        role = text_at(message, "role")
        if "content" not in message:
            self.odd(f"{role} without content")
        elif parts and not any("text" in part for part in parts):
            self.odd(f"{role} without words")
        if role == "user":
            if odd := text.find_odd_prompt(words):
                self.odd(odd)
            if said := text.strip_wrapper(words):
                self.draft.say(RawTurn("human", said, native_id))
        elif role == "assistant":
            execution = executions.get(text_at(item, "executionId") or "", {})
            spoken = self._actions(execution) if execution else 0
            if words.strip() and words.strip() not in _PLACEHOLDERS and not spoken:
                self.draft.say(RawTurn("assistant", clean_text(words), native_id))
        else:
            self.odd(f"role {role}")

    def odd(self, what: str) -> None:
        self.drift[what] = self.drift.get(what, 0) + 1

    def _actions(self, execution: Record) -> int:
        """Tell what an execution said and did; returns how often it spoke."""
        over = (text_at(execution, "status") or "").casefold() in _OVER
        when, spoken = parse_time(number_at(execution, "startTime")), 0
        for place, action in enumerate(objects_at(execution, "actions")):
            kind = text_at(action, "actionType") or "unknown"
            key = f"{text_at(execution, 'executionId')}/{text_at(action, 'actionId') or place}"
            state = (text_at(action, "actionState") or "").casefold()
            if kind == "say":
                said = text_at(action, "output", "message") or text_at(action, "output")
                if said and (over or state in _STATES):
                    self.draft.say(RawTurn("assistant", clean_text(said), key, occurred_at=when))
                    spoken += 1
                continue
            self.draft.ask(
                key, _action_calls(RawCall(kind, native_id=key, occurred_at=when), object_at(action, "input"))
            )
            if state in _STATES:
                failed = kind == "runCommand" and number_at(action, "output", "exitCode") not in (None, 0)
                said = first_text(object_at(action, "output"), "error", "message", "output", "stderr")
                self.draft.answer(key, "error" if failed else _STATES[state], said)
            elif over:
                self.draft.answer(key, None)
        return spoken


def _action_calls(call: RawCall, given: Record) -> list[RawCall]:
    """One call for each file of an action that reads several."""
    files = [path for file in objects_at(given, "files") if (path := text_at(file, "path"))]
    if len(files) < 2:
        return describe_call(call, {"path": files[0]} if files else given)
    return [replace(call, path=path, native_id=f"{call.native_id}#{place}") for place, path in enumerate(files, 1)]


def read_ide_chat(file: Path, directory: str | None) -> tuple[Transcript, dict[str, int]]:
    """Read one ``.chat`` file: an execution's prompts and answers. Raises SourceError when it cannot be read."""
    value = read_object(file)
    turns: list[RawTurn] = []
    drift: dict[str, int] = {}
    for entry in objects_at(value, "chat"):
        role, content = text_at(entry, "role"), text_at(entry, "content")
        if role == "human" and content and (said := text.strip_wrapper(content)):
            turns.append(RawTurn("human", said))
        elif role == "bot" and content and content.strip() not in _PLACEHOLDERS:
            turns.append(RawTurn("assistant", clean_text(content)))
        elif role not in ("human", "bot", "tool"):
            drift[f"role {role}"] = drift.get(f"role {role}", 0) + 1
    if any(turn.role == "assistant" and text.is_classifier(turn.content) for turn in turns):
        turns = []
    transcript = Transcript(
        agent="kiro",
        native_id=text_at(value, "executionId") or file.stem,
        turns=tuple(turns),
        cwds=(directory,) if directory else (),
        model=text.model_name(text_at(value, "metadata", "modelId")),
        started_at=parse_time(value_at(value, "metadata", "startTime")),
    )
    return transcript, drift
