"""The profile ``core``: six tools that cost an agent little to know and little to read."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

from rekal.app.ask_question import AskedQuestion, ask_question, note_shown
from rekal.app.context import parse_handle
from rekal.app.explain_lines import explain_target
from rekal.app.memories import remember, review_memory
from rekal.app.memory_check import check_proposal
from rekal.app.read_ledger import show_sessions
from rekal.mcp.tools import SHORTEST_ID, AgentCall, Tool, ToolAnswer, fail, say
from rekal.memory.events import MEMORY_TYPES, MemoryType
from rekal.memory.matchers import matcher_from
from rekal.memory.write import NewMemory
from rekal.plain_text import clean_line, fence_lines
from rekal.recall.answer import Answer, Hit
from rekal.store.usage_log import CHARACTERS_OF_A_TOKEN, add_use

BUDGET = 1_500  # tokens of a recall unless the caller says otherwise
_MOST_BUDGET = 1_800
_MOST_TURNS = 60
_PAGE = 8_000  # characters of a page of a session
_ELSEWHERE = (
    "there is no repository with a rekal store here; memories go to your personal store (`rekal init` makes one)"
)
Fields = dict[str, Any]


def flat_text(text: str, limit: int) -> str:
    """``text`` on one line without hidden characters, cut to ``limit`` characters."""
    flat = " ".join(clean_line(text).split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


def _write_lines(lines: list[str]) -> str:
    """``lines`` as an answer: whatever name stands in one of them, it stays one line."""
    return "\n".join(map(clean_line, lines))


def _fence(lines: list[str], whose: str) -> list[str]:
    """``lines`` between marks that nobody can foresee; none where there are none."""
    return list(fence_lines(lines, whose)) if lines else []


def _day(when: datetime | None) -> str:
    return when.strftime("%Y-%m-%d") if when else "undated"


def _core_recall(call: AgentCall) -> ToolAnswer:
    if call.desk.app is None:
        return fail(_ELSEWHERE)
    question = AskedQuestion(
        text=call.text("question"),
        file=call.text("file") or None,
        since=call.text("since") or None,
        limit=call.number("limit", 5, 20),
        budget=max(50, call.number("budget", BUDGET, _MOST_BUDGET)),
    )
    answer = ask_question(call.desk.app, question)
    note_shown(call.desk.app, answer)
    text = write_answer_text(answer)
    add_use(call.desk.app.layout.usage, "recall", answer.verdict, len(text) // CHARACTERS_OF_A_TOKEN)
    return say(text)


def write_answer_text(answer: Answer) -> str:
    """A recall's answer as text: the verdict, memories, turns with their handles, words that nothing covers."""
    lines: list[str] = []
    for row in answer.memories or ():
        because = f" because {flat_text(row.because, 160)}" if row.because else ""
        instead = f"; instead: {flat_text(row.instead, 160)}" if row.instead else ""
        ground = f" [{row.grounds}]" if row.grounds and row.grounds != "fresh" else ""
        lines.append(
            f"{row.label} {row.id[:10]} {_day(row.occurred_at)} {flat_text(row.actor, 40)}, {row.state}: "
            f"{flat_text(row.text, 300)}{because}{instead}{ground}"
        )
    for hit in answer.sessions:
        lines += _core_hit_lines(hit)
    for chunk in answer.documents or ():
        sender = f" from {flat_text(chunk.sender, 40)}" if chunk.sender else ""
        place = flat_text(chunk.location, 120)
        lines.append(f'document {place} {_day(chunk.occurred_at)}{sender}: "{flat_text(chunk.text, 600)}"')
    for passage in answer.knowledge[:3]:
        lines.append(f"file {passage.path}:{passage.start}-{passage.end}")
        if answer.verdict == "KNOWLEDGE":
            lines.append(f'  "{flat_text(passage.text, 400)}"')
    if answer.uncovered:
        lines.append(f"uncovered: {', '.join(flat_text(word, 40) for word in answer.uncovered)}")
    lines += [f"note: {flat_text(note, 200)}" for note in answer.notes if "behind" in note or "left out" in note]
    head = f"{answer.verdict} {answer.reason}".strip()
    return _write_lines([head, *_fence(lines, "words of past sessions")])


def _core_hit_lines(hit: Hit) -> list[str]:
    whose = "" if hit.origin == "local" else " (a teammate's)"
    place = f"{hit.branch or '-'}" + (f"@{hit.commits[0][:8]}" if hit.commits else "")
    out = []
    for row in hit.rows:
        who = hit.author_name if row.role in ("human", "steering") else hit.agent
        handle = f"{hit.session_id[:10]}:{row.seq}"
        out.append(
            f'{handle} {_day(row.occurred_at)} {flat_text(who, 40)}{whose} {place}: "{flat_text(row.text, 600)}"'
        )
    return out


def _core_read_session(call: AgentCall) -> ToolAnswer:
    if call.desk.app is None:
        return fail(_ELSEWHERE)
    name, turn = parse_handle(call.text("session"))
    count = max(1, call.number("count", 20, _MOST_TURNS))
    first = call.number("first", 0 if turn is None else max(0, turn - 3), 10**6)
    found = show_sessions(call.desk.app, name, first, count)
    if not found:
        return fail(f"nothing is known as {flat_text(name, 60)}")
    lines: list[str] = []
    for one in found:
        s = one.session
        lines.append(f"{s.id[:10]} {s.agent} for {s.author_name}, {s.branch or '-'}, {one.total_turns} turns")
        lines += [f"commit {c.git_sha[:10]} {flat_text(c.subject or '', 80)}" for c in one.checkpoints[:5]]
        for said in s.turns:
            row = f"{s.id[:10]}:{said.seq} {_day(said.occurred_at)} {said.role}: {flat_text(said.content, 1_500)}"
            if sum(map(len, lines)) + len(row) > _PAGE:
                lines.append(f"cut here: go on with first={said.seq}")
                break
            lines.append(row)
        else:
            lines += [f"more: go on with first={first + count}"] if one.truncated else []
    return say(_write_lines(_fence(lines, "words of a past session")))


def _why(call: AgentCall) -> ToolAnswer:
    if call.desk.app is None:
        return fail(_ELSEWHERE)
    answer = explain_target(call.desk.app, call.text("target"))
    head = f"{answer.recorded} of {answer.lines} lines have a record" if answer.path else f"commit {answer.target}"
    lines: list[str] = []
    for one in answer.reasons[:6]:
        place = f"lines {one.first}-{one.last}: " if one.first else ""
        commit = f"{(one.commit or '')[:10]} {flat_text(one.subject or '', 80)}"
        lines.append(f"{place}{one.level} {commit}".rstrip())
        if one.session_id:
            lines.append(f"  turn {one.session_id[:10]}:{one.turn} by {one.agent or 'an agent'}")
        if one.prompt is not None:
            answers = f' to: "{flat_text(one.prompt.answers, 300)}"' if one.prompt.answers else ""
            lines.append(f'  asked: "{flat_text(one.prompt.text, 400)}"{answers}')
        if one.because is not None:
            label = "because" if one.because.kind == "reason" else one.because.kind
            lines.append(f'  {label}: "{flat_text(one.because.text, 400)}"')
    return say(_write_lines([head, *_fence(lines, "words of past sessions")]))


def _check(call: AgentCall) -> ToolAnswer:
    checked = check_proposal(call.desk, call.text("plan"), call.texts("files"))
    lines: list[str] = []
    for one in checked.findings:
        rule = one.finding.memory
        because = f" because {flat_text(rule.because, 200)}" if rule.because else ""
        instead = f"; instead: {flat_text(rule.instead, 200)}" if rule.instead else ""
        lines.append(
            f"{one.finding.level} {rule.id[:10]} {_day(rule.occurred_at)} {flat_text(rule.actor, 40)}, {rule.state}: "
            f"{flat_text(rule.text, 300)}{because}{instead} ({one.finding.because})"
        )
    return say(_write_lines([checked.level, *_fence(lines, "words of memories")]))


def _core_remember(call: AgentCall) -> ToolAnswer:
    kind = call.text("type", "note")
    new = NewMemory(
        text=call.text("text"),
        type=cast(MemoryType, kind),
        because=call.text("because") or None,
        instead=call.text("instead") or None,
        tags=tuple(call.texts("tags")),
        matcher=matcher_from(call.texts("when"), (), (), ()) or None,
    )
    made = remember(call.desk, new)
    lines = [f"{made.memory.state} {made.memory.id[:10]} ({made.memory.type})"]
    lines += [f"note: {note}" for note in made.notes]
    lines += [f"{one.why} {one.second.id[:10]}: {flat_text(one.second.text, 200)}" for one in made.conflicts[:5]]
    return say(_write_lines(lines))


def _core_forget(call: AgentCall) -> ToolAnswer:
    if len(call.text("memory")) < SHORTEST_ID:
        return fail(f"{call.text('memory')} is too short for an id; give {SHORTEST_ID} characters or more")
    held = review_memory(call.desk, call.text("memory"), "retract", call.text("note") or None).memory
    return say(f"{held.state} {held.id[:10]}; it stays in the log")


def _args(required: tuple[str, ...], **properties: Fields) -> Fields:
    return {"type": "object", "properties": properties, "required": list(required)}


def _arg(words: str) -> Fields:
    return {"type": "string", "description": words}


def _arg_list(words: str) -> Fields:
    return {"type": "array", "items": {"type": "string"}, "description": words}


def core_tools() -> list[Tool]:
    """The six tools, with flat schemas that every client takes."""
    # Long because it is a table: one entry a tool.
    number = {"type": "integer", "minimum": 0}
    reads = {"readOnlyHint": True, "openWorldHint": False}
    adds = {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False}
    entries = [
        (
            "recall",
            "Ask what past sessions and memories of this repository know. INJECT: rows that bear on it. KNOWLEDGE: "
            "read the file. SILENCE: nothing is known, go on without.",
            _args(
                ("question",), question=_arg("A question in plain words"),
                file=_arg("Only what touched this path"),
                since=_arg("Only from this date or age on: 2026-03-01, 30d"), limit=number,
                budget={**number, "description": "Tokens of the answer, at most 1800"},
            ),
            reads, _core_recall,
        ),
        (
            "read_session", "Read turns of a session that recall named, a page at a time.",
            _args(
                ("session",), session=_arg("Handle as recall gives it, 32p486y8k2 or 32p486y8k2#3, or a commit"),
                first={**number, "description": "First turn"}, count={**number, "description": "Turns at most"},
            ),
            reads, _core_read_session,
        ),
        (
            "why", "Find the turn that wrote lines of a file, or led to a commit.",
            _args(("target",), target=_arg("FILE:LINE, FILE:LINE-LINE, FILE or a commit")), reads, _why,
        ),
        (
            "check",
            "Hold what you are about to do against decisions and ruled-out approaches, before you propose it. "
            "RULED-OUT: do not. CONSULT: judge by these. CLEAR: nothing bears on it.",
            _args(("plan",), plan=_arg("The approach, command or diff"), files=_arg_list("Files it touches")),
            reads, _check,
        ),
        (
            "remember", "Keep a decision, a dead end or a fact for later sessions. A person accepts it afterwards.",
            _args(
                ("text",), text=_arg("One or two sentences; of a dead end, the approach"),
                type={"type": "string", "enum": list(MEMORY_TYPES)}, because=_arg("The reason"),
                instead=_arg("What to do instead"), tags=_arg_list("Tags"),
                when=_arg_list("Of a dead end: regular expressions of its code, such as `import redis`"),
            ),
            adds, _core_remember,
        ),
        (
            "forget", "Take a memory back.",
            _args(("memory",), memory=_arg("Its id"), note=_arg("The reason")),
            {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False}, _core_forget,
        ),
    ]  # fmt: skip
    return [
        Tool({"name": name, "description": words, "inputSchema": schema, "annotations": hints}, run, hints is not reads)
        for name, words, schema, hints, run in entries
    ]
