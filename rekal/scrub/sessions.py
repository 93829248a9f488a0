"""The choke point: the only place that turns a raw transcript into a session."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeVar

from rekal import ids
from rekal.model import Author, Edit, RawCall, RawTurn, Session, ToolCall, Transcript, Turn
from rekal.plain_text import lazy_pattern
from rekal.scrub.scrubber import Finding, Scrubber
from rekal.scrub.secrets import KINDS

TITLE_LENGTH = 200
COMMAND_LENGTH = 200
EXCERPT_LENGTH = 400

_Key = TypeVar("_Key")
_INJECTED = lazy_pattern(r"(?s)(?:<|&lt;)rekal-memory\b.*?(?:<|&lt;)/rekal-memory(?:>|&gt;)[ \t]*\n?")
_ALL_PRIVATE = lazy_pattern(r"(?:\s*\[redacted:private\])+\s*\Z")
_CUT_MARKER = lazy_pattern(r"\[redacted:[a-z0-9\-]*\Z|\[(?:r(?:e(?:d(?:a(?:c(?:t(?:e(?:d)?)?)?)?)?)?)?)?\Z")
_PREFIXED = frozenset(kind.name for kind in KINDS if kind.by_prefix)
_TOKEN_BODY = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.="
_NEXT_HEAD = lazy_pattern(r"\s*(?P<head>[A-Za-z0-9_\-.=]{8,})")
# Words have no digits and at most one capital inside (JavaScript). After a token that is whole, a word is a word.
_SCRAMBLED = lazy_pattern(r"[0-9]|[a-z][A-Z].*[a-z][A-Z]")
# Longer than any token: what lies further from the border belongs to none that crosses it.
_REACH = 1024


def scrub_session(
    scrubber: Scrubber, transcript: Transcript, author: Author, *, root: str | None = None, branch: str | None = None
) -> Session:
    """Scrub every string of ``transcript`` and give it its ids.

    ``cwd`` becomes relative to ``root``, the session's work tree. ``branch`` overrides the transcript's first branch.
    Turns that are empty after scrubbing, or all private, are dropped and their calls pass to the turn before. Ids are
    derived from scrubbed text, so that none is a secret's hash, and from raw native ids: the same on every machine.
    """
    session_id = ids.session_id(transcript.agent, transcript.native_id, author.email)
    turns, places = _scrub_turns(scrubber, transcript, session_id)
    calls = _scrub_calls(scrubber, transcript, session_id, places)

    def other(native_id: str | None) -> str | None:
        return None if native_id is None else ids.session_id(transcript.agent, native_id, author.email)

    def maybe(text: str | None) -> str | None:
        return None if text is None else scrubber.text(text)

    return Session(
        id=session_id,
        agent=transcript.agent,
        native_id=scrubber.text(transcript.native_id),
        author_name=author.name,
        author_email=author.email,
        parent_id=other(transcript.parent_native_id),
        forked_from=other(transcript.forked_from),
        actor=transcript.actor,
        agent_type=maybe(transcript.agent_type),
        description=maybe(transcript.description),
        spawn_depth=transcript.spawn_depth,
        branch=maybe(branch if branch is not None else next(iter(transcript.branches), None)),
        cwd=maybe(_relative_cwd(next(iter(transcript.cwds), None), root)),
        model=maybe(transcript.model),
        title=_scrub_title(scrubber, transcript),
        started_at=transcript.started_at,
        turns=turns,
        tool_calls=calls,
        edits=_scrub_edits(scrubber, transcript, calls),
    )


def _relative_cwd(cwd: str | None, root: str | None) -> str | None:
    if cwd is None or root is None:
        return cwd
    parts, above = (re.split(r"[/\\]+", path.rstrip("/\\")) for path in (cwd, root))
    if parts[: len(above)] != above:
        return cwd
    return "/".join(parts[len(above) :]) or "."


def _scrub_title(scrubber: Scrubber, transcript: Transcript) -> str | None:
    """The title, at most :data:`TITLE_LENGTH` characters; one cut from a prompt is scrubbed as its whole line."""
    title = transcript.title
    if title is None:
        return None
    lines = (turn.content.strip().split("\n", 1)[0] for turn in transcript.turns)
    whole = next((line for line in lines if line.startswith(title)), title) if title else title
    said = _scrub_and_cut(scrubber, whole, TITLE_LENGTH)
    return None if _ALL_PRIVATE.match(said) else said


def drop_injected_blocks(text: str) -> str:
    """``text`` without the blocks that rekal itself gave the agent: its own answers are no new evidence.

    Here and not in an adapter: any host may write down what its hooks were answered, and Gemini escapes the brackets.
    """
    return _INJECTED.sub("", text) if "rekal-memory" in text else text


def _scrub_turns(scrubber: Scrubber, transcript: Transcript, session_id: str) -> tuple[tuple[Turn, ...], list[int]]:
    """The turns that are not empty, and for each raw turn the place of the last kept turn up to it."""
    turns: list[Turn] = []
    places: list[int] = []
    seen: Counter[tuple[str, str]] = Counter()
    contents = _without_split_tokens(scrubber, [drop_injected_blocks(raw.content) for raw in transcript.turns])
    for raw, unscrubbed in zip(transcript.turns, contents, strict=True):
        content = scrubber.text(unscrubbed)
        if content.strip() and not _ALL_PRIVATE.match(content):
            uid = _turn_uid(transcript.agent, session_id, raw, content, seen)
            model = None if raw.model is None else scrubber.text(raw.model)
            turns.append(Turn(len(turns), uid, raw.role, content, raw.occurred_at, model))
        places.append(len(turns) - 1)
    return tuple(turns), places


def _turn_uid(agent: str, session_id: str, raw: RawTurn, content: str, seen: Counter[tuple[str, str]]) -> str:
    if raw.native_id:
        return _native_uid("turn", agent, session_id, raw)
    nth = 0 if raw.role == "steering" else _count_before(seen, (raw.role, content))
    return ids.derive("turn", session_id, raw.role, content, str(nth))


def _native_uid(kind: str, agent: str, session_id: str, raw: RawTurn | RawCall) -> str:
    return ids.derive(kind, agent if raw.shared else session_id, raw.native_id or "")


def _count_before(seen: Counter[_Key], key: _Key) -> int:
    seen[key] += 1
    return seen[key] - 1


def _scrub_calls(
    scrubber: Scrubber, transcript: Transcript, session_id: str, places: list[int]
) -> tuple[ToolCall, ...]:
    calls: list[ToolCall] = []
    seen: Counter[tuple[str, str, str]] = Counter()
    for raw in transcript.calls:
        tool = scrubber.text(raw.tool)
        path = None if raw.path is None else scrubber.text(raw.path)
        command = None if raw.command is None else _scrub_and_cut(scrubber, raw.command, COMMAND_LENGTH)
        if raw.native_id:
            uid = _native_uid("call", transcript.agent, session_id, raw)
        else:
            key = (tool, path or "", command or "")
            uid = ids.derive("call", session_id, *key, str(_count_before(seen, key)))
        turn = places[raw.turn] if 0 <= raw.turn < len(places) else -1
        excerpt = _scrub_excerpt(scrubber, raw)
        calls.append(ToolCall(len(calls), uid, turn, tool, path, command, raw.outcome, excerpt, raw.occurred_at))
    return tuple(calls)


def _scrub_excerpt(scrubber: Scrubber, raw: RawCall) -> str | None:
    if raw.excerpt is None or raw.outcome != "error" or scrubber.rules.tool_output == "none":
        return None
    # Ten times what is kept: enough that the second cut, not this one, decides what a secret at the edge looks like.
    return _scrub_and_cut(scrubber, raw.excerpt[: 10 * EXCERPT_LENGTH], EXCERPT_LENGTH)


def _scrub_and_cut(scrubber: Scrubber, text: str, length: int) -> str:
    """``text`` scrubbed and then cut to ``length`` characters, so that no cut hides half a secret from the scrubber."""
    whole = scrubber.text(text)
    cut = _cut_text(whole, length)
    while cut != whole and (again := _cut_text(scrubber.text(cut), length)) != cut:
        cut = again
    return cut


def _cut_text(text: str, length: int) -> str:
    return text if len(text) <= length else _CUT_MARKER.sub("", text[:length])


def _scrub_edits(scrubber: Scrubber, transcript: Transcript, calls: tuple[ToolCall, ...]) -> tuple[Edit, ...]:
    edits: list[Edit] = []
    for raw, call in zip(transcript.calls, calls, strict=True):
        if raw.wrote and call.path is not None:
            edits.append(Edit(len(edits), call.seq, call.path, _line_hashes(scrubber, raw.wrote)))
    return tuple(edits)


def _without_findings(lines: tuple[str, ...], findings: list[Finding]) -> Iterator[str]:
    """Yield the lines of a text that none of its ``findings`` touches."""
    start = 0
    for line in lines:
        end = start + len(line)
        if not any(left < end and start < right for _, left, right in findings):
            yield line
        start = end + 1


def _line_hashes(scrubber: Scrubber, lines: tuple[str, ...]) -> tuple[int, ...]:
    """Hashes of the lines without findings: the hash of a line with a short password could be guessed."""
    findings = scrubber.find("\n".join(lines))
    kept = _without_findings(lines, findings) if findings else lines
    return tuple(hashed for line in kept if (hashed := ids.line_hash(line)) is not None)


def _without_split_tokens(scrubber: Scrubber, texts: Sequence[str]) -> list[str]:
    """``texts`` with both parts of every token redacted that ends one text and goes on at the start of the next.

    Only tokens with a telling prefix are known by their halves.
    """
    out = list(texts)
    for after in range(1, len(out)):
        before, text = out[after - 1].rstrip(), out[after]
        head = _NEXT_HEAD.match(text)
        if head and before:
            near = before[-_REACH:]
            tail = near[len(near.rstrip(_TOKEN_BODY)) :]
            kind, left, right = _crossing(scrubber, tail, head["head"][:_REACH]) if tail else ("", 0, 0)
            if left:
                out[after - 1] = f"{before[:-left]}[redacted:{kind}]"
                out[after] = f"[redacted:{kind}]{text[head.start('head') + right :]}"
    return out


def _crossing(scrubber: Scrubber, tail: str, head: str) -> tuple[str, int, int]:
    """The kind of the token that crosses from ``tail`` to ``head`` and how many characters of each are its; or none."""
    for kind, start, end in scrubber.find(tail + head):
        if kind in _PREFIXED and start < len(tail) < end:
            unfinished = _SCRAMBLED.search(tail) and not scrubber.find(tail)
            if unfinished or _SCRAMBLED.search(head):
                return kind, len(tail) - start, end - len(tail)
    return "", 0, 0
