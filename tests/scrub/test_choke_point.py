"""Transcript in, session out: the only way, and everything on it is scrubbed."""

from __future__ import annotations

import ast
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

import rekal
from rekal import ids
from rekal.model import Author, RawCall, RawTurn, Session, Transcript
from rekal.scrub import Rules, Scrubber, scrub_session
from tests.scrub.examples import example

AUTHOR = Author("Test Person", "person@example.com")
SCRUBBER = Scrubber(Rules(homes=("/home/zelda",), username="zelda", salt="s"))
SECRET = example("github-token").secret
WHEN = datetime(2026, 1, 2, tzinfo=UTC)
LEAK = f"/home/zelda {SECRET}"

SPLIT = ["github-token", "anthropic-key", "openai-key", "gitlab-token", "npm-token", "stripe-key", "groq-key"]


def session(transcript: Transcript, rules: Rules | None = None) -> Session:
    scrubber = SCRUBBER if rules is None else Scrubber(rules)
    return scrub_session(scrubber, transcript, AUTHOR)


def of_turns(*turns: RawTurn, calls: tuple[RawCall, ...] = ()) -> Session:
    return session(Transcript("codex", "n1", turns=turns, calls=calls))


def test_every_string_is_scrubbed() -> None:
    call = RawCall(LEAK, 0, LEAK, False, LEAK, LEAK, "error", LEAK, WHEN, (LEAK, "plain line"), LEAK)
    raw = Transcript(
        agent="codex",
        native_id=LEAK,
        turns=(RawTurn("human", LEAK, LEAK, False, WHEN, LEAK),),
        calls=(call,),
        cwds=(LEAK,),
        branches=(LEAK,),
        parent_native_id=LEAK,
        forked_from=LEAK,
        agent_type=LEAK,
        description=LEAK,
        model=LEAK,
        title=LEAK,
        started_at=WHEN,
    )
    stored = msgspec.json.encode(session(raw)).decode()
    assert SECRET not in stored
    assert "zelda" not in stored
    assert stored.count("[redacted:github-token]") == 14


def test_ids_are_derived_from_names() -> None:
    raw = Transcript("codex", "n1", parent_native_id="n0", forked_from="n2")
    made = session(raw)
    assert made.id == ids.session_id("codex", "n1", AUTHOR.email)
    assert made.parent_id == ids.session_id("codex", "n0", AUTHOR.email)
    assert made.forked_from == ids.session_id("codex", "n2", AUTHOR.email)


def test_turn_ids() -> None:
    shared, own, first, second, nudge, again = of_turns(
        RawTurn("human", "a", "m1", shared=True),
        RawTurn("human", "a", "m1"),
        RawTurn("human", "a"),
        RawTurn("human", "a"),
        RawTurn("steering", "go on"),
        RawTurn("steering", "go on"),
    ).turns
    here = ids.session_id("codex", "n1", AUTHOR.email)
    assert shared.uid == ids.derive("turn", "codex", "m1")
    assert own.uid == ids.derive("turn", here, "m1")
    assert first.uid == ids.derive("turn", here, "human", "a", "0")
    assert second.uid == ids.derive("turn", here, "human", "a", "1")
    assert nudge.uid == again.uid == ids.derive("turn", here, "steering", "go on", "0")


def test_call_ids() -> None:
    calls = (
        RawCall("Bash", native_id="c1", shared=True),
        RawCall("Bash", native_id="c1"),
        RawCall("Bash", path="a.py", command="ls"),
        RawCall("Bash", path="a.py", command="ls"),
    )
    here = ids.session_id("codex", "n1", AUTHOR.email)
    assert [call.uid for call in of_turns(calls=calls).tool_calls] == [
        ids.derive("call", "codex", "c1"),
        ids.derive("call", here, "c1"),
        ids.derive("call", here, "Bash", "a.py", "ls", "0"),
        ids.derive("call", here, "Bash", "a.py", "ls", "1"),
    ]


def test_empty_turns_are_dropped_and_calls_follow() -> None:
    made = of_turns(
        RawTurn("human", " \n"),
        RawTurn("human", "do it"),
        RawTurn("assistant", ""),
        RawTurn("assistant", "done"),
        calls=tuple(RawCall("Bash", turn) for turn in (-1, 0, 1, 2, 3, 9)),
    )
    assert [(turn.seq, turn.content) for turn in made.turns] == [(0, "do it"), (1, "done")]
    assert [call.turn_seq for call in made.tool_calls] == [-1, -1, 0, 0, 1, -1]


def test_command_and_excerpt_are_cut_after_scrubbing() -> None:
    command = "x" * 190 + " " + SECRET
    call = RawCall("Bash", command=command, outcome="error", excerpt="y " * 195 + SECRET)
    stored = of_turns(calls=(call,)).tool_calls[0]
    assert stored.command is not None
    assert stored.excerpt is not None
    assert len(stored.command) <= 200
    assert len(stored.excerpt) <= 400
    assert SECRET[:6] not in stored.command + stored.excerpt
    assert SCRUBBER.text(stored.command) == stored.command


def test_title_cut_from_a_prompt_hides_no_half_of_a_secret() -> None:
    prompt = "x" * 170 + " " + SECRET + " and more\nnext line"
    made = session(Transcript("codex", "n1", turns=(RawTurn("human", prompt),), title=prompt[:200]))
    assert made.title is not None
    assert made.title.startswith("x" * 170 + " [redacted:github-token")
    assert len(made.title) <= 200
    assert SECRET[:8] not in made.title
    assert session(Transcript("codex", "n1", title="y" * 300)).title == "y" * 200


@pytest.mark.parametrize(("outcome", "kept"), [("error", True), ("ok", False), (None, False)])
def test_excerpts_of_errors_only(outcome: str | None, kept: bool) -> None:
    call = msgspec.convert({"tool": "Bash", "outcome": outcome, "excerpt": "boom"}, RawCall)
    assert (of_turns(calls=(call,)).tool_calls[0].excerpt is not None) == kept
    assert session(Transcript("a", "b", calls=(call,)), Rules(tool_output="none")).tool_calls[0].excerpt is None


def test_lines_with_secrets_and_thin_lines_have_no_hash() -> None:
    block = example("private-key").text.split("\n")
    wrote = ("value = compute(1)", 'password = "hunter2"', "}", *block, "return value + 1")
    (edit,) = of_turns(calls=(RawCall("Bash"), RawCall("Write", path="a.py", wrote=wrote))).edits
    assert (edit.seq, edit.tool_call_seq, edit.path) == (0, 1, "a.py")
    assert edit.line_hashes == (ids.line_hash("value = compute(1)"), ids.line_hash("return value + 1"))


def test_private_blocks_are_never_stored() -> None:
    made = of_turns(RawTurn("human", "keep <private>not this</private> this"), RawTurn("human", "<private>all\nof it"))
    assert [turn.content for turn in made.turns] == ["keep [redacted:private] this"]


@pytest.mark.parametrize("between", ["", "\n", "  "])
@pytest.mark.parametrize("kind", SPLIT)
def test_token_split_across_two_turns_is_gone(kind: str, between: str) -> None:
    token = example(kind, 3).secret
    for cut in (len(token) // 3, len(token) // 2, len(token) - 9):
        made = of_turns(
            RawTurn("assistant", f"the key is {token[:cut]}{between}"),
            RawTurn("assistant", f"{between}{token[cut:]} as you see"),
        )
        stored = "".join(turn.content for turn in made.turns)
        assert stored == f"the key is [redacted:{kind}][redacted:{kind}] as you see"


def test_words_across_two_turns_stay() -> None:
    texts = [
        "see the task-",
        "skipping123 part",
        "commit deadbeef",
        "0123456789 is the rest",
        "ends with sk-",
        "Now go",
    ]
    token = example("npm-token").secret
    made = of_turns(*(RawTurn("assistant", text) for text in [*texts, f"it was {token}", "JavaScript is next"]))
    assert [turn.content for turn in made.turns] == [*texts, "it was [redacted:npm-token]", "JavaScript is next"]


def test_cwd_is_relative_to_the_root() -> None:
    raw = Transcript("codex", "n1", cwds=("/home/zelda/repo/pkg", "/tmp"), branches=("main", "next"))
    assert scrub_session(SCRUBBER, raw, AUTHOR, root="/home/zelda/repo").cwd == "pkg"
    assert scrub_session(SCRUBBER, raw, AUTHOR, root="/home/zelda/repo/pkg").cwd == "."
    assert scrub_session(SCRUBBER, raw, AUTHOR, root="/home/zelda/re").cwd == "~/repo/pkg"
    assert scrub_session(SCRUBBER, raw, AUTHOR).branch == "main"
    assert scrub_session(SCRUBBER, raw, AUTHOR, branch="topic").branch == "topic"


def test_scrubbing_twice_gives_the_same_session() -> None:
    raw = Transcript("codex", "n1", turns=(RawTurn("human", LEAK), RawTurn("assistant", "ok")))
    assert session(raw) == session(raw)


def test_sessions_are_made_nowhere_else() -> None:
    package = Path(rekal.__file__).parent
    made_in = set()
    for file in package.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
                if called == "Session":
                    made_in.add(file.relative_to(package).parts[0])
    assert "scrub" in made_in
    # Documents make theirs of items that were scrubbed one by one (`rekal/documents/threads.py`).
    assert made_in <= {"scrub", "wire", "documents"}
