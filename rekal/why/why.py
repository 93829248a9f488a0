"""Why is this line here, and why this commit: what the command line, and whoever else asks, is answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby

import msgspec

from rekal.git import Repo
from rekal.store.database import Connection
from rekal.why.attribute import Attribution, Level, attribute
from rekal.why.blame import Blame, BlamedCommit
from rekal.why.commit_turns import Led, led_to
from rekal.why.reasons import Said, because_of, prompt_of


class Reason(msgspec.Struct, frozen=True):
    """Why some lines, or a commit, are there.

    ``first`` and ``last`` are lines of the file as it is now (0 for a commit). ``level`` says how close the record
    comes: ``line`` and ``hunk`` are edits of the turn, ``file`` and ``commit`` are what the session did by other
    means, ``none`` is no record, with ``note`` saying why. ``commit`` is null for what is not committed;
    ``recorded_as`` is the commit's former name, under which its session was recorded.
    """

    level: Level
    first: int = 0
    last: int = 0
    commit: str | None = None
    author: str | None = None
    committed_at: datetime | None = None
    subject: str | None = None
    recorded_as: str | None = None
    session_id: str | None = None
    turn: int | None = None
    agent: str | None = None
    session_author: str | None = None
    prompt: Said | None = None
    because: Said | None = None
    note: str = ""


class WhyAnswer(msgspec.Struct, frozen=True):
    """What ``why --json`` prints. ``path`` is null for a commit; ``reasons`` are in the order of lines or sessions."""

    target: str
    path: str | None
    lines: int
    recorded: int
    reasons: list[Reason]


class _Teller:
    """Fills in who and what was said; the same turn is asked for once."""

    def __init__(self, con: Connection) -> None:
        self._con = con
        self._told: dict[tuple[str, int], tuple[str, str, Said | None, Said | None]] = {}

    def fill(self, reason: Reason, about: Sequence[str]) -> Reason:
        """``reason`` with its session's facts and words."""
        if reason.session_id is None or reason.turn is None:
            return reason
        where = (reason.session_id, reason.turn)
        if where not in self._told:
            self._told[where] = self._tell(*where, about)
        agent, author, prompt, because = self._told[where]
        return msgspec.structs.replace(reason, agent=agent, session_author=author, prompt=prompt, because=because)

    def _tell(self, session: str, turn: int, about: Sequence[str]) -> tuple[str, str, Said | None, Said | None]:
        row = self._con.execute("SELECT agent, author_name FROM sessions WHERE id = ?", [session]).fetchone()
        agent, author = row or ("", "")
        prompt = prompt_of(self._con, session, turn)
        after = prompt.seq if prompt and prompt.session_id == session else 0
        asked = [prompt.text] if prompt else []
        return agent, author, prompt, because_of(self._con, session, turn, after, [*about, *asked])


def why_lines(
    con: Connection, repo: Repo, target: str, path: str, now: Sequence[str], blamed: Blame, first: int, last: int
) -> WhyAnswer:
    """Why lines ``first`` to ``last`` of ``path`` are there. ``now`` is the file; ``blamed`` covers the range."""
    found = attribute(con, repo, path, _as_blamed(now, blamed), blamed)
    asked = [line for line in blamed.lines if first <= line.number <= last]
    teller = _Teller(con)
    reasons = []
    for (sha, _), group in groupby(asked, key=lambda line: (line.sha, found[line.number])):
        run = list(group)
        one = found[run[0].number]
        reason = _reason(one, blamed.commits.get(sha) if sha else None)
        placed = msgspec.structs.replace(reason, first=run[0].number, last=run[-1].number)
        reasons.append(teller.fill(placed, [line.text for line in run[:5]]))
    recorded = sum(found[line.number].level != "none" for line in asked)
    return WhyAnswer(target, path, len(asked), recorded, reasons)


def _as_blamed(now: Sequence[str], blamed: Blame) -> list[str]:
    """The file's lines as git sees them: filters, links and conversions may make them others than the disk's."""
    lines = list(now)
    lines.extend("" for _ in range(len(lines), max((line.number for line in blamed.lines), default=0)))
    for line in blamed.lines:
        lines[line.number - 1] = line.text
    return lines


def _reason(one: Attribution, commit: BlamedCommit | None) -> Reason:
    facts = Reason(one.level, session_id=one.session_id, turn=one.turn_seq, note=one.note)
    if commit is None:
        return facts
    return msgspec.structs.replace(
        facts,
        commit=commit.sha,
        author=commit.author,
        committed_at=commit.committed_at,
        subject=commit.subject,
        recorded_as=one.git_sha if one.git_sha != commit.sha else None,
    )


def why_commits(con: Connection, repo: Repo, commits: Sequence[BlamedCommit]) -> dict[str, list[Reason]]:
    """For each commit its sessions with the prompt and the sentence behind their last edit that went into it."""
    led = led_to(con, repo, [commit.sha for commit in commits])
    teller = _Teller(con)
    return {c.sha: [teller.fill(r, [c.subject]) for r in _sessions(con, c, led)] for c in commits}


def _sessions(con: Connection, commit: BlamedCommit, led: Mapping[str, list[Led]]) -> list[Reason]:
    by_session: dict[str, list[Led]] = {}
    for one in led.get(commit.sha, ()):
        by_session.setdefault(one.session_id, []).append(one)
    weighed = [(_last_edit(con, group), group) for group in by_session.values()]
    # The session that edited most comes first.
    weighed.sort(key=lambda pair: (-pair[0][1], pair[1][0].session_id))
    return [
        _reason(Attribution("commit", group[0].session_id, turn, group[0].git_sha), commit)
        for (turn, _), group in weighed
    ] or [_reason(Attribution("none", note="the commit has no session"), commit)]


def _last_edit(con: Connection, group: Sequence[Led]) -> tuple[int, int]:
    """The turn of a session's last edit of a file of these commits, else its last turn; and how many there are."""
    turn, edits = max(one.last_seq for one in group), 0
    for one in group:
        row = con.execute(
            """SELECT max(c.turn_seq), count(*) FROM edits e
               JOIN tool_calls c ON c.session_id = e.session_id AND c.seq = e.tool_call_seq
               WHERE e.session_id = ? AND c.turn_seq BETWEEN ? AND ? AND e.path IN (
                   SELECT f.path FROM files_touched f JOIN checkpoints k ON k.id = f.checkpoint_id
                   WHERE k.git_sha = ?)""",
            [one.session_id, one.first_seq, one.last_seq, one.git_sha],
        ).fetchone()
        if row and row[1]:
            turn = int(row[0]) if edits == 0 else max(turn, int(row[0]))
            edits += int(row[1])
    return turn, edits
