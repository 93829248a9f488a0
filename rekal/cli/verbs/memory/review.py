"""``rekal review``."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click
import msgspec

from rekal.app import memories, memory_review
from rekal.app.desk import Desk, desk_here
from rekal.app.memory_review import ReviewItem
from rekal.cli.memory_output import memory_row
from rekal.cli.output import ask_for, json_option, one_line, print_line, print_note, print_record, short_id
from rekal.errors import FOUND, NOTHING_FOUND, UsageError
from rekal.memory.events import Amend
from rekal.memory.matchers import FEWEST_EXAMPLES
from rekal.memory.state import Memory

_KEYS = "a accept, r reject, e edit, m merge into another, s skip, q quit"


class ReviewAnswer(msgspec.Struct, frozen=True):
    """Record of ``review --json``: what waits, or with --accept, --reject or --retract what was ruled on.

    ``notes`` say what the patterns of an accepted one hit so far.
    """

    waiting: list[ReviewItem] = []
    ruled: list[Memory] = []
    notes: list[str] = []


@click.command("review")
@click.option("--accept", multiple=True, metavar="ID", help="Accept a memory.")
@click.option("--reject", multiple=True, metavar="ID", help="Reject one: it is kept as ruled out.")
@click.option("--retract", multiple=True, metavar="ID", help="Take one back: gone from recall, kept in its history.")
@click.option("--note", help="Why.")
@click.option("--hits", multiple=True, metavar="TEXT", help="With --accept: a proposal the patterns must hit.")
@click.option("--misses", multiple=True, metavar="TEXT", help="With --accept: a proposal they must leave alone.")
@json_option
def command(
    accept: tuple[str, ...], reject: tuple[str, ...], retract: tuple[str, ...], note: str | None,
    hits: tuple[str, ...], misses: tuple[str, ...], as_json: bool,
) -> int:  # fmt: skip
    """Rule on what agents and reflexes proposed: one by one, a key each.

    Each comes with what its patterns would have hit in the files and in the last commits, what became of the files it
    names, and what it contradicts. Only a person can accept or reject. Patterns are tried before they are accepted, on
    two proposals that they must hit and two that come near: the writer's, or --hits and --misses here.
    """
    desk = desk_here()
    wanted = (
        [("accept", one) for one in accept]
        + [("reject", one) for one in reject]
        + [("retract", one) for one in retract]
    )
    if wanted:
        return _rule(desk, wanted, note, (hits, misses), as_json=as_json)
    waiting = memory_review.review_queue(desk)
    if waiting and sys.stdin.isatty() and not as_json:
        _ask(desk, waiting)
    else:
        print_record(ReviewAnswer(waiting), as_json, _waiting_lines)
    return FOUND if waiting else NOTHING_FOUND


def _rule(
    desk: Desk, wanted: list[tuple[str, str]], note: str | None, examples: tuple[tuple[str, ...], tuple[str, ...]],
    *, as_json: bool,
) -> int:  # fmt: skip
    """One bad id costs that ruling, not the others."""
    ruled, notes, failed = [], [], []
    for ruling, name in wanted:
        try:
            done = memories.review_memory(desk, name, ruling, note, *examples)
            ruled.append(done.memory)
            notes += [f"{short_id(done.memory.id)}: {one}" for one in done.notes]
        except UsageError as problem:
            failed.append(problem)
    print_record(ReviewAnswer([], ruled, notes), as_json, _ruled_lines)
    if failed:
        for other in failed[:-1]:
            print_note(str(other))
        raise failed[-1]
    return FOUND


def _ruled_lines(answer: ReviewAnswer) -> Iterator[str]:
    yield from map(memory_row, answer.ruled)
    yield from (f"  {one_line(note, 400)}" for note in answer.notes)


def _waiting_lines(answer: ReviewAnswer) -> Iterator[str]:
    for item in answer.waiting:
        yield from _item_lines(item)
    if answer.waiting:
        yield "`rekal review --accept ID` and `--reject ID` rule on them"
    else:
        yield "(nothing waits for review)"


def _item_lines(item: ReviewItem) -> Iterator[str]:
    yield memory_row(item.memory, item.grounds.sentence())
    if item.memory.quote:
        yield f'    quotes "{one_line(item.memory.quote, 300)}"'
    if item.memory.matcher:
        yield f"    {one_line(item.trial.sentence(), 400)}"
    for conflict in item.conflicts:
        yield f"    conflict, {conflict.why}: {memory_row(conflict.second)}"


def _ask(desk: Desk, waiting: list[ReviewItem]) -> None:
    for place, item in enumerate(waiting, 1):
        print_line()
        print_line(f"{place} of {len(waiting)}")
        for line in _item_lines(item):
            print_line(line)
        while (done := _answer(desk, item.memory)) is None:
            print_line(_KEYS)
        if done == "q":
            return


def _answer(desk: Desk, memory: Memory) -> str | None:
    """Act on one key; None for a key that means nothing."""
    print_line(f"[{_KEYS}] ", end="")
    key = click.getchar().lower()
    print_line(key)
    try:
        return _rule_on(desk, memory, key)
    except UsageError as error:
        print_note(str(error))
        return None


def _accept(desk: Desk, memory: Memory) -> None:
    hits: list[str] = []
    misses: list[str] = []
    if known := memory.matcher:
        hits = [ask_for("a proposal the patterns must hit") for _ in range(FEWEST_EXAMPLES - len(known.hits))]
        misses = [ask_for("a proposal they must leave alone") for _ in range(FEWEST_EXAMPLES - len(known.misses))]
    for note in memories.review_memory(desk, memory.id, "accept", None, hits, misses).notes:
        print_line(f"  {one_line(note, 400)}")


def _rule_on(desk: Desk, memory: Memory, key: str) -> str | None:
    match key:
        case "a":
            _accept(desk, memory)
        case "r":
            memories.review_memory(desk, memory.id, "reject", ask_for("why", "") or None)
        case "e":
            text = ask_for("text", memory.text)
            memories.amend_memory(desk, memory.id, Amend(text=text))
            _accept(desk, memory)
        case "m":
            memories.merge_memory(desk, memory.id, ask_for("into which memory"))
        case "s" | "q":
            return key
        case _:
            return None
    return key
