"""Every page: what it shows, without a script; what a hostile store puts into it; how much is sent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from urllib.parse import quote, urlencode

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")
pytest.importorskip("jinja2", reason="the extra web is not installed")

from rekal.web.render import file_link, render_page, session_link, with_query
from tests.support.hostile_store import WHOLE, fill_with_hostile_text
from tests.support.served_page import Checkout, ServedPage, talked_about

MOST_SENT = 150_000
_LINK = re.compile(r'(?:href|src|action|hx-get)="([^"]*)"')
_TAG = re.compile(r"<([a-z][a-z0-9]*)")
_TAGS = {
    "a", "article", "aside", "b", "body", "button", "circle", "code", "dd", "details", "dialog", "div", "dl", "dt",
    "footer", "form", "h1", "h2", "h3", "head", "header", "html", "i", "input", "kbd", "label", "li", "line", "link",
    "main", "mark", "meta", "nav", "ol", "option", "p", "pre", "rect", "script", "section", "select", "span", "strong",
    "summary", "svg", "table", "tbody", "td", "text", "textarea", "th", "thead", "time", "title", "tr", "ul",
}  # fmt: skip


class Stored:
    """A served store and the names of what is in it."""

    def __init__(self, page: ServedPage, names: dict[str, str], hostile: dict[str, str]) -> None:
        self.page, self.names, self.hostile = page, names, hostile

    def addresses(self) -> list[str]:
        """Every page, on what is hostile in it."""
        h = self.hostile
        asked = urlencode({"q": "needle haystack"})
        return [
            "/", "/grounds", "/search", f"/search?{asked}", f"/search?{urlencode({'q': WHOLE, 'author': WHOLE})}",
            "/search?q=nothing+of+the+kind+anywhere", "/sessions", f"/sessions?{urlencode({'author': WHOLE})}",
            f"/session/{h['session']}", f"/session/{h['session']}/1", f"/session/{h['session']}/1/whole",
            f"/session/{h['session']}/1/quote", f"/session/{h['long']}", f"/session/{h['long']}/0/whole",
            f"/session/{quote(h['odd'], safe='')}", "/files", "/file/evil.py", f"/file/{quote(h['file'])}",
            f"/commit/{h['commit']}", f"/commit/{'f' * 40}", "/timeline", "/timeline?days=3650", "/review",
            f"/review/{h['memory']}/trial", "/memories", "/memories?state=all", f"/memory/{h['memory']}", "/graph",
            f"/graph?{urlencode({'name': WHOLE})}", f"/graph?{urlencode({'text': 'canary'})}", "/sharing",
            "/sharing/waiting", "/stats", "/live",
        ]  # fmt: skip


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stored]:
    checkout = Checkout(tmp_path_factory.mktemp("pages"))
    names = talked_about(checkout)
    hostile = fill_with_hostile_text(checkout)
    with ServedPage(checkout) as page:
        yield Stored(page, names, hostile)


def _check_markup(path: str, text: str) -> None:
    assert len(text.encode()) <= MOST_SENT, (path, len(text.encode()))
    assert set(_TAG.findall(text)) <= _TAGS, (path, set(_TAG.findall(text)) - _TAGS)
    assert text.count("<script") == len(re.findall(r'<script src="/static/[a-z.]+\?v=[^"]+" defer></script>', text))
    for link in _LINK.findall(text):
        assert re.match(r"/(?!/)|#", link), (path, link)
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\ufeff\x00-\x08\x1b\U000e0000-\U000e0fff]", text), path
    assert " on" not in re.sub(r">[^<]*<|\"[^\"]*\"", "", text), path
    assert "1337" not in text  # 7*191: a text is never a template


def test_hostile_text_is_text_on_every_page_and_no_page_is_large(stored: Stored) -> None:
    for path in stored.addresses():
        reply = stored.page.ask("GET", path)
        assert reply.status in (200, 400), (path, reply.status)
        _check_markup(path, reply.text)
    assert "canary" in stored.page.page(f"/session/{stored.hostile['session']}"), "it would pass on an empty page"


def test_a_mistake_in_an_address_is_a_sentence(stored: Stored) -> None:
    wrong = quote("<img src=x onerror=canary()>", safe="")
    for path, status in (
        (f"/session/{wrong}", 400), ("/session/zzzz/99999999999999", 400), (f"/file/{wrong}", 400),
        (f"/commit/{wrong}", 400), (f"/memory/{wrong}", 400), ("/nowhere", 404), ("/sessions?since=never", 400),
        ("/commit/--output=x", 400), ("/sessions?offset=-5", 200), ("/timeline?days=x", 200),
        (f"/session/{stored.names['session']}/4000", 400),
    ):  # fmt: skip
        reply = stored.page.ask("GET", path)
        assert reply.status == status, (path, reply.status, reply.text[:500])
        _check_markup(path, reply.text)


def test_from_a_question_to_the_line_without_a_script(stored: Stored) -> None:
    page = stored.page
    found = page.page("/search?q=why+does+the+retry+queue+live+in+postgres")
    assert "<strong" in found and "INJECT" in found
    assert "Why this verdict" in found and "cut 0." in found and "<mark>" in found
    assert "rekal recall &#39;why does the retry queue live in postgres&#39;" in found
    link = re.search(rf'"(/session/{stored.names["session"]}/\d+#t\d+)"', found)
    assert link
    session = page.page(link[1].partition("#")[0])
    assert "SKIP LOCKED" in session and 'class="turn' in session and "tool call" in session
    assert f"/commit/{stored.names['commit']}" in session
    commit = page.page(f"/commit/{stored.names['commit']}")
    assert "I move the retry queue to postgres because the broker forgets" in commit
    assert "/file/queue.py" in commit
    file = page.page("/file/queue.py")
    assert "def claim():" in file and f"/session/{stored.names['session']}/" in file


def test_the_first_page_names_what_was_left_open(stored: Stored) -> None:
    first = stored.page.page("/")
    assert "tests left red" in first and "pytest" in first
    assert "to review" in first
    assert stored.page.ask("POST", "/seen", {}, "").status == 415
    reply = stored.page.post("/seen", at="2026-01-01T00:00:00+00:00")
    assert (reply.status, reply.headers["location"]) == (303, "/")
    assert "Since <time" in stored.page.page("/")


def test_a_long_turn_is_cut_and_can_be_read_whole(stored: Stored) -> None:
    page = f"/session/{stored.hostile['long']}"
    assert "Read the whole turn" in stored.page.page(page)
    first = stored.page.page(f"{page}/1/whole")
    assert "part 1 of" in first and "Next part" in first
    last = int(re.findall(r"part 1 of (\d+)", first)[0])
    assert "Next part" not in stored.page.page(f"{page}/1/whole?part={last - 1}")


def test_a_page_that_changed_says_so_and_one_that_did_not_does_not(stored: Stored) -> None:
    live = stored.page.ask("GET", "/live")
    mark = re.search(r"mark=([0-9a-f]+)", live.text)
    assert mark and live.headers["hx-trigger"] == "store-changed"
    assert "hx-trigger" not in stored.page.ask("GET", f"/live?mark={mark[1]}").headers


def test_a_busy_store_is_a_page_that_loads_again(stored: Stored) -> None:
    busy = render_page(
        "error.html",
        {"title": "Busy", "message": "the store is being written", "hint": "", "again": True, "repository": "app",
         "menu": (), "here": "/", "section": "", "live": _Still(), "form_token": "x"},
    )  # fmt: skip
    assert '<meta http-equiv="refresh" content="2">' in busy


class _Still:
    mark, sentence = "0", ""


def test_links_are_quoted() -> None:
    assert with_query("/x", path='a"b', q="", days=30) == "/x?path=a%22b&days=30"
    assert max(map(len, (file_link("<" * 10**6), session_link("<" * 10**6), with_query("/x", q="<" * 10**6)))) < 10_000


def test_forgetting_shows_what_would_go_and_then_does_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    checkout = Checkout(tmp_path_factory.mktemp("forget"))
    talked_about(checkout)
    with ServedPage(checkout) as page:
        preview = page.post("/forget/preview", text="orange for open ones")
        assert preview.status == 200
        assert "would go" in preview.text and "turns" in preview.text and "Forget this for good" in preview.text
        assert "orange" in page.page("/search?q=which+colours+does+the+chart+of+invoices+take")
        nothing = page.post("/forget/preview", text="never said by anybody")
        assert "nothing matches" in nothing.text and "Forget this for good" not in nothing.text
        assert page.post("/forget/preview").status == 400
        done = page.post("/forget", text="orange for open ones")
        assert done.status == 200 and "is gone" in done.text, done.text[done.text.find("<h1") :][:600]
        assert checkout("find", "orange for open ones", code=1).startswith("0 mentions")
        assert "orange" not in page.page("/search?q=which+colours+does+the+chart+take")


def test_a_search_on_the_page_is_counted_once(stored: Stored) -> None:
    def recalls() -> int:
        return sum(json.loads(stored.page.checkout("stats", "--json"))["total"]["verdicts"].values())

    before = recalls()
    stored.page.page("/search?q=why+does+the+retry+queue+live+in+postgres")
    assert recalls() == before + 1
    stored.page.page("/search")
    assert recalls() == before + 1


def test_what_an_agent_remembered_stands_beside_what_was_said_before(tmp_path_factory: pytest.TempPathFactory) -> None:
    checkout = Checkout(tmp_path_factory.mktemp("cited"))
    names = talked_about(checkout)
    checkout("remember", "jobs are claimed with SKIP LOCKED", "--from", names["session"], CLAUDECODE="1")
    with ServedPage(checkout) as page:
        shown = page.page("/review")
    assert "I move the retry queue to postgres because the broker forgets" in shown
    assert "cites no turn" not in shown


def test_an_agent_that_serves_the_page_rules_on_nothing(tmp_path_factory: pytest.TempPathFactory) -> None:
    checkout = Checkout(tmp_path_factory.mktemp("agent"))
    talked_about(checkout)
    checkout("remember", "staging is reset on Mondays", CLAUDECODE="1")
    checkout.env["CLAUDECODE"] = "1"
    with ServedPage(checkout) as page:
        name = re.search(r'action="/review/([0-9a-z]+)"', page.page("/review"))
        assert name and "only a person rules" in page.page("/review")
        refused = page.post(f"/review/{name[1]}", ruling="accept")
        assert refused.status == 400 and "cannot accept" in refused.text
    assert "proposed" in checkout("memories", "--state", "all")
