"""The prompt behind an edit and the sentence that explains it, out of a session; else of the commit's message."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

import msgspec

from rekal.git import Repo
from rekal.model import Role
from rekal.reasons.choose_reason import SpokenTurn, choose_reason
from rekal.reasons.prompt_content import choose_prompt
from rekal.store.database import Connection
from rekal.store.why_rows import (
    Quote,
    select_edited_paths,
    select_last_prompts,
    select_turn_before,
    select_words_around,
)

ReasonKind = Literal["reason", "result", "message"]

_TRAILER = re.compile(r"[A-Za-z][A-Za-z-]*: \S")
_ITEM = re.compile(r"\s*(?:[-*•]|\d+[.)])\s|\s{4}")


class PromptQuote(Quote, frozen=True):
    """A prompt. ``answers`` is what a bare one ("yes", "do 1 and 3") says yes to; null for one that tells by itself."""

    answers: str | None = None


class ReasonQuote(msgspec.Struct, frozen=True):
    """One sentence on an edit: a ``reason``, a ``result``, or a line of the commit's ``message``.

    ``session_id`` and ``seq`` are the turn it stands in; null for a message.
    """

    kind: ReasonKind
    text: str
    session_id: str | None = None
    seq: int | None = None
    role: Role | None = None
    occurred_at: datetime | None = None


class SpokenReasons:
    """Reads the words around edits of one store; the same sentence explains one edit of a session."""

    def __init__(self, con: Connection) -> None:
        self._con = con
        self._taken: dict[str, set[str]] = {}

    def read(self, session: str, turn: int, about: Sequence[str]) -> tuple[PromptQuote | None, ReasonQuote | None]:
        """Return the prompt and the sentence behind an edit; None for either where nothing worth showing was said.

        ``about`` are the lines written and the commit's subject.
        """
        prompts = select_last_prompts(self._con, session, turn, 2)
        start = prompts[0].seq if prompts and prompts[0].session_id == session else 0
        return self._choose_prompt(prompts), self._choose_reason(session, turn, start, about)

    def _choose_prompt(self, prompts: Sequence[Quote]) -> PromptQuote | None:
        before = select_turn_before(self._con, prompts[0].session_id, prompts[0].seq) if prompts else None
        shown = choose_prompt([one.text for one in prompts], before.text if before else "")
        if shown is None:
            return None
        one = prompts[shown.back]
        return PromptQuote(one.session_id, one.seq, one.role, one.occurred_at, one.text, shown.answers)

    def _choose_reason(self, session: str, turn: int, start: int, about: Sequence[str]) -> ReasonQuote | None:
        around = select_words_around(self._con, session, start, turn)
        closing = around.turns[-1].seq if around.turns else -1
        turns = [
            SpokenTurn(one.seq, one.text, one.seq == closing)
            for one in around.turns
            if around.first <= one.seq <= around.last or one.seq == closing
        ]
        taken = self._taken.setdefault(session, set())
        paths = select_edited_paths(self._con, session, turn)
        found = choose_reason(turns, turn, [*about, *paths], taken=taken, shared_closing=around.edited_later)
        if found is None:
            return None
        taken.add(found.sentence.text)
        said = next(one for one in around.turns if one.seq == found.seq)
        return ReasonQuote(found.worth.kind, found.sentence.text, session, said.seq, said.role, said.occurred_at)


def read_message_reasons(repo: Repo, subjects: Mapping[str, str]) -> dict[str, ReasonQuote]:
    """Return by commit the sentence of its message that gives a reason or a result; those without are left out.

    ``subjects`` are the subjects of the commits asked for. GitError where git knows one of them no more.
    """
    if not subjects:
        return {}
    out = repo.run("log", "-z", "--no-walk=unsorted", "--no-show-signature", "--format=%H%n%b", *subjects, "--")
    found: dict[str, ReasonQuote] = {}
    for row in out.split("\0"):
        sha, _, body = row.partition("\n")
        message = _join_lines(body)
        chosen = choose_reason([SpokenTurn(0, message)], 0, [subjects[sha]]) if message else None
        if chosen:
            found[sha] = ReasonQuote("message", chosen.sentence.text)
    return found


def _join_lines(body: str) -> str:
    """The paragraphs of a message, each on one line: git's are wrapped at 72 characters in mid-sentence."""
    paragraphs = [one for one in re.split(r"\n\s*\n", body.strip()) if one.strip()]
    if paragraphs and all(_TRAILER.match(line) for line in paragraphs[-1].splitlines()):
        paragraphs.pop()
    lines: list[str] = []
    for paragraph in paragraphs:
        fresh = True
        for line in paragraph.splitlines():
            if fresh or _ITEM.match(line):
                lines.append(line.strip())
            else:
                lines[-1] += f" {line.strip()}"
            fresh = False
    return "\n".join(lines)
