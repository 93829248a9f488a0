"""A chat session of VS Code: its state, replayed from the log of changes, and the transcript it makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote, urlsplit

from rekal.agents.formats.edit_arguments import read_tool
from rekal.agents.formats.json_fields import (
    first_text,
    number_at,
    object_at,
    objects_at,
    text_at,
    value_at,
)
from rekal.agents.formats.jsonl import Record
from rekal.agents.formats.patches import text_lines
from rekal.agents.formats.person_words import find_wrapper, name_wrapper
from rekal.agents.formats.timestamps import parse_time
from rekal.agents.formats.transcript_builder import TranscriptBuilder
from rekal.model import Outcome, RawCall, RawTurn, Transcript

KINDS = _INITIAL, _SET, _PUSH, _DELETE = (0, 1, 2, 3)
"""The kinds of entry in the log."""

_KNOWN_PARTS = frozenset({"kind", "value", "content"})


def replay_changes(entries: Iterable[Record]) -> Record:
    """The state that a log of changes adds up to.

    ``{kind: 0, v}`` replaces it, 1 sets ``v`` at the path ``k``, 2 appends the items of ``v`` there (cutting the
    list to ``i`` first), 3 deletes. A change whose place does not exist is left out; without an initial state the
    session begins empty.
    """
    state: Record = {"requests": []}
    for entry in entries:
        kind, path = entry.get("kind"), entry.get("k")
        if kind == _INITIAL:
            # A damaged initial state leaves what was replayed so far.
            state = object_at(entry, "v") or state
        elif kind in (_SET, _PUSH, _DELETE) and isinstance(path, list) and path:
            holder: Any = state
            for key in path[:-1]:
                holder = _get(holder, key)
            _change(holder, path[-1], entry)
    return state


def _get(holder: Any, key: object) -> Any:
    if isinstance(holder, dict) and isinstance(key, str):
        return holder.get(key)
    if isinstance(holder, list) and (index := _index(key, holder)) is not None:
        return holder[index]
    return None


def _index(key: object, items: list[Any]) -> int | None:
    # A negative index would reach the list's end, which the log never means.
    if isinstance(key, int) and not isinstance(key, bool) and 0 <= key < len(items):
        return key
    return None


def _change(holder: Any, key: object, entry: Record) -> None:
    value = entry.get("v")
    if entry["kind"] == _PUSH:
        if not isinstance(value, list):
            return
        items = _get(holder, key)
        kept = items if isinstance(items, list) else []
        # Without `i` the slice ends at None and keeps all.
        value = kept[: number_at(entry, "i")] + value
    place: Any = None
    if isinstance(holder, dict) and isinstance(key, str):
        place = key
    elif isinstance(holder, list):
        place = _index(key, holder)
    if place is None:
        return
    if entry["kind"] != _DELETE:
        holder[place] = value
    elif _get(holder, place) is not None:
        del holder[place]


def read_chat_session(agent: str, state: Record, native_id: str, cwds: tuple[str, ...]) -> Transcript:
    """The transcript of a session's state; ``native_id`` counts where the state names none.

    The last request is told once it has ended: until then its answer still grows.
    """
    draft, model = TranscriptBuilder(), None
    requests = objects_at(state, "requests")
    for place, request in enumerate(requests):
        # A request that another one follows has ended, whatever its own fields say.
        ended = place + 1 < len(requests) or _ended(request)
        model = _request_model(request) or model
        _tell(draft, request, text_at(request, "requestId") or f"#{place}", ended)
    return Transcript(
        agent=agent,
        native_id=text_at(state, "sessionId") or native_id,
        turns=tuple(draft.turns),
        calls=tuple(draft.calls),
        cwds=cwds,
        model=model,
        title=text_at(state, "customTitle"),
        started_at=parse_time(state.get("creationDate")),
    )


def find_odd_requests(state: Record) -> Counter[str]:
    """Count what is not as this version knows it, so that nothing read is not taken for nothing said."""
    drift: Counter[str] = Counter()
    if "requests" not in state:
        drift["session without requests"] += 1
    for request in objects_at(state, "requests"):
        prompt = _typed_prompt(request.get("message"))
        if prompt is None and request.get("message") != "" and value_at(request, "message", "text") != "":
            drift["request without message"] += 1
        elif prompt is not None and find_wrapper(prompt):
            drift[name_wrapper(prompt)] += 1
        answer = request.get("response")
        if _ended(request) and not isinstance(answer, list):
            drift["request without response"] += 1
        if isinstance(answer, list) and answer and not any(_KNOWN_PARTS & part.keys() for part in objects_at(answer)):
            drift["response without value"] += 1
    return drift


def _is_by_person(request: Record, prompt: str) -> bool:
    return request.get("isSystemInitiated") is not True and find_wrapper(prompt) is None


def _ended(request: Record) -> bool:
    if isinstance(request.get("result"), dict) or request.get("isCanceled") or request.get("isComplete"):
        return True
    # Complete, cancelled, failed; 0 is under way.
    return number_at(request, "modelState", "value") in (1, 2, 3)


def _request_model(request: Record) -> str | None:
    found = text_at(request, "result", "metadata", "resolvedModel") or text_at(request, "modelId")
    return found.removeprefix("copilot/") if found is not None else None


def _tell(draft: TranscriptBuilder, request: Record, key: str, ended: bool) -> None:
    when = parse_time(request.get("timestamp"))
    if (prompt := _typed_prompt(request.get("message"))) is not None and _is_by_person(request, prompt):
        draft.say(RawTurn("human", prompt, native_id=key, occurred_at=when))
    if not ended:
        return
    answer = _answer_text(objects_at(request, "response"))
    if answer:
        native_id = text_at(request, "responseId") or f"{key}:response"
        draft.say(RawTurn("assistant", answer, native_id=native_id, occurred_at=when, model=_request_model(request)))
    edited = {path for part in _edit_groups(request) if (path := chat_uri_path(part.get("uri"))) is not None}
    told = _tell_rounds(draft, request, edited) or _tell_invocations(draft, request)
    _tell_edits(draft, request, key, told)
    draft.pass_over()


def _typed_prompt(message: object) -> str | None:
    if isinstance(message, str):
        return message.strip() or None
    whole = text_at(message, "text") or "".join(
        part for item in objects_at(message, "parts") if (part := text_at(item, "text"))
    )
    return whole.strip() or None


def _answer_text(parts: list[Record]) -> str:
    """The Markdown of an answer with the names of what it refers to; fences left by edits are dropped."""
    words = []
    for part in parts:
        if part.get("kind") is None or part.get("kind") == "markdownContent":
            found = first_text(part, "value") or text_at(part, "content", "value")
            # An edit is taken out of the Markdown and leaves the fences around it.
            if found is not None and found.strip() != "```":
                words.append(found)
        elif part.get("kind") == "inlineReference":
            reference = part.get("inlineReference")
            path = chat_uri_path(reference) or chat_uri_path(value_at(reference, "uri"))
            name = text_at(part, "name") or text_at(reference, "name")
            if label := name or (path or "").replace("\\", "/").rsplit("/", 1)[-1]:
                words.append(f"`{label}`")
    return "".join(words).strip()


def _tell_rounds(draft: TranscriptBuilder, request: Record, edited: set[str]) -> set[str]:
    """Tell the calls as the model made them; returns the paths they edit, with "" once there is any call."""
    metadata = object_at(request, "result", "metadata")
    results = object_at(metadata, "toolCallResults")
    told: set[str] = set()
    for turn in objects_at(metadata, "toolCallRounds"):
        when = parse_time(turn.get("timestamp") or request.get("timestamp"))
        for made in objects_at(turn, "toolCalls"):
            key, name = text_at(made, "id"), text_at(made, "name")
            if key is None or name is None:
                continue
            calls = read_tool(RawCall(name, native_id=key, occurred_at=when), made.get("arguments"))
            draft.ask(key, calls)
            # The empty name marks that calls were told at all: the answer's own list of them is then a repetition.
            told |= {"", *(call.path for call in calls if call.path is not None and call.wrote)}
            # Some results are not written down; an edit that the answer shows was done.
            if key in results or any(call.path in edited for call in calls):
                draft.answer(key, "ok")
    return told


def _tell_invocations(draft: TranscriptBuilder, request: Record) -> set[str]:
    """Tell the calls that only the answer shows, without their arguments."""
    for part in objects_at(request, "response"):
        key, name = text_at(part, "toolCallId"), text_at(part, "toolId")
        if part.get("kind") != "toolInvocationSerialized" or key is None or name is None:
            continue
        details = object_at(part, "toolSpecificData")
        command = text_at(details, "commandLine", "original") or text_at(details, "command")
        code = number_at(details, "terminalCommandState", "exitCode")
        call = RawCall(name, native_id=key, command=command, occurred_at=parse_time(request.get("timestamp")))
        draft.ask(key, [call])
        if part.get("isComplete"):
            # No exit code means a tool that has none: it was completed.
            outcome: Outcome = "error" if code else "ok"
            draft.answer(key, outcome)
    return set()


def _edit_groups(request: Record) -> list[Record]:
    return [part for part in objects_at(request, "response") if part.get("kind") == "textEditGroup"]


def _tell_edits(draft: TranscriptBuilder, request: Record, key: str, told: set[str]) -> None:
    """Tell the edits that no call accounts for."""
    for place, part in enumerate(_edit_groups(request), 1):
        path = chat_uri_path(part.get("uri"))
        if path is None or path in told:
            continue
        batches = part.get("edits")
        edits = [edit for batch in batches for edit in objects_at(batch)] if isinstance(batches, list) else []
        wrote = tuple(line for edit in edits for line in text_lines(text_at(edit, "text") or ""))
        native_id = f"{key}:edit#{place}"
        when = parse_time(request.get("timestamp"))
        draft.ask(native_id, [RawCall("textEdit", native_id=native_id, path=path, occurred_at=when, wrote=wrote)])
        draft.answer(native_id, "ok")


def chat_uri_path(uri: object) -> str | None:
    """The path of a ``file:`` URI, as text or as VS Code's object; None for any other scheme.

    A path inside WSL counts as well: it is this machine's.
    """
    if isinstance(uri, dict):
        # fsPath first: it has the separators and the drive of this machine.
        path = first_text(uri, "fsPath", "path")
        return _drive(path) if path is not None and uri.get("scheme", "file") == "file" else None
    if not isinstance(uri, str):
        return None
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    local = parts.scheme == "file" or (parts.scheme == "vscode-remote" and unquote(parts.netloc).startswith("wsl"))
    return _drive(unquote(parts.path)) if local and parts.path else None


def _drive(path: str) -> str:
    """``/c:/x`` is how a URI spells ``c:/x``."""
    return path[1:] if len(path) > 2 and path[0] == "/" and path[2] == ":" else path
