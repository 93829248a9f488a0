"""Every kind of secret in every wrapping: nothing of it survives, and nothing around it is harmed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from rekal.scrub import Rules, Scrubber
from rekal.scrub.secrets import KINDS
from tests.scrub.examples import ALL, BLOCKS, QUOTED, SURROUNDED, TOKENS, Example, example

SCRUBBER = Scrubber(Rules(homes=("/home/zelda",), username="zelda", salt="s"))

WRAPPINGS: dict[str, Callable[[Example], str]] = {
    "plain": lambda e: e.text,
    "prose": lambda e: f"I set it up like this: {e.text} and then it worked.",
    "json escaped once": lambda e: json.dumps({"output": f"ran\n{e.text}\nok"}),
    "json escaped twice": lambda e: json.dumps({"line": json.dumps({"output": f"ran\n{e.text}\tok"})}),
    "json escaped thrice": lambda e: json.dumps([json.dumps({"line": json.dumps({"output": f"x\n{e.text}\nok"})})]),
    "added in a diff": lambda e: (
        "@@ -1,2 +1,3 @@\n same\n" + "\n".join(f"+{line}" for line in e.text.split("\n")) + "\n-old"
    ),
    "removed in a diff": lambda e: "\n".join(f"-{line}" for line in e.text.split("\n")) + "\n+new",
    "title": lambda e: f"Fix: {e.text}",
    "coloured": lambda e: f"\x1b[32m{e.text}\x1b[0m",
    "crlf": lambda e: f"one\r\n{e.text}\r\ntwo",
    "after emoji": lambda e: f"\U0001f511 → {e.text} … é",
}
# Only a token can stand in these; a whole setting or a block of lines is never a name.
TOKEN_WRAPPINGS: dict[str, Callable[[Example], str]] = {
    "env dump": lambda e: f"HOME=/srv\nAPI_TOKEN={e.text}\nTERM=xterm",
    "tool argument": lambda e: json.dumps({"command": f"curl -H 'X-Api-Key: {e.text}' https://api.corp.net"}),
    "file name": lambda e: f"notes/{e.text}/todo.md",
    "branch name": lambda e: f"fix/{e.text}",
    "quoted": lambda e: f"key = '{e.text}'",
    "backticks": lambda e: f"use `{e.text}` here",
    "in brackets": lambda e: f"[{e.text}] ({e.text}) <{e.text}>",
    "url": lambda e: f"https://api.corp.net/run?x={e.text}&y=1",
    "terminal table": lambda e: f"│ {e.text} │",
}


def assert_gone(secret: str, scrubbed: str) -> None:
    """Nothing of eight characters or more of the secret is left, in any line of it."""
    for line in secret.split("\n"):
        body = re.sub(r"<private>|</private>|^rubygems_", "", line)
        for start in range(len(body) - 7):
            assert body[start : start + 8] not in scrubbed


def test_every_kind_has_an_example() -> None:
    assert {kind.name for kind in KINDS} == set(ALL)


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("kind", ALL)
def test_secret_is_gone(kind: str, wrapping: str) -> None:
    for seed in range(3):
        made = example(kind, seed)
        text = WRAPPINGS[wrapping](made)
        scrubbed = SCRUBBER.text(text)
        assert_gone(made.secret, scrubbed)
        assert "[redacted:" in scrubbed
        assert SCRUBBER.text(scrubbed) == scrubbed
        if "json" in wrapping:
            json.loads(scrubbed)


@pytest.mark.parametrize("wrapping", TOKEN_WRAPPINGS)
@pytest.mark.parametrize("kind", TOKENS)
def test_token_is_gone(kind: str, wrapping: str) -> None:
    made = example(kind)
    scrubbed = SCRUBBER.text(TOKEN_WRAPPINGS[wrapping](made))
    assert_gone(made.secret, scrubbed)
    assert SCRUBBER.text(scrubbed) == scrubbed


@pytest.mark.parametrize("kind", [*TOKENS, *SURROUNDED, *BLOCKS])
def test_kind_is_named(kind: str) -> None:
    assert kind in SCRUBBER.kinds(example(kind).text)


@pytest.mark.parametrize("kind", [*TOKENS, *SURROUNDED, *QUOTED])
def test_only_the_secret_is_replaced(kind: str) -> None:
    made = example(kind)
    scrubbed = SCRUBBER.text(f"before {made.text} after")
    assert scrubbed.startswith("before " + made.before)
    assert scrubbed.endswith(" after")


@pytest.mark.parametrize("other", ["github-token", "anthropic-key", "jwt", "aws-access-key"])
@pytest.mark.parametrize("kind", TOKENS)
@pytest.mark.parametrize("between", [" ", "\n", ",", "\\n", '","'])
def test_adjacent_secrets_are_both_gone(kind: str, other: str, between: str) -> None:
    first, second = example(kind, 5), example(other, 6)
    scrubbed = SCRUBBER.text(first.text + between + second.text)
    assert_gone(first.secret, scrubbed)
    assert_gone(second.secret, scrubbed)
    assert between in scrubbed


def test_glued_tokens_are_both_gone() -> None:
    glued = example("github-token", 1).text + example("github-token", 2).text
    scrubbed = SCRUBBER.text(glued)
    assert_gone(glued, scrubbed)


WITHOUT_PREFIX = ("high-entropy", "jwt", "telegram-token", "vault-token", "doppler-token")
LONG = [kind for kind in TOKENS if len(example(kind).text) >= 44 and kind not in WITHOUT_PREFIX]
ONE_RUN = [kind for kind in LONG if "." not in example(kind).text[8:] and "$" not in example(kind).text]


@pytest.mark.parametrize("wrap", ["\n", "\n    ", "\r\n", "\\n", "\n+"])
@pytest.mark.parametrize("kind", ONE_RUN)
def test_wrapped_token_is_gone(kind: str, wrap: str) -> None:
    text = example(kind).text
    for width in (20, 30):
        lines = [text[start : start + width] for start in range(0, len(text), width)]
        if len(lines[-1]) < 8:
            lines[-2:] = [lines[-2] + lines[-1]]
        scrubbed = SCRUBBER.text(f"x {wrap.join(lines)} end")
        assert_gone("\n".join(lines), scrubbed)
        assert scrubbed.count(wrap) == len(lines) - 1


def test_diff_keeps_its_signs() -> None:
    block = example("private-key").text.split("\n")
    scrubbed = SCRUBBER.text("\n".join(f"+{line}" for line in block) + "\n rest")
    assert [line[0] for line in scrubbed.split("\n")] == ["+"] * len(block) + [" "]


@pytest.mark.parametrize("escape", ["\n", "\\n", "\\\\n", "\r\n"])
def test_key_block_cut_off(escape: str) -> None:
    lines = example("private-key").text.split("\n")
    scrubbed = SCRUBBER.text(escape.join(lines[:3]))
    assert_gone("\n".join(lines[1:3]), scrubbed)


def test_header_of_a_key_block_alone_stays() -> None:
    text = 'if "-----BEGIN RSA PRIVATE' + ' KEY-----" in pem: raise'
    assert SCRUBBER.text(text) == text


def test_a_private_mark_without_its_end_holds_for_its_line() -> None:
    assert SCRUBBER.text("a <private> b\nc") == "a [redacted:private]\nc"
    assert SCRUBBER.text("a <private> b\\nc") == "a [redacted:private]\\nc"
    assert SCRUBBER.text("a\n<private> b\nc") == "a\n[redacted:private]"
    assert SCRUBBER.text("how does `<private>` work?\nTell me") == "how does `<private>` work?\nTell me"
    assert SCRUBBER.text("a <PRIVATE>b</Private> c") == "a [redacted:private] c"
