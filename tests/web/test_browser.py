"""The page in a real Chromium: by mouse and by keyboard, while the store is written, with hostile text, with axe."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")
pytest.importorskip("jinja2", reason="the extra web is not installed")
pytest.importorskip("playwright", reason="playwright is not installed")

from playwright import sync_api

from tests.support.hostile_store import fill_with_hostile_text
from tests.support.served_page import Checkout, ServedPage, talked_about

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
AXE = Path(__file__).parent / "vendor" / "axe.min.js"
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this system")

# What a page must never do; `canary` is what every hostile text calls.
_WATCH = """
window.happened = [];
window.canary = (what) => window.happened.push(`canary ${what}`);
document.addEventListener("securitypolicyviolation", (event) => {
  window.happened.push(`${event.violatedDirective} ${event.blockedURI}`);
});
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServedPage, dict[str, str]]]:
    checkout = Checkout(tmp_path_factory.mktemp("browser"))
    names = talked_about(checkout)
    for text in ("staging is reset on Mondays", "prefer tabs in makefiles", "the office has two printers"):
        checkout("remember", text, CLAUDECODE="1")
    checkout("decide", "invoices are kept for ten years")
    for words in (("add", "worker", "process"), ("add", "ledger", "store"), ("relate", "worker", "writes", "ledger")):
        checkout("graph", *words)
    with ServedPage(checkout) as page:
        yield page, names


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with sync_api.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


def _enter(chromium: Any, page: ServedPage, **more: Any) -> Any:
    """A tab of its own that is let in; what it must not do is in ``tab.troubles``."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, **more)
    context.set_default_timeout(15_000)
    context.add_init_script(_WATCH)
    tab = context.new_page()
    tab.goto(page.link("/"))
    tab.wait_for_url(f"http://{page.host}:{page.port}/")
    return tab


@pytest.fixture
def tab(chromium: Any, served: tuple[ServedPage, dict[str, str]]) -> Iterator[Any]:
    opened = _enter(chromium, served[0])
    troubles: list[str] = []
    opened.on("pageerror", lambda error: troubles.append(str(error)))
    opened.on("dialog", lambda dialog: troubles.append(dialog.message))
    yield opened
    assert troubles == []
    assert opened.evaluate("window.happened") == []
    opened.context.close()


def _at(page: ServedPage, path: str) -> str:
    return f"http://{page.host}:{page.port}{path}"


def test_search_why_session_commit_file_and_back(tab: Any, served: tuple[ServedPage, dict[str, str]]) -> None:
    _, names = served
    tab.keyboard.press("/")
    tab.keyboard.type("why does the retry queue live in postgres")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".verdict strong")
    assert tab.text_content(".verdict strong") == "INJECT"
    assert not tab.is_visible(".why table")
    tab.keyboard.press("w")
    assert tab.is_visible(".why table")
    tab.keyboard.press("j")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/session/**")
    assert names["session"] in tab.url
    assert "SKIP LOCKED" in tab.text_content("main")
    tab.click(f'a[href="/commit/{names["commit"]}"]')
    tab.wait_for_url("**/commit/**")
    assert "the broker forgets" in tab.text_content("main")
    tab.click('a[href="/file/queue.py"]')
    tab.wait_for_url("**/file/queue.py")
    tab.hover("text=def claim")
    tab.wait_for_selector("#quote .panel")
    assert names["session"] in tab.get_attribute("#quote a", "href")
    for place in ("/commit/", "/session/", "/search?"):
        tab.go_back()
        assert place in tab.url
    assert tab.text_content(".verdict strong") == "INJECT"
    tab.reload()
    assert tab.text_content(".verdict strong") == "INJECT"
    tab.go_forward()
    assert "/session/" in tab.url


def test_review_by_keyboard(tab: Any, served: tuple[ServedPage, dict[str, str]]) -> None:
    page, _ = served
    tab.goto(_at(page, "/review"))
    first = tab.text_content(".panel strong")
    tab.wait_for_selector("text=It has no patterns")
    tab.keyboard.press("s")
    tab.wait_for_function("(before) => document.querySelector('.panel strong').textContent !== before", arg=first)
    tab.goto(_at(page, "/review"))
    tab.keyboard.press("n")
    tab.keyboard.type("said by the owner")
    tab.keyboard.press("Escape")
    tab.keyboard.press("a")
    tab.wait_for_selector("text=1 of 2")
    second = tab.text_content(".panel strong")
    tab.keyboard.press("r")
    tab.wait_for_selector("text=1 of 1")
    tab.keyboard.press("e")
    tab.keyboard.press("Control+A")
    tab.keyboard.type("the office has one printer")
    tab.click("text=Accept these words")
    tab.wait_for_selector("text=Nothing waits for review")
    listed = page.checkout("memories", "--state", "all")
    states = {text: line.split() for line in listed.splitlines() for text in (first, second) if text in line}
    assert "accepted" in states[first] and "rejected" in states[second]
    assert "the office has one printer" in page.checkout("memories", "--state", "accepted")


def test_forget_preview_memories_and_graph(tab: Any, served: tuple[ServedPage, dict[str, str]]) -> None:
    page, _ = served
    tab.goto(_at(page, "/sharing"))
    tab.fill('input[name="text"]', "orange for open ones")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("text=would go")
    assert "turn" in tab.text_content("main table")
    tab.click("text=Keep it")
    assert "orange for open ones" in page.checkout("find", "orange for open ones")
    tab.goto(_at(page, "/memories"))
    tab.click("text=invoices are kept for ten years")
    tab.wait_for_url("**/memory/**")
    assert "assert" in tab.text_content("ol.rows")
    tab.goto(_at(page, "/graph"))
    assert tab.locator("svg.drawing .node").count() == 2
    tab.click('svg.drawing a[aria-label="worker"] circle')
    tab.wait_for_url("**/graph?name=worker")
    tab.goto(_at(page, "/timeline"))
    tab.wait_for_selector(".uplot")
    tab.hover(".u-over")


def test_a_page_that_is_open_follows_a_store_that_is_written(
    tab: Any, served: tuple[ServedPage, dict[str, str]]
) -> None:
    page, _ = served
    tab.goto(_at(page, "/sessions"))
    before = tab.locator("tbody tr").count()
    new = page.checkout.session("while the page is open", days_ago=0.01)
    new.human("Does the page follow the worker?").says("It does.")
    page.checkout("checkpoint")
    tab.wait_for_function("(n) => document.querySelectorAll('tbody tr').length > n", arg=before)
    assert "Does the page follow the worker?" in tab.text_content("tbody")


@pytest.mark.soak
def test_hostile_text_does_nothing(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    checkout = Checkout(tmp_path_factory.mktemp("hostile"))
    talked_about(checkout)
    h = fill_with_hostile_text(checkout)
    with ServedPage(checkout) as page:
        tab = _enter(chromium, page)
        away: list[str] = []
        tab.on("request", lambda asked: away.append(asked.url) if f":{page.port}/" not in asked.url else None)
        tab.on("dialog", lambda dialog: away.append(dialog.message))
        for path in (
            "/", "/search?q=needle+haystack", "/sessions", f"/session/{h['session']}",
            f"/session/{h['session']}/1/whole", f"/session/{h['long']}", "/files", "/file/evil.py",
            f"/commit/{h['commit']}", "/timeline", "/review",
            "/memories?state=all", f"/memory/{h['memory']}", "/graph", "/sharing", "/stats",
        ):  # fmt: skip
            tab.goto(_at(page, path))
            for one in tab.query_selector_all("[data-row]")[:3]:
                one.hover()
            tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            assert tab.evaluate("window.happened") == [], path
            assert (
                tab.evaluate("document.querySelectorAll('main img, main iframe, main style, main script').length") == 0
            )
        assert away == []
        assert "canary" in tab.goto(_at(page, f"/session/{h['session']}")).text()
        tab.context.close()


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.soak)])
def test_axe_finds_nothing_serious(chromium: Any, served: tuple[ServedPage, dict[str, str]], scheme: str) -> None:
    page, names = served
    tab = _enter(chromium, page, color_scheme=scheme, bypass_csp=True)
    memory = page.checkout("memories", "--json")
    name = memory.partition('"id":"')[2].partition('"')[0]
    rules = "axe.run(document, {resultTypes: ['violations']})"
    found = []
    for path in (
        "/", "/search", "/search?q=why+does+the+retry+queue+live+in+postgres", "/sessions",
        f"/session/{names['session']}", f"/session/{names['session']}/1/whole", "/files", "/file/queue.py",
        f"/commit/{names['commit']}", "/timeline",
        "/review", "/memories?state=all", f"/memory/{name}", "/graph", "/sharing", "/stats", "/nowhere",
    ):  # fmt: skip
        tab.goto(_at(page, path))
        tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        tab.add_script_tag(path=AXE)
        result = tab.evaluate(rules)
        found += [
            (path, one["id"], one["impact"], one["nodes"][0]["html"][:200])
            for one in result["violations"]
            if one["impact"] in ("serious", "critical")
        ]
    tab.context.close()
    assert found == []


def test_the_narrowest_phone_needs_no_scrolling_sideways(
    chromium: Any, served: tuple[ServedPage, dict[str, str]]
) -> None:
    page, names = served
    tab = _enter(chromium, page, java_script_enabled=True)
    tab.set_viewport_size({"width": 360, "height": 740})
    for path in ("/", "/search?q=retry+queue", "/sessions", f"/session/{names['session']}", "/file/queue.py",
                 "/timeline", "/review", "/memories", "/graph", "/sharing", "/stats"):  # fmt: skip
        tab.goto(_at(page, path))
        wide = tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, (path, wide)
    tab.context.close()


def test_without_scripts_everything_is_there(chromium: Any, served: tuple[ServedPage, dict[str, str]]) -> None:
    page, names = served
    context = chromium.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(page.link("/search?q=why+does+the+retry+queue+live+in+postgres"))
    tab.wait_for_selector(".verdict strong")
    assert page.token not in tab.url
    tab.click(f'h3 a[href^="/session/{names["session"]}"]')
    assert "SKIP LOCKED" in tab.text_content("main")
    tab.goto(_at(page, "/timeline"))
    assert tab.locator("svg.plot rect").count() > 0
    context.close()
