"""Memories: the queue to rule on, the list, one with its history, and the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import msgspec

from rekal.app import memories, memory_review
from rekal.app.desk import Desk
from rekal.app.memories import MemoryQuery, list_conflicts, list_memories, memory_history
from rekal.app.memory_graph import read_graph
from rekal.app.memory_review import ReviewItem
from rekal.app.memory_views import find_memory
from rekal.app.read_ledger import ShownSession, show_sessions
from rekal.errors import Refused, UsageError
from rekal.memory.events import Amend, MemoryType
from rekal.memory.graph import search_graph
from rekal.memory.matchers import missing_examples
from rekal.memory.state import STATES, Memory
from rekal.web import plots
from rekal.web.pages.asked import Asked, PageView, Route
from rekal.web.render import memory_link, shorten, with_query

_LISTED = 50  # memories a page
_WAITING = 30  # names shown of those that wait
_DRAWN = 80  # entities drawn
_NAMED = 200  # entities listed
_LONGEST = 20_000  # turns of one session
_AROUND = 2  # turns shown before the one that a memory cites


def _review_page(asked: Asked, message: str = "") -> PageView:
    desk = asked.place.desk()
    waiting = memory_review.list_waiting(desk)
    chosen = asked.word("at")
    at = next((n for n, one in enumerate(waiting) if chosen and one.id.startswith(chosen)), 0)
    one = waiting[at] if waiting else None
    after = waiting[(at + 1) % len(waiting)] if len(waiting) > 1 else None
    fields = {
        "section": "review", "title": "Review", "m": one, "place": at + 1, "total": len(waiting),
        "others": [other for other in waiting if other is not one][:_WAITING],
        "next": with_query("/review", at=after.id) if after else "", "message": message,
        "cited": _cited_turns(asked, one) if one else None,
        "lacking": missing_examples(one.matcher) if one and one.matcher else "",
        "may_rule": desk.actor.kind == "human",
    }  # fmt: skip
    return PageView("review.html", fields, 400 if message else 200)


def _cited_turns(asked: Asked, memory: Memory) -> ShownSession | None:
    """The turns that a memory rests on; None where it cites none, or they are not in the store.

    A memory that cites a session as a whole, or a commit, rests on the last turns that had been said by then.
    """
    session, mark, turn = (memory.source or "").partition("#")
    if not session or (mark and (not turn.isdigit() or len(turn) > 9)):
        return None
    first, count = (max(0, int(turn) - _AROUND), _AROUND + 1) if mark else (0, _LONGEST)
    try:
        found = show_sessions(asked.place.app(), session, first, count)
    except UsageError:  # the log may cite what was never captured here
        return None
    if not found or mark:
        return found[0] if found else None
    whole = found[0].session
    by_then = [one for one in whole.turns if one.occurred_at is None or one.occurred_at <= memory.occurred_at]
    last = msgspec.structs.replace(whole, turns=by_then[-_AROUND - 1 :])
    return msgspec.structs.replace(found[0], session=last)


def _trial_part(asked: Asked) -> PageView:
    """Patterns held against files and commits, and what became of the grounds: git is asked, so it comes after."""
    desk = asked.place.desk()
    item: ReviewItem = memory_review.prepare_item(desk, find_memory(desk, asked.path["name"]))
    fields = {"section": "review", "title": "Review", "item": item}
    return PageView("trial.html" if asked.fragment else "trial_page.html", fields)


def _rule_on_one(asked: Asked) -> PageView:
    desk, name = asked.place.desk(), asked.path["name"]
    act = _RULINGS.get(asked.word("ruling"))
    try:
        if act is None:
            raise UsageError("that is no ruling", "accept, reject, edit or merge")
        act(desk, name, asked)
    except (UsageError, Refused) as error:
        return _review_page(msgspec.structs.replace(asked, query={"at": name}), str(error))
    back = asked.word("back")
    return PageView(see=memory_link(name) if back == "memory" else with_query("/review", at=asked.word("then")))


def _lines_of(asked: Asked, name: str) -> list[str]:
    return [line.strip() for line in asked.word(name).splitlines() if line.strip()]


def _accept_one(desk: Desk, name: str, asked: Asked) -> None:
    memories.review_memory(
        desk, name, "accept", asked.word("note") or None, _lines_of(asked, "hits"), _lines_of(asked, "misses")
    )


def _reject_one(desk: Desk, name: str, asked: Asked) -> None:
    memories.review_memory(desk, name, "reject", asked.word("note") or None)


def _retract_one(desk: Desk, name: str, asked: Asked) -> None:
    memories.review_memory(desk, name, "retract", asked.word("note") or None)


def _edit_one(desk: Desk, name: str, asked: Asked) -> None:
    """Change the text, and accept it: a person's words need no further ruling."""
    text = asked.word("text")
    if not text:
        raise UsageError("there is no text", "write what is to be remembered")
    if text != find_memory(desk, name).text:
        memories.amend_memory(desk, name, Amend(text=text))
    _accept_one(desk, name, asked)


def _merge_one(desk: Desk, name: str, asked: Asked) -> None:
    memories.merge_memory(desk, name, asked.word("into"))


_RULINGS: dict[str, Callable[[Desk, str, Asked], None]] = {
    "accept": _accept_one, "reject": _reject_one, "retract": _retract_one, "edit": _edit_one, "merge": _merge_one,
}  # fmt: skip


def _memories_page(asked: Asked) -> PageView:
    desk = asked.place.desk()
    state, kind, text, path = (asked.word(name) for name in ("state", "type", "text", "path"))
    states = tuple(one for one in STATES if state in (one, "all"))
    offset = asked.number("offset")
    found = list_memories(
        desk, MemoryQuery(states=states, types=(kind,) if kind else (), text=text or None, path=path or None, limit=-1)
    )
    chosen = {"state": state, "type": kind, "text": text, "path": path}
    fields = {
        "section": "memories", "title": "Memories", "chosen": chosen, "states": STATES,
        "types": get_args(MemoryType), "total": found.total,
        "unreadable": found.unreadable, "memories": found.memories[offset : offset + _LISTED],
        "conflicts": list_conflicts(desk)[:20] if not any(chosen.values()) and not offset else [],
        "older": with_query("/memories", **chosen, offset=offset + _LISTED) if found.total > offset + _LISTED else "",
        "newer": with_query("/memories", **chosen, offset=max(0, offset - _LISTED)) if offset else "",
    }  # fmt: skip
    return PageView("memories.html", fields)


def _memory_page(asked: Asked) -> PageView:
    desk = asked.place.desk()
    found = memory_history(desk, asked.path["name"])
    fields = {
        "section": "memories", "title": shorten(found.memory.text, 60), "m": found.memory,
        "events": found.events[-200:], "links": found.links, "chain": found.chain,
        "cited": _cited_turns(asked, found.memory),
        "conflicts": [one for one in list_conflicts(desk) if found.memory.id in (one.first.id, one.second.id)],
        "may_rule": desk.actor.kind == "human",
    }  # fmt: skip
    return PageView("memory.html", fields)


def _graph_page(asked: Asked) -> PageView:
    graph = read_graph(asked.place.desk())
    text, name = asked.word("text"), asked.word("name")
    entities = list(search_graph(graph, text)) if text else list(graph.entities)
    if name:
        near = {name} | {one.target for one in graph.relations if one.source == name}
        near |= {one.source for one in graph.relations if one.target == name}
        entities = [one for one in graph.entities if one.name in near]
    degree: dict[str, int] = {}
    for relation in graph.relations:
        for end in (relation.source, relation.target):
            degree[end] = degree.get(end, 0) + 1
    # The ones with most relations: a drawing of all of a large graph shows nothing.
    drawn = sorted(entities, key=lambda one: (-degree.get(one.name, 0), one.name))[:_DRAWN]
    names = {one.name for one in entities[:_NAMED]}
    relations = [one for one in graph.relations if one.source in names or one.target in names]
    ends = [(r.source, r.target, f"{r.source} {r.type} {r.target}", r.ended_at is not None) for r in relations]
    fields = {
        "section": "graph", "title": "Graph", "text": text, "name": name, "total": len(graph.entities),
        "entities": entities[:_NAMED], "relations": relations[:_NAMED],
        "drawing": plots.lay_out_graph([o.name for o in drawn], ends, [len(o.observations) for o in drawn]),
        "reflections": graph.reflections[-20:][::-1], "conversations": graph.conversations[-20:][::-1],
    }  # fmt: skip
    return PageView("graph.html", fields)


ROUTES: tuple[Route, ...] = (
    ("GET", "/review", _review_page),
    ("GET", "/review/{name}/trial", _trial_part),
    ("POST", "/review/{name}", _rule_on_one),
    ("GET", "/memories", _memories_page),
    ("GET", "/memory/{name}", _memory_page),
    ("GET", "/graph", _graph_page),
)
