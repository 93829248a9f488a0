"""``rekal dream``: cards made of facts."""

from __future__ import annotations

from datetime import UTC, datetime

from rekal.documents.cards import MOST_FACTS, CardFact, build_cards
from tests.support.app import Rekal

NOW = datetime(2026, 5, 4, tzinfo=UTC)


def fact(number: int, text: str, about: str | None = None, date: str | None = None) -> CardFact:
    return CardFact(f"f{number:05}", text, NOW, f"s#{number}", date, about)


def test_a_name_that_occurs_often_gets_a_card() -> None:
    facts = [
        fact(1, "The soup is ordered by Marta Lund."),
        fact(2, "On Friday Marta Lund pays the cooperative."),
        fact(3, "Everybody asks Marta Lund."),
        fact(4, "Jonas rents the battery."),
    ]
    (card,) = build_cards(facts)
    assert (card.name, card.total, [one.id for one in card.facts]) == ("Marta Lund", 3, ["f00001", "f00002", "f00003"])


def test_the_first_word_of_a_sentence_is_no_name() -> None:
    assert build_cards([fact(n, f"Battery number {n} is charged.") for n in range(5)]) == []


def test_ten_thousand_facts_are_all_considered_and_forty_shown() -> None:
    facts = [fact(n, f"Berth {n} is kept free.", "Harbour", f"2026-01-{n % 28 + 1:02}") for n in range(10_000)]
    (card,) = build_cards(facts)
    assert (card.total, len(card.facts)) == (10_000, MOST_FACTS)
    assert {one.date for one in card.facts} == {"2026-01-28"}


def test_the_same_facts_give_the_same_cards() -> None:
    facts = [fact(n, f"Berth {n} belongs to Ada and to Ben.") for n in range(50)]
    assert build_cards(facts) == build_cards(facts[::-1])


def test_contradictions_are_listed() -> None:
    facts = [
        fact(1, "The stage stands on the east quay.", "stage"),
        fact(2, "The stage does not stand on the east quay.", "stage"),
        fact(3, "The stage costs 900 crowns a day.", "stage"),
        fact(4, "The stage costs 700 crowns a day.", "stage"),
        fact(5, "The stage is blue.", "stage"),
    ]
    (card,) = build_cards(facts)
    assert card.contradictions == (("f00001", "f00002"), ("f00003", "f00004"))


def test_cards_are_made_of_accepted_facts_and_kept(rekal: Rekal) -> None:
    for text in ("Soup comes from Marta.", "The quay is booked by Marta.", "The keys are with Marta."):
        assert rekal("remember", "--type", "fact", text).code == 0
    first = rekal("dream", "--json").json
    assert ([card["name"] for card in first["cards"]], first["facts"], first["rebuilt"]) == (["Marta"], 3, True)
    assert rekal("dream", "--json").json["rebuilt"] is False
    rekal("remember", "--type", "fact", "The boat belongs to Marta.")
    assert rekal("dream", "--json").json["rebuilt"] is True
    shown = rekal("dream", "marta").out
    assert "Marta: 4 facts" in shown
    assert "The keys are with Marta." in shown


def test_a_dry_run_keeps_nothing_and_a_card_opens_no_gate(rekal: Rekal) -> None:
    for text in ("Soup comes from Marta.", "The quay is booked by Marta.", "The keys are with Marta."):
        rekal("remember", "--type", "fact", text)
    assert rekal("dream", "--dry-run").code == 0
    rekal("recall", "what is known about Marta and the keys")  # builds the index
    before = rekal("recall", "what is known about Marta and the keys", "--json").out
    rekal("dream")
    assert rekal("recall", "what is known about Marta and the keys", "--json").out == before
