"""Approaches that ended in failing tests and were taken back: read from the calls of one session.

Three acts in this order make one: files were edited, a test command failed, the same files were put back. The agent's
own sentence about giving it up is the text, word for word; without such a sentence nothing is proposed, since then
nobody said what the approach was.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

import msgspec

from rekal.memory.reflexes import plain_sentences
from rekal.model import Session, ToolCall
from rekal.plain_text import lazy_pattern

_FEWEST_WORDS, _LONGEST_SENTENCE = 4, 320
_TESTS = lazy_pattern(
    r"\b(pytest|tox|nox|unittest|jest|vitest|mocha|rspec|phpunit|ctest|(cargo|go|npm|pnpm|yarn|bun|deno|dotnet|swift|mix"
    r"|rake|gradle|gradlew|mvn|make|npm run|cargo nextest)\s+(-\S+\s+)*(test|check|run|verify))\b"
)
_PUT_BACK = lazy_pattern(r"\bgit\s+(checkout|restore|reset|stash)\b([^;&|\n]*)")
_GIVING_UP = lazy_pattern(
    r"\b(revert(ing|ed)?|roll(ing|ed)? back|back(ing|ed)? (it |this |that )?out|undo(ing)?|abandon(ing|ed)?"
    r"|giv(e|ing) up"
    r"|(did|does|do|will|won)(n['’]t| not) work|not (going to )?work|dead end|wrong approach|different approach"
    r"|another approach|scrap(ping)?|drop(ping|ped)? (this|that|the))\b",
    re.IGNORECASE,
)


class Abandoned(msgspec.Struct, frozen=True):
    """One approach that was given up: the agent's sentence with its turn, the test command that failed, the files."""

    text: str
    turn_seq: int
    turn_uid: str
    failed: str
    paths: tuple[str, ...]


def find_abandoned(session: Session) -> list[Abandoned]:
    """Approaches of a session that were edited, failed their tests and were put back, in order."""
    written: dict[int, list[str]] = {}
    for edit in session.edits:
        written.setdefault(edit.tool_call_seq, []).append(edit.path)
    found: list[Abandoned] = []
    edited: dict[str, int] = {}  # path: number of the call that wrote it last
    failed: ToolCall | None = None
    for call in sorted(session.tool_calls, key=lambda one: one.seq):
        for path in written.get(call.seq, ()):
            edited[path] = call.seq
        command = call.command or ""
        if edited and call.outcome == "error" and _TESTS.search(command):
            failed = call
        elif failed is not None and call.outcome != "error" and (paths := _paths_put_back(command, edited, failed.seq)):
            if one := _said_of_it(session, failed, call):
                found.append(msgspec.structs.replace(one, paths=paths))
            for path in paths:
                del edited[path]
            failed = None
    return found


def _paths_put_back(command: str, edited: dict[str, int], before: int) -> tuple[str, ...]:
    """The edited files, written before the call ``before``, that a command puts back to what git has."""
    mine = [path for path, seq in edited.items() if seq < before]
    back: set[str] = set()
    for match in _PUT_BACK.finditer(command):
        words = _words_of(match[2])
        match match[1]:
            case "reset" if "--hard" in words:
                back.update(mine)
            case "stash" if not words or words[0] in ("push", "save") or words[0].startswith("-"):
                back.update(mine)
            case "restore" if "--staged" not in words or "--worktree" in words:
                back.update(_named_paths(words, mine))
            case "checkout" if "--" in words or "." in words:
                back.update(_named_paths(words, mine))
    return tuple(path for path in mine if path in back)


def _words_of(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # a quote that is cut
        return text.split()


def _named_paths(words: Sequence[str], paths: Sequence[str]) -> list[str]:
    """Those of ``paths`` that the words of a command name, by themselves or by a folder above them."""
    named = [word.removeprefix("./").rstrip("/") for word in words if not word.startswith("-")]
    return [
        path
        for path in paths
        if any(name in (".", "") or path == name or path.startswith(f"{name}/") for name in named)
    ]


def _said_of_it(session: Session, failed: ToolCall, back: ToolCall) -> Abandoned | None:
    """The last sentence of the agent, from the failure to the turn in which it was put back, that gives it up."""
    for turn in reversed(session.turns):
        if turn.role != "assistant" or not failed.turn_seq <= turn.seq <= back.turn_seq + 1:
            continue
        for sentence in reversed(plain_sentences(turn.content)):
            fits = len(sentence.split()) >= _FEWEST_WORDS and len(sentence) <= _LONGEST_SENTENCE
            if fits and _GIVING_UP.search(sentence):
                return Abandoned(sentence, turn.seq, turn.uid, (failed.command or "")[:200], ())
    return None
