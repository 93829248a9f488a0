"""``rekal dream``."""

from __future__ import annotations

from collections.abc import Iterator

import click
import msgspec

from rekal.app.desk import desk_here
from rekal.app.documents.dream import DreamAnswer, make_cards
from rekal.cli.output import count_of, json_option, print_record
from rekal.documents.cards import describe_card
from rekal.errors import FOUND, NOTHING_FOUND


@click.command("dream")
@click.argument("name", nargs=-1)
@click.option("--dry-run", is_flag=True, help="Show the cards, and keep none.")
@json_option
def command(name: tuple[str, ...], dry_run: bool, as_json: bool) -> int:
    """Make cards of the people and things that facts tell of; with NAME show the cards of that name.

    A card is made of facts that a person accepted and of those taken out of documents, at most 40 of the newest, each
    with what it rests on. Contradictions are listed, not resolved. Cards answer no recall.
    """
    answer = make_cards(desk_here(), dry_run=dry_run)
    wanted = " ".join(name).casefold()
    if wanted:
        answer = msgspec.structs.replace(answer, cards=[one for one in answer.cards if wanted in one.name.casefold()])
    print_record(answer, as_json, lambda shown: _card_lines(shown, whole=bool(wanted)))
    return FOUND if answer.cards else NOTHING_FOUND


def _card_lines(answer: DreamAnswer, *, whole: bool) -> Iterator[str]:
    if not answer.cards:
        yield f"no name stands in enough of {count_of(answer.facts, 'fact')}; `rekal ingest --extract` finds more"
    for card in answer.cards:
        lines = describe_card(card)
        yield from lines if whole else lines[:1]
        if card.contradictions and not whole:
            yield f"  {count_of(len(card.contradictions), 'contradiction')}"
