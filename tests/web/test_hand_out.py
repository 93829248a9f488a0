"""A session or an answer as a page that stands by itself, and the address of a session's page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")
pytest.importorskip("jinja2", reason="the extra web is not installed")

from rekal.app.overview.hand_out import scrub_record
from rekal.model import Turn
from tests.support.hostile_store import fill_with_hostile_text
from tests.support.served_page import ADDRESS, Checkout, ServedPage, talked_about


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Checkout, dict[str, str], dict[str, str]]]:
    made = Checkout(tmp_path_factory.mktemp("hand-out"))
    names = talked_about(made)
    yield made, names, fill_with_hostile_text(made)


def _check_alone(text: str) -> None:
    """No script, no address, nothing that is loaded: text and one style sheet."""
    body = re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)
    assert "default-src 'none'" in text
    assert not re.search(r"<(?:script|img|iframe|link|base|form|object|svg|a href=\"[^#])", body)
    assert not re.search(r"<[a-z][^>]*\son[a-z]+=", re.sub(r'"[^"]*"', '""', body))
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x1b]", text)


def test_a_session_as_a_page(checkout: tuple[Checkout, dict[str, str], dict[str, str]]) -> None:
    run, names, hostile = checkout
    run("export", "--html", "out.html", names["session"])
    text = (run.root / "out.html").read_text("utf-8")
    assert "SKIP LOCKED" in text and "Keep the retry queue in postgres" in text and 'id="t0"' in text
    _check_alone(text)
    run("export", "--html", "evil.html", hostile["session"])
    evil = (run.root / "evil.html").read_text("utf-8")
    assert "canary" in evil
    _check_alone(evil)


def test_an_answer_as_a_page(checkout: tuple[Checkout, dict[str, str], dict[str, str]]) -> None:
    run, _, _ = checkout
    run("export", "--html", "answer.html", "--answer", "why does the retry queue live in postgres")
    text = (run.root / "answer.html").read_text("utf-8")
    assert "INJECT" in text and "SKIP LOCKED" in text
    _check_alone(text)


def test_a_page_is_scrubbed_once_more() -> None:
    turn = Turn(0, "uid", "human", "the password is hunter2")
    assert scrub_record([turn], lambda text: text.replace("hunter2", "…"))[0].content == "the password is …"
    assert scrub_record(turn, lambda text: "…").uid == "uid"


def test_what_cannot_be_a_page_is_said(
    checkout: tuple[Checkout, dict[str, str], dict[str, str]], tmp_path: Path
) -> None:
    run, names, _ = checkout
    run("export", "--html", "x.html", code=2)
    run("export", "--html", "x.html", "zzzzzz", code=2)
    run("export", "--html", str(tmp_path / "no" / "x.html"), names["session"], code=2)


def test_show_web_gives_the_address_of_the_page_that_is_served(
    checkout: tuple[Checkout, dict[str, str], dict[str, str]],
) -> None:
    run, names, _ = checkout
    with ServedPage(run) as page:
        for handle, path in (
            (f"{names['session'][:10]}:1", f"/session/{names['session']}/1"),
            (names["session"][:10], f"/session/{names['session']}"),
            (names["commit"], f"/commit/{names['commit']}"),
        ):
            line = run("show", handle, "--web").strip()
            found = ADDRESS.match(line.partition("#")[0])
            assert found and found[3] == path and found[4] == page.token
        assert page.page(f"/session/{names['session']}/1")
    with ServedPage(run, verb=("show", names["session"], "--web")) as alone:
        assert f"/session/{names['session']}?token=" in alone.address
    run("show", "zzzzzz", "--web", code=1)


def test_answers_are_judged_and_silences_are_listed(tmp_path: Path) -> None:
    run = Checkout(tmp_path)
    names = talked_about(run)
    asked = "why does the retry queue live in postgres"
    run("recall", asked)
    run("recall", "which elevator company serves the moon base", code=1)
    run("checkpoint")
    with ServedPage(run) as page:
        first = page.page("/")
        assert asked in first and "silence" in first and 'value="wrong"' in first
        judged = page.post("/judge", query=asked, sessions=names["session"], verdict="wrong")
        assert (judged.status, judged.headers["location"]) == (303, "/#recalls")
        assert '<span class="bad">wrong</span>' in page.page("/")
        page.post("/judge", query=asked, sessions=names["session"], verdict="right")
        assert '<span class="good">right</span>' in page.page("/")
    said = run("brief", "--since-last")
    assert "silence" in said and asked in said and "tests left red" in said
    assert "(nothing is new)" in run("brief", "--since-last", code=1)
