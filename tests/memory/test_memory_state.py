"""The log's readings: states, whose word counts, the two clocks, and events nobody should have sent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from rekal.memory.conflicts import all_conflicts, conflicts_of
from rekal.memory.events import (
    Amend,
    Assert,
    Chunk,
    Content,
    LinkTo,
    Observe,
    Permit,
    PutCard,
    PutDocument,
    Reflect,
    Relate,
    ReviewNote,
    RuleOut,
    Scope,
    StartConversation,
    Supersede,
    decode_payload,
)
from rekal.memory.matchers import Matcher
from rekal.memory.state import Memories, Memory, fold, replacement_chain
from rekal.memory.write import Actor, NewMemory, make_event, make_memory
from rekal.model import MemoryEvent

DAY = timedelta(days=1)
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
ADA = Actor("Ada", "human", "cli")
BOT = Actor("claude for Ada", "agent", "cli")
GUESS = Actor("revert", "derived", "hook")


def said(text: str, day: int = 0, by: Actor = ADA, **more: object) -> MemoryEvent:
    return make_memory(NewMemory(text, **more), by, START + day * DAY, lambda t: t)  # type: ignore[arg-type]


def on(
    event: MemoryEvent, kind: str, content: Content, day: int, by: Actor = ADA, origin: str = "local"
) -> MemoryEvent:
    return msgspec.structs.replace(make_event(event.memory_id, kind, content, by, START + day * DAY), origin=origin)


def at(day: float, *events: MemoryEvent, known: float | None = None) -> Memories:
    return fold(events, START + day * DAY, None if known is None else START + known * DAY)


def only(held: Memories) -> Memory:
    (one,) = held.all
    return one


def test_a_persons_word_is_accepted_and_an_agents_is_proposed() -> None:
    assert only(at(1, said("queue in Postgres"))).state == "accepted"
    assert only(at(1, said("queue in Postgres", by=BOT))).state == "proposed"


def test_only_a_person_accepts() -> None:
    proposed = said("queue in Postgres", by=BOT)
    assert only(at(2, proposed, on(proposed, "accept", ReviewNote(), 1, BOT))).state == "proposed"
    assert only(at(2, proposed, on(proposed, "accept", ReviewNote(), 1))).state == "accepted"


@pytest.mark.parametrize(("kind", "state"), [("reject", "rejected"), ("retract", "retracted")])
def test_rejected_and_retracted_do_not_hold_and_stay_in_the_log(kind: str, state: str) -> None:
    event = said("queue in Redis")
    one = only(at(2, event, on(event, kind, ReviewNote(note="lost jobs"), 1)))
    assert (one.state, one.current, one.opens_gate, one.rulings[0].note) == (state, False, False, "lost jobs")


def test_what_a_machine_guessed_opens_nothing_until_a_person_accepts_it() -> None:
    event = said("queue in Redis", by=GUESS)
    assert not only(at(1, event)).opens_gate
    assert only(at(2, event, on(event, "accept", ReviewNote(), 1))).opens_gate


def test_a_replaced_memory_is_closed_at_that_time_and_holds_before_it() -> None:
    old, new = said("queue in Redis"), said("queue in Postgres", 5)
    log = (old, new, on(old, "supersede", Supersede(by=new.memory_id), 5))
    now, then = at(6, *log), at(3, *log)
    assert [(one.text, one.state) for one in now.all] == [
        ("queue in Redis", "superseded"),
        ("queue in Postgres", "accepted"),
    ]
    assert [(one.text, one.state) for one in then.all] == [
        ("queue in Redis", "accepted"),
        ("queue in Postgres", "not_yet"),
    ]
    assert now.all[1].supersedes == (old.memory_id,)


def test_an_agent_replaces_what_a_person_accepted_only_once_a_person_agrees() -> None:
    old, new = said("queue in Postgres"), said("queue in Kafka", 1, BOT)
    log = [old, new, on(old, "supersede", Supersede(by=new.memory_id), 1, BOT)]
    assert at(2, *log).all[0].state == "accepted"
    log.append(on(new, "accept", ReviewNote(), 3))
    assert at(4, *log).all[0].state == "superseded"
    log.append(on(new, "reject", ReviewNote(), 5))
    assert at(6, *log).all[0].state == "accepted"


def test_what_was_recorded_later_is_not_known_before() -> None:
    event = said("queue in Postgres")
    amended = on(event, "amend", Amend(text="queue in Kafka"), 4)
    assert only(at(9, event, amended, known=2)).text == "queue in Postgres"
    assert only(at(9, event, amended)).text == "queue in Kafka"
    assert at(9, event, known=-1).all == ()


def test_the_two_clocks_work_together() -> None:
    """Said on day 5 of the world's day 0: nobody knew it on day 3, and looking back it held then."""
    event = said("the office moved", 5, valid_from=START)
    assert at(3, event, known=3).all == ()
    assert only(at(3, event)).state == "accepted"


def test_it_ends_when_it_said_it_would() -> None:
    assert only(at(3, said("freeze", valid_until=START + 2 * DAY))).state == "expired"
    assert only(at(3, said("freeze", ttl=3600.0))).state == "expired"
    assert only(at(1, said("freeze", valid_until=START + 2 * DAY))).state == "accepted"


def test_a_teammates_word_on_what_is_not_theirs_changes_nothing_and_is_seen() -> None:
    mine = said("queue in Postgres")
    for kind in ("reject", "retract"):
        held = at(2, mine, on(mine, kind, ReviewNote(note="no"), 1, origin="refs/rekal/bob"))
        assert only(held).state == "accepted"
        assert [(c.why, c.note) for c in all_conflicts(held)] == [("ruling", f"Ada: {kind}")]
    replaced = on(mine, "supersede", Supersede(by="x" * 26), 1, origin="refs/rekal/bob")
    assert at(2, mine, replaced).all[0].state == "accepted"
    assert at(2, mine, replaced).unreadable == 1


def test_a_foreign_event_cannot_take_an_id_over() -> None:
    mine = said("queue in Postgres")
    theirs = msgspec.structs.replace(said("queue in Redis"), memory_id=mine.memory_id, origin="refs/rekal/bob")
    for log in ((mine, theirs), (theirs, mine)):
        assert only(at(1, *log)).text == "queue in Postgres"


def test_events_of_no_use_cost_only_themselves() -> None:
    good = said("queue in Postgres")
    bad = [
        msgspec.structs.replace(said("x"), payload="{"),
        msgspec.structs.replace(said("x"), payload='{"text": 5}'),
        msgspec.structs.replace(said("x"), kind="assert", payload="[" * 20_000),
        on(good, "of a later version", ReviewNote(), 1),
        on(good, "supersede", Supersede(by=good.memory_id), 1),
    ]
    held = at(2, good, *bad)
    assert [one.text for one in held.all] == ["queue in Postgres"]
    assert held.unreadable == 5


def test_a_circle_of_replacements_ends() -> None:
    a, b = said("one"), said("two")
    log = (a, b, on(a, "supersede", Supersede(by=b.memory_id), 1), on(b, "supersede", Supersede(by=a.memory_id), 1))
    held = at(2, *log)
    assert {one.state for one in held.all} == {"superseded"}
    assert replacement_chain(held.all, a.memory_id) == [a.memory_id, b.memory_id]


def test_links_need_both_ends_and_lead_elsewhere() -> None:
    a, b = said("one"), said("two")
    log = [on(a, "link", LinkTo(to=t, relation="related_to"), 1) for t in (b.memory_id, a.memory_id, "z" * 26)]
    assert [link.target for link in at(2, a, b, *log).links] == [b.memory_id]
    gone = on(a, "unlink", LinkTo(to=b.memory_id, relation="related_to"), 2)
    assert at(3, a, b, *log, gone).links == ()


def test_conflicts_are_other_values_of_a_subject_and_opposite_rulings() -> None:
    log = [
        said("jobs live in Postgres", subject="job queue", type="decision"),
        said("jobs live in Kafka", subject="Job  queue", type="decision"),
        said("Redis as the lock for settlement runs", type="dead_end"),
        said("Redis is the lock for settlement runs", type="decision"),
        said("tabs, not spaces", subject="style"),
    ]
    held = at(1, *log)
    assert sorted(conflict.why for conflict in all_conflicts(held)) == ["opposite", "subject"]
    assert [conflict.why for conflict in conflicts_of(held.all[1], held.all)] == ["subject"]


def test_a_text_that_was_rejected_is_named_when_it_comes_again() -> None:
    old = said("queue in Redis")
    new = said("Queue in  redis", 2)
    held = at(3, old, on(old, "reject", ReviewNote(note="lost jobs"), 1), new)
    assert [(c.why, c.note) for c in conflicts_of(held.all[1], held.all)] == [("rejected before", "lost jobs")]


CONTENTS: list[tuple[str, Content]] = [
    ("assert", Assert(text="a", scope=Scope(("src/**",), "spike"), valid_from=START, matcher=Matcher(("import a",)))),
    ("rule_out", RuleOut(approach="a", because="b", instead="c", tags=("d",))),
    ("accept", ReviewNote(note="n")),
    ("supersede", Supersede(by="x", at=START)),
    ("amend", Amend(text="t", because=None)),
    ("share", Permit(on=False)),
    ("link", LinkTo(to="x", relation="r")),
    ("observe", Observe(text="t", kind="k", replaces="o")),
    ("relate", Relate(source="a", target="b", type="c", context="d")),
    ("reflect", Reflect(text="t", mood="m", about="entity", target="x")),
    ("document", PutDocument(path="p", digest="d", chunks=(Chunk("t", "1", START),))),
    ("card", PutCard(entity="e", lines=("l",), facts=("f",))),
    ("conversation", StartConversation(title="t", follows="x")),
]


@pytest.mark.parametrize(("kind", "content"), CONTENTS, ids=[kind for kind, _ in CONTENTS])
def test_payloads_come_back_as_they_were(kind: str, content: Content) -> None:
    event = make_event("m" * 26, kind, content, Actor("Ada", "human", ""), START)
    assert decode_payload(event) == content
