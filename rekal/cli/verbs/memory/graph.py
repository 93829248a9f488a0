"""``rekal graph``."""

from __future__ import annotations

from collections.abc import Iterator

import click
import msgspec

from rekal.app import memory_graph
from rekal.app.desk import desk_here
from rekal.app.memory_graph import Ends, NewEntity, NewObservation
from rekal.cli.memory_output import parse_moment
from rekal.cli.output import format_day, json_option, one_line, print_record, short_id
from rekal.errors import FOUND, NOTHING_FOUND, UsageError
from rekal.memory.events import Reflect, StartConversation
from rekal.memory.graph import Graph, GraphEntity, search_graph

_ACTIONS = {
    "show": "[NAME]...", "search": "TEXT", "add": "NAME [TYPE]", "observe": "NAME TEXT", "unobserve": "NAME TEXT",
    "status": "NAME STATUS", "relate": "NAME TYPE NAME", "unrelate": "NAME TYPE NAME", "end": "RELATION",
    "drop": "NAME...", "reflect": "TEXT", "conversation": "[TITLE]",
}  # fmt: skip


@click.command("graph")
@click.argument("action", type=click.Choice(list(_ACTIONS)), default="show")
@click.argument("words", nargs=-1)
@click.option("--personal", is_flag=True, help="The person's own graph.")
@click.option("--as-of", "as_of", help="As the world was then.")
@click.option("--known-at", "known_at", help="As the store knew it then.")
@json_option
def command(
    action: str, words: tuple[str, ...], personal: bool, as_of: str | None, known_at: str | None, as_json: bool
) -> int:
    """The knowledge graph: entities with observations, relations between them, reflections, conversations.

    \b
    rekal graph [show NAME...]             rekal graph search TEXT
    rekal graph add NAME [TYPE]            rekal graph status NAME STATUS
    rekal graph observe NAME TEXT          rekal graph unobserve NAME TEXT
    rekal graph relate NAME TYPE NAME      rekal graph unrelate NAME TYPE NAME
    rekal graph end RELATION               rekal graph drop NAME...
    rekal graph reflect TEXT               rekal graph conversation [TITLE]
    """
    if action not in ("show", "search"):
        _change_graph(action, words, personal=personal)
    desk = desk_here()
    held = memory_graph.read_graph(
        desk, personal=personal, as_of=parse_moment(as_of, end=True), known_at=parse_moment(known_at, end=True)
    )
    shown = _narrowed(held, action, words)
    print_record(shown, as_json, _relation_lines)
    return FOUND if shown.entities or shown.reflections or shown.conversations else NOTHING_FOUND


def _change_graph(action: str, words: tuple[str, ...], *, personal: bool) -> None:
    desk = desk_here()
    match action, words:
        case "add", (name, *more) if len(more) < 2:
            memory_graph.put_entities(desk, [NewEntity(name, more[0] if more else "")], personal=personal)
        case "status", (name, status):
            memory_graph.set_entity(desk, name, status=status, personal=personal)
        case "observe", (name, text):
            memory_graph.observe(desk, [NewObservation(name, text)], personal=personal)
        case "unobserve", (name, text):
            if not memory_graph.remove_observations(desk, [NewObservation(name, text)], personal=personal):
                raise UsageError(f"{name} has no such observation", "`rekal graph show` prints them")
        case "relate", (source, type_, target):
            memory_graph.relate(desk, [Ends(source, target, type_)], personal=personal)
        case "unrelate", (source, type_, target):
            if not memory_graph.unrelate(desk, [Ends(source, target, type_)], personal=personal):
                raise UsageError("there is no such relation", "`rekal graph show` prints them")
        case "end", (relation,):
            memory_graph.end_relation(desk, relation, personal=personal)
        case "drop", (_, *_):
            gone = memory_graph.remove_entities(desk, words, personal=personal)
            if missing := [name for name in words if name not in gone]:
                raise UsageError(f"there is no entity {', '.join(missing)}", f"{len(gone)} were removed")
        case "reflect", (text,):
            memory_graph.reflect(desk, Reflect(text=text), personal=personal)
        case "conversation", (*title,) if len(title) < 2:
            memory_graph.start_conversation(
                desk, StartConversation(title=title[0] if title else None), personal=personal
            )
        case _:
            raise UsageError(f"`graph {action}` takes other words", f"write `rekal graph {action} {_ACTIONS[action]}`")


def _narrowed(held: Graph, action: str, words: tuple[str, ...]) -> Graph:
    """For ``show NAME...`` and ``search TEXT``: these entities and the relations that touch them."""
    if action not in ("show", "search") or not words:
        return held
    found = search_graph(held, " ".join(words)) if action == "search" else [e for e in held.entities if e.name in words]
    names = {one.name for one in found}
    relations = tuple(one for one in held.relations if {one.source, one.target} & names)
    return msgspec.structs.replace(Graph(), entities=tuple(found), relations=relations)


def _relation_lines(shown: Graph) -> Iterator[str]:
    for one in shown.entities:
        yield from _entity_lines(one)
    for relation in shown.relations:
        ended = f"  until {format_day(relation.ended_at)}" if relation.ended_at else ""
        ends = f"{one_line(relation.source, 60)} --{one_line(relation.type, 40)}--> {one_line(relation.target, 60)}"
        yield f"{short_id(relation.id)}  {ends}{ended}"
    for said in shown.reflections:
        who = f"{format_day(said.created_at)}  {one_line(said.author, 40)}"
        yield f"{short_id(said.id)}  {who}  {one_line(said.text, 200)}"
    for talk in shown.conversations:
        yield f"{short_id(talk.id)}  {format_day(talk.started_at)}  conversation  {one_line(talk.title or '', 80)}"
    if not (shown.entities or shown.reflections or shown.conversations):
        yield "(nothing)"


def _entity_lines(one: GraphEntity) -> Iterator[str]:
    kind = ", ".join(part for part in (one.type, one.status) if part)
    yield f"{one_line(one.name, 80)}{f' ({one_line(kind, 60)})' if kind else ''}"
    for seen in one.observations:
        replaced = f"  (replaced {format_day(seen.replaced_at)})" if seen.replaced_at else ""
        yield f"    {one_line(seen.text, 200)}{replaced}"
