"""What does not hold now is shown by no verb and no tool that was not asked for another state or time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.app import Rekal

WORDS = "redis lock queue postgres worker"
HIDDEN = {
    "ended": ("--until", "2020-01-01"),
    "coming": ("--valid-from", "2099-01-01"),
}
READERS: tuple[tuple[str, ...], ...] = (
    ("recall", WORDS),
    ("recall", "--json", WORDS),
    ("recall", "--explain", WORDS),
    ("check", WORDS),
    ("check", "--json", WORDS),
    ("memories",),
    ("memories", "--json"),
    ("review", "--json"),
    ("conflicts",),
    ("brief",),
    ("inject", WORDS),
    ("inject", "try"),
    ("inject", "try", WORDS),
    ("dream",),
    ("graph", "show"),
    ("stats",),
    ("sessions",),
    ("log",),
)


@pytest.fixture
def words(rekal: Rekal) -> dict[str, str]:
    """A word of each memory that stands in no other, by what the memory is."""
    found: dict[str, str] = {}
    for kind, options in HIDDEN.items():
        for verb, more in (
            ("decide", ()),
            ("rule-out", ("--because", "it was slow")),
            ("remember", ("--type", "fact")),
        ):
            token = f"{kind}{verb.replace('-', '')}"
            past = ("--valid-from", "2019-12-01") if kind == "ended" else ()
            done = rekal(verb, f"{WORDS} {token}", *more, *past, *options)
            assert done.code == 0, done.err
            found[f"{kind} {verb}"] = token
    for verb, ruling in (("decide", "--reject"), ("remember", "--retract")):
        made = rekal(verb, f"{WORDS} {verb}ruled", "--json")
        name = made.json["memory"]["id"]
        assert rekal("review", ruling, name).code == 0
        found[ruling] = f"{verb}ruled"
    assert rekal("decide", f"{WORDS} stillholding").code == 0
    return found


@pytest.mark.parametrize("reader", READERS, ids=" ".join)
def test_no_verb_shows_what_does_not_hold(rekal: Rekal, words: dict[str, str], reader: tuple[str, ...]) -> None:
    ran = rekal(*reader)
    assert ran.code in (0, 1, 3, 7), ran.err
    assert [kind for kind, token in words.items() if token in ran.out + ran.err] == []


def test_the_one_that_holds_is_shown(rekal: Rekal, words: dict[str, str]) -> None:
    # Words that all rules have tell none of them apart: `check` needs one that is this rule's own.
    for reader in (("recall", WORDS), ("check", f"replace stillholding by {WORDS}"), ("memories",)):
        assert "stillholding" in rekal(*reader).out


def _arguments(schema: dict[str, Any]) -> dict[str, Any]:
    """Values for the parameters that a tool insists on."""
    values = {"string": WORDS, "integer": 5, "number": 5, "boolean": True, "array": [WORDS], "object": {}}
    wanted = schema.get("required", ())
    return {name: values.get(schema["properties"][name].get("type"), WORDS) for name in wanted}


def ask_every_tool(root: Path) -> Iterator[tuple[str, str]]:
    """Call every tool that reads, of every profile: its name and all that it says."""
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    from rekal.mcp.mcp_server import RekalServer
    from rekal.mcp.tool_profiles import PROFILES

    for profile in PROFILES:
        server = RekalServer(profile, cwd=root)
        for name, tool in server.tools.items():
            if tool.contract.get("annotations", {}).get("readOnlyHint"):
                answer = server.answer(name, _arguments(tool.contract["inputSchema"]))
                yield f"{profile} {name}", " ".join(answer.texts) + str(answer.structured)


def test_no_tool_of_any_profile_shows_what_does_not_hold(rekal: Rekal, words: dict[str, str]) -> None:
    asked = 0
    for tool, said in ask_every_tool(rekal.root):
        assert [kind for kind, token in words.items() if token in said] == [], tool
        asked += 1
    assert asked > 10
