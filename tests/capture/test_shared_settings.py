"""A settings file that came with the checkout: it makes things stricter, never laxer, and nothing in silence."""

from __future__ import annotations

import re
import time

import pytest

from rekal.config import HELP
from rekal.scrub import Rules, Scrubber
from rekal.scrub.rules import find_broken_patterns
from rekal.shared_settings import STRICTER
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession

TOKEN = "ghp_" + "Qw1Er2Ty3Ui4Op5As6Df7Gh8Jk9Lz0XcVbNm"


def shared(rekal: Rekal, text: str) -> None:
    rekal.layout.config.write_text(text, encoding="utf-8")


def values(rekal: Rekal) -> dict[str, object]:
    return {one["key"]: one["value"] for one in rekal("config", "--json").json["settings"]}


def said(rekal: Rekal) -> str:
    """All that ``status`` says, after checking that ``init`` says the same of the shared file."""
    out = rekal("status").out
    told = rekal("init")
    for line in out.splitlines():
        if "config.yml" in line:
            assert line.removeprefix("! ") in told.err + told.out
    return out


def test_a_pulled_file_does_not_switch_scrubbing_off(rekal: Rekal) -> None:
    before = values(rekal)
    shared(rekal, "scrub: {allow: ['(?s).*'], email: keep}\nrecall: {budget: 100000000, limit: 1000000}\n")
    session = ClaudeSession(rekal.home, rekal.root).human(f"use {TOKEN} for bob@customer-mail.de")
    assert session
    assert rekal("checkpoint").code == 0
    text = rekal("query", "--json", "SELECT content FROM turns WHERE role = 'human'").json["rows"][0][0]
    assert TOKEN not in text and "bob@" not in text
    assert values(rekal) == before
    assert re.search(r"asks for scrub\.allow, scrub\.email, recall\.budget, recall\.limit, which", said(rekal))


LAXER = {
    "enabled": "false",
    "capture.agents": "[codex]",
    "capture.tool_output": "errors",
    "capture.exclude.paths": "['**', '*']",
    "scrub.email": "keep",
    "scrub.ip": "keep",
    "scrub.patterns": "['.*']",
    "scrub.allow": "[a]",
    "recall.strictness": "0",
    "recall.budget": "5000",
    "recall.limit": "50",
    "recall.daemon": "auto",
    "embed.model": "/tmp/x.gguf",
    "embed.file": "/tmp/x.gguf",
    "embed.engine": "remote",
    "embed.url": "http://example.com",
    "embed.remote_model": "x",
    "extract.model": "x",
    "extract.url": "http://example.com",
    "extract.command": "sh -c true",
    "memory.ruled_out_from": "1.0",
    "memory.share": "accepted",
    "memory.reflexes": "true",
    "transport.share": "full",
    "transport.remotes": "{origin: x}",
    "transport.namespace": "heads",
    "transport.mainline": "other",
}
STRICT_OWN = "capture: {tool_output: none}\nscrub: {ip: redact}\nmemory: {reflexes: false}\n"


def test_every_key_is_tried() -> None:
    others = {"capture.exclude.branches", "capture.exclude.sessions"}  # of one kind with the paths
    assert set(LAXER) | others == set(HELP)


def nested(key: str, value: str) -> str:
    *sections, last = key.split(".")
    text = f"{last}: {value}"
    for section in reversed(sections):
        text = f"{section}: {{{text}}}"
    return text + "\n"


@pytest.mark.parametrize("key", sorted(LAXER))
def test_no_key_is_made_laxer(rekal: Rekal, key: str) -> None:
    (rekal.home / "rekal").mkdir(exist_ok=True)
    (rekal.home / "rekal" / "config.yml").write_text(STRICT_OWN, encoding="utf-8")
    before = values(rekal)
    shared(rekal, nested(key, LAXER[key]))
    assert values(rekal) == before
    if key != "recall.daemon":  # off in the tests' environment
        assert f"asks for {key}, which" in said(rekal)


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("capture.tool_output", "none", "none"),
        ("capture.exclude.branches", "['tmp/*']", ["tmp/*"]),
        ("scrub.ip", "redact", "redact"),
        ("scrub.patterns", "['ACME-[0-9]+']", ["ACME-[0-9]+"]),
        ("recall.strictness", "0.45", 0.45),
        ("recall.strictness", "1.0", 0.5),
        ("recall.budget", "300", 300),
        ("recall.limit", "0", 1),
        ("memory.reflexes", "false", False),
    ],
)
def test_what_is_stricter_is_followed_and_named(rekal: Rekal, key: str, value: str, expected: object) -> None:
    shared(rekal, nested(key, value))
    assert values(rekal)[key] == expected
    assert f"which came with the checkout, changes {key} (" in said(rekal)
    assert key in STRICTER


def test_this_clones_own_file_has_the_last_word_but_patterns_add_up(rekal: Rekal) -> None:
    rekal.layout.own_config.write_text("scrub: {ip: keep, patterns: [own-one]}\n", encoding="utf-8")
    shared(rekal, "scrub: {ip: redact, patterns: [their-one]}\n")
    assert (values(rekal)["scrub.ip"], values(rekal)["scrub.patterns"]) == ("keep", ["own-one", "their-one"])


@pytest.mark.parametrize(
    "text",
    ["recall: [\n", "- a\n- b\n", "recall: {limit: many}\n", "scrub: {patterns: 5}\n", "# " + "x" * 70_000, "a: " * 9],
)
def test_a_mistake_in_it_stops_nothing_and_is_named(rekal: Rekal, text: str) -> None:
    shared(rekal, text)
    ClaudeSession(rekal.home, rekal.root).human("Build the queue")
    assert rekal("checkpoint").code == 0
    assert rekal("query", "--json", "SELECT count(*) FROM turns").json["rows"] != [[0]]
    assert "config.yml" in said(rekal)


def test_a_broken_pattern_costs_itself_and_is_named(rekal: Rekal) -> None:
    shared(rekal, "scrub: {patterns: ['(', 'ACME-[0-9]+']}\n")
    ClaudeSession(rekal.home, rekal.root).human("The key is ACME-12345 today")
    assert rekal("checkpoint").code == 0
    text = rekal("query", "--json", "SELECT content FROM turns WHERE role = 'human'").json["rows"][0][0]
    assert text == "The key is [redacted:custom] today"
    assert "the pattern '(' of .rekal/config.yml is not used" in said(rekal)


def test_a_slow_pattern_costs_its_time_once_and_is_named(rekal: Rekal) -> None:
    shared(rekal, "scrub: {patterns: ['(?:a|a|ab|b)+c[0-9]']}\n")
    ClaudeSession(rekal.home, rekal.root).human("ab" * 60 + " c1").human("ba" * 60 + " c1")
    start = time.process_time()
    assert rekal("checkpoint").code == 0
    assert time.process_time() - start < 15
    assert rekal("query", "--json", "SELECT count(*) FROM turns").json["rows"] == [[2]]
    assert "is not used: it takes too long" in said(rekal)
    assert rekal.layout.slow_patterns.is_file()


def test_patterns_that_cannot_be_stopped_by_re_are_stopped() -> None:
    slow: list[str] = []
    pattern = r"(?:a|a|ab|b)+c[0-9]"
    scrubber = Scrubber(Rules(shared=(pattern, "ACME-[0-9]+")), slow.append)
    for text in ("ab" * 60 + " c1 ACME-1234", "ba" * 60 + " c1 ACME-1234"):
        assert "ACME" not in scrubber.text(text)
    assert slow == [pattern]


def test_patterns_that_take_long_to_compile_are_broken() -> None:
    patterns = ("a{100000}", "(" * 400 + "a" + ")" * 400, "[", r"(?P<secret>x)(?P<secret", "fine+")
    assert set(find_broken_patterns(patterns)) >= {"a{100000}", "[", r"(?P<secret>x)(?P<secret"}
    assert "fine+" not in find_broken_patterns(patterns)
