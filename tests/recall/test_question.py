"""What a question asks for, and when it asks for nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekal.recall.question import in_first_person, read_question


@pytest.mark.parametrize(
    "text",
    [
        "commit and push",
        "yes, do it",
        "ok, do 1+2 next",
        "let's go with A",
        "run the tests again please",
        "what is left in the plan?",
        "",
        "???",
    ],
)
def test_steering_an_agent_asks_nothing(text: str) -> None:
    assert read_question(text).thin == "chatter"


@pytest.mark.parametrize("text", ["fix the cache", "why redis"])
def test_a_lone_topic_word_is_too_little(text: str) -> None:
    assert read_question(text).thin == "no_topic"


@pytest.mark.parametrize(
    "text",
    ["upload queue", "parse_line", "src/cache.py", "why did we move the job queue to Postgres", "clean stale locks"],
)
def test_a_topic_is_not_thin(text: str) -> None:
    assert read_question(text).thin is None


def test_grammar_is_left_out_of_the_terms() -> None:
    question = read_question("Why did we move the job queue from Redis to Postgres?")
    assert question.words == ("move", "job", "queue", "Redis", "Postgres")
    assert question.terms == ("move", "job", "queue", "redi", "postgr")


def test_a_question_of_grammar_alone_keeps_its_words() -> None:
    question = read_question("who is it")
    assert question.terms
    assert question.thin == "chatter"


def test_anchors_by_shape() -> None:
    anchors = read_question(
        "did GET /v1/users in src/api.py time out after 30s with v2.1 of parseLine on AWS for Kafka"
    ).anchors
    found = {(anchor.kind, anchor.text) for anchor in anchors}
    assert {
        ("acronym", "GET"),
        ("path", "/v1/users"),
        ("path", "src/api.py"),
        ("symbol", "30s"),
        ("number", "v2.1"),
        ("symbol", "parseLine"),
        ("acronym", "AWS"),
        ("name", "Kafka"),
    } <= found


def test_the_first_word_and_months_are_no_names() -> None:
    assert read_question("Deploys failed in March. Rollbacks too.").of_kind("name") == ()


def test_people_become_anchors_not_terms() -> None:
    question = read_question(
        "What did Ada Byron's review of Grace's parser find?", ["Grace Hopper", "Ada Byron", "Alan Kay"]
    )
    assert [anchor.text for anchor in question.of_kind("person")] == ["Ada Byron", "Grace Hopper"]
    assert not {"ada", "byron", "grace"} & set(question.terms)
    assert "parser" in question.words


def test_all_the_people_of_a_store_may_be_named_at_once() -> None:
    named = read_question("How did Ada help Grace with the lexer?", ["Grace", "Ada"]).of_kind("person")
    assert [anchor.text for anchor in named] == ["Ada", "Grace"]


def test_a_name_inside_a_word_or_address_is_not_that_person() -> None:
    assert read_question("adapt the Adapter for bob@example.com", ["Ada", "bob"]).of_kind("person") == ()


def test_numbers_of_one_run_are_no_anchors() -> None:
    said = "worker[991] crashed, pid 4231 at line 88, 0x7ffde3a1b2 in parse_header, [17] after 30 tries on port 8080"
    anchors = [anchor.text for anchor in read_question(said).anchors]
    assert anchors == ["parse_header", "30", "8080"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("why is the any type refused by the linter", "any"),
        ("what does the where clause of the query do", "where"),
        ("is the `with` slow in the loader", "with"),
    ],
)
def test_a_stop_word_that_is_code_stays(text: str, kept: str) -> None:
    assert kept in read_question(text).words


def test_a_stop_word_is_grammar_elsewhere() -> None:
    assert not {"any", "where", "with"} & set(read_question("where is any loader with a cache of types").words)


def test_first_person() -> None:
    text = "What did Ada say about Grace's parser after Ada's review?"
    assert in_first_person(text, "Ada", ["Grace"]) == "What did I say about your parser after my review?"
    assert in_first_person(text, None) == text


@settings(deadline=None, max_examples=200)
@given(text=st.text(max_size=120), people=st.lists(st.text(max_size=12), max_size=3))
def test_no_text_is_too_strange(text: str, people: list[str]) -> None:
    question = read_question(text, people)
    assert len(set(question.terms)) == len(question.terms)
    assert {anchor.text for anchor in question.of_kind("person")} <= set(people)
    in_first_person(text, next(iter(people), None), people[1:])
