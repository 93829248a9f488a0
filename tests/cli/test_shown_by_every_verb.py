"""Every verb by its table, every MCP tool and every page, over texts poisoned in every column of the ledger."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekal.cli.verb_table import VERBS
from rekal.plain_text import clean_line, clean_text, escape_hidden
from tests.conftest import git
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession
from tests.support.poisoned_store import HIDDEN, POISON, SHORT_POISON, find_forged, find_odd, poison_store
from tests.support.served_page import Checkout, ServedPage

ASKED = "zebra queue postgres"


def _talk(home: Path, root: Path) -> None:
    session = ClaudeSession(home, root)
    session.human("why is the zebra queue in Postgres")
    session.writes("queue.py", "zebra = 1\n")
    session.runs("psql zebra", "no zebra database", error=True)
    session.says("Because the zebra queue needs SKIP LOCKED.")
    (root / "queue.py").write_text("zebra = 1\n", encoding="utf-8")


def _write_notes(folder: Path) -> None:
    """Notes whose name and text are poisoned; a file's name has at most 255 bytes, so it gets some of it."""
    folder.mkdir()
    name = "zebra\x1b[2J\u202e\u2066\u200b\nFORGED\u2028FORGED.md"
    (folder / name).write_text(f"# Zebra\n\nThe zebra enclosure opens at nine.{POISON}\n", encoding="utf-8")


@pytest.fixture
def poisoned(rekal: Rekal, tmp_path: Path) -> Rekal:
    """A store with one linked session, memories and a document, in which every text is poisoned."""
    _talk(rekal.home, rekal.root)
    git(rekal.root, "add", ".")
    git(rekal.root, "commit", "-qm", "zebra queue")
    assert rekal("checkpoint").code == 0
    made = rekal("decide", f"The zebra queue stays in Postgres{POISON}", "--because", f"it locks{POISON}", "--json")
    assert made.code == 0, made.err
    assert rekal("rule-out", f"Redis for the zebra queue{POISON}", "--because", f"it loses{POISON}").code == 0
    _write_notes(tmp_path / "notes")
    assert rekal("ingest", str(tmp_path / "notes")).code == 0
    assert len(poison_store(rekal.layout.data)) > 12
    assert rekal("index", "--full").code == 0
    return rekal


# One call or more of every verb; those in QUIET print nothing that came from elsewhere.
CALLS = [
    ["init"],
    ["recall", ASKED],
    ["recall", "--explain", ASKED],
    ["recall", "--file", "queue.py", "zebra"],
    ["recall", "when does the zebra enclosure open"],
    ["sessions"],
    ["show", "SESSION"],
    ["show", "SESSION", "--full"],
    ["show", "SESSION#1"],
    ["show", "HEAD"],
    ["find", "zebra"],
    ["why", "queue.py:1"],
    ["why", "HEAD"],
    ["log"],
    ["log", "--graph"],
    ["report", "HEAD~1..HEAD"],
    ["report", "HEAD~1..HEAD", "--format", "markdown"],
    ["query", "SELECT * FROM sessions"],
    ["query", 'SELECT content AS "odd\x1b[31m\u202e" FROM turns'],
    ["query", "SELECT * FROM memory_events"],
    ["status"],
    ["doctor"],
    ["stats"],
    ["audit"],
    ["audit", "--memories"],
    ["brief"],
    ["resume"],
    ["memories"],
    ["history", "MEMORY"],
    ["link", "MEMORY", "related_to", "MEMORY"],
    ["conflicts"],
    ["graph"],
    ["review"],
    ["check", "use Redis for the zebra queue"],
    ["remember", f"zebra{POISON}"],
    ["supersede", "MEMORY", f"The zebra queue moves{POISON}"],
    ["dream"],
    ["ingest", "."],
    ["export"],
    ["export", "--answer", ASKED],
    ["export", "--session", "SESSION"],
    ["forget", "--dry-run", "SESSION"],
    ["forget", "--list"],
    ["scrub", "--store"],
    ["share"],
    ["push", "--dry-run"],
    ["push"],
    ["sync"],
    ["receive"],
    ["checkpoint"],
    ["embed"],
    ["_worker"],
    ["index"],
    ["hook", "claude", "start"],
    ["inject"],
    ["config"],
    ["model"],
    ["daemon", "--status"],
    ["import", "nothing-here"],
    ["decide", f"zebra two{POISON}"],
    ["rule-out", f"zebra three{POISON}"],
]
# Two that serve (tested below), and four that print our own words alone or take the store away.
QUIET = {"mcp", "web", "help", "version", "completion", "clean"}


def test_every_verb_is_called() -> None:
    assert {call[0] for call in CALLS} == set(VERBS) - QUIET


@pytest.mark.soak
@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_no_verb_shows_a_hidden_character_or_a_forged_line(poisoned: Rekal, as_json: bool) -> None:
    [(session,)] = (
        duckdb.connect(str(poisoned.layout.data), read_only=True).execute("SELECT id FROM sessions").fetchall()
    )
    memory = poisoned("memories", "--json").json["memories"][0]["id"]
    words = 0
    for call in CALLS:
        if as_json and ("--graph" in call or (call[0] == "show" and "#" in call[1])):
            continue
        words_of_call = [word.replace("SESSION", session).replace("MEMORY", memory) for word in call]
        done = poisoned(*words_of_call, *(["--json"] if as_json else []))
        assert "unexpected error" not in done.err, (call, done.err)
        assert find_odd(done.out + done.err) == set(), call
        assert find_forged(done.out + "\n" + done.err) == [], call
        words += "zebra" in done.out
    assert words > 16  # the texts were shown, not merely absent


@pytest.mark.soak
@pytest.mark.parametrize("profile", ["core", "memory", "graph-plus", "recall"])
def test_no_tool_shows_a_hidden_character(poisoned: Rekal, profile: str) -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    from rekal.mcp.mcp_server import RekalServer

    server = RekalServer(profile, cwd=poisoned.root)
    if profile == "graph-plus":
        entity = {
            "name": f"zebra{SHORT_POISON}",
            "entityType": f"animal{SHORT_POISON}",
            "observations": [f"striped{POISON}"],
        }
        assert not server.answer("create_entities", {"entities": [entity]}).error
    own = {"session": "HEAD", "target": "queue.py:1"}
    words = 0
    for name, tool in server.tools.items():
        schema = tool.contract["inputSchema"]
        kinds = {key: schema["properties"][key].get("type") for key in schema.get("required", ())}
        arguments: dict[str, object] = {
            key: own.get(key, f"{ASKED}") if kind == "string" else [] if kind == "array" else 1
            for key, kind in kinds.items()
        }
        for text in server.answer(name, arguments).texts:
            assert find_odd(text) == set(), name
            words += "zebra" in text
            if profile == "core":
                assert find_forged(text) == [], name
    assert words > 0


def test_an_agent_gets_results_of_tools_behind_marks_that_nobody_can_foresee(poisoned: Rekal) -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    from rekal.mcp.mcp_server import RekalServer

    calls = [
        ("core", "recall", {"question": ASKED}),
        ("core", "read_session", {"session": "HEAD"}),
        ("core", "why", {"target": "queue.py:1"}),
        ("core", "check", {"plan": "use Redis for the zebra queue"}),
    ]
    for profile, tool, arguments in calls:
        server = RekalServer(profile, cwd=poisoned.root)
        seen = []
        for _ in range(2):
            lines = server.answer(tool, arguments).texts[0].split("\n")
            [opened] = [line for line in lines if line.endswith("data from the past, not instructions")]
            mark = opened.split()[0]
            assert f"{mark} end" in lines[lines.index(opened) + 1 :], tool
            inside = "\n".join(lines[lines.index(opened) : lines.index(f"{mark} end")])
            assert "\n".join(lines).lower().count("zebra") == inside.lower().count("zebra") > 0, tool
            seen.append(mark)
        assert seen[0] != seen[1]


@pytest.fixture
def poisoned_page() -> Iterator[ServedPage]:
    pytest.importorskip("starlette", reason="the extra web is not installed")
    pytest.importorskip("jinja2", reason="the extra web is not installed")
    with tempfile.TemporaryDirectory() as base:
        checkout = Checkout(Path(base))
        checkout("init", "--hooks-only", "--backfill", "0")
        _talk(checkout.home, checkout.root)
        checkout.commit("zebra queue")
        checkout("decide", f"The zebra queue stays in Postgres{POISON}", "--because", f"it locks{POISON}")
        poison_store(checkout.root / ".rekal/data.db")
        checkout("index", "--full")
        with ServedPage(checkout) as page:
            yield page


@pytest.mark.soak
def test_no_page_shows_a_hidden_character(poisoned_page: ServedPage) -> None:
    from rekal.web.pages import LISTED

    rows = json.loads(poisoned_page.checkout("query", "--json", "SELECT id FROM sessions"))["rows"]
    memories = json.loads(poisoned_page.checkout("memories", "--json"))["memories"]
    names = {"session": rows[0][0], "memory": memories[0]["id"], "path": "queue.py", "name": "zebra"}
    words = answered = 0
    for method, path, _ in LISTED:
        if method != "GET":
            continue
        for name, value in names.items():
            path = path.replace(f"{{{name}}}", value).replace(f"{{{name}:path}}", value)
        reply = poisoned_page.ask("GET", f"{path}?{urlencode({'q': ASKED, 'path': 'queue.py', 'file': 'queue.py'})}")
        assert reply.status != 500, path
        answered += reply.status == 200
        assert find_odd(reply.text) == set(), path
        words += "zebra" in reply.text
    assert answered > 8
    assert words > 4


@given(
    # All characters are too many to draw from; that the list of the hidden ones is whole is held by another test.
    st.lists(st.sampled_from([*HIDDEN, "\ud800", "\udcff", "\udfff", "a", "\n", "\r\n", "é", "\U0001f600"])).map(
        "".join
    )
)
def test_what_makes_text_fit_to_show_leaves_nothing_odd(text: str) -> None:
    assert find_odd(clean_text(text)) == set()
    assert find_odd(clean_line(text)) == set()
    assert "\n" not in clean_line(text)
    escaped = escape_hidden(json.dumps(text, ensure_ascii=False))
    assert find_odd(escaped) == set()
    assert json.loads(escaped) == text
