"""Ends that sessions left open: a question that nobody answered, tests that failed when they were last run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

import msgspec

from rekal.store.database import Connection, with_zone

# Commands that run tests, in the ecosystems that agents work in; the last one of a session counts.
_TESTS = (
    r"(^|[\s;&|/])(pytest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|(go|cargo|mvn|gradlew?|dotnet|swift|deno|bun|"
    r"mix|sbt|make|npm|yarn|pnpm)(\s+run)?(\s+-\S+)*\s+(test|check)\S*)(\s|$)"
)


class OpenEnd(msgspec.Struct, frozen=True):
    """Something that a session left: ``unanswered`` with the question's text, ``red`` with the command that failed."""

    session_id: str
    turn: int
    kind: Literal["unanswered", "red"]
    text: str
    at: datetime | None


def find_open_ends(con: Connection, sessions: Sequence[str]) -> list[OpenEnd]:
    """Find the ends that these sessions left open, newest first."""
    asked = con.execute(
        """SELECT session_id, max(seq), arg_max(role, seq), arg_max(content, seq), arg_max(occurred_at, seq)
           FROM turns WHERE session_id IN (SELECT unnest(?::VARCHAR[])) GROUP BY 1""",
        [list(sessions)],
    ).fetchall()
    ran = con.execute(
        """SELECT session_id, arg_max(turn_seq, seq), arg_max(outcome, seq), arg_max(command, seq),
                  arg_max(occurred_at, seq)
           FROM tool_calls WHERE session_id IN (SELECT unnest(?::VARCHAR[])) AND outcome IS NOT NULL
           AND regexp_matches(command, ?) GROUP BY 1""",
        [list(sessions), _TESTS],
    ).fetchall()
    found = [
        OpenEnd(one, turn, "unanswered", text, with_zone(at)) for one, turn, role, text, at in asked if role == "human"
    ]
    found += [
        OpenEnd(one, max(0, turn), "red", text, with_zone(at)) for one, turn, out, text, at in ran if out == "error"
    ]
    return sorted(found, key=lambda end: (end.at is not None, end.at or 0, end.session_id), reverse=True)
