"""Answers to "why is this line here" and "why this commit", for the command line and the other faces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby

import msgspec

from rekal.git import Repo
from rekal.model import LOCAL, UNVERIFIED, CitedMemory
from rekal.store.database import Connection
from rekal.store.why_rows import TurnRange, select_last_edit
from rekal.why.attribute import Attribution, Level, attribute_lines
from rekal.why.blame import Blame, BlamedCommit
from rekal.why.commit_turns import find_turn_ranges
from rekal.why.spoken_reasons import PromptQuote, ReasonQuote, SpokenReasons, read_message_reasons
from rekal.why.trust import Origins, Signature, read_signature


class WhyReason(msgspec.Struct, frozen=True):
    """Why some lines, or a commit, are there.

    ``first`` and ``last`` are lines of the file as it is now (0 for a commit). ``level`` says how close the record
    comes: ``line`` and ``hunk`` are edits of the turn, ``file`` and ``commit`` are what the session did by other
    means, ``none`` is no record, with ``note`` saying why. ``commit`` is null for what is not committed;
    ``recorded_as`` is the commit's former name, under which its session was recorded. ``origin`` is ``own`` for a
    session that this clone captured, else the teammate's ref it came with (``unverified:`` before it when the ref's
    owner is somebody else); ``signature`` is the verdict on that ref, null for an own session. ``verified`` is true for
    own sessions and for refs with a good signature.
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
    prompt: PromptQuote | None = None
    because: ReasonQuote | None = None
    note: str = ""
    origin: str | None = None
    signature: Signature | None = None
    verified: bool | None = None


class WhyAnswer(msgspec.Struct, frozen=True):
    """The answer that ``why --json`` prints.

    ``path`` is null for a commit; ``reasons`` are in the order of lines or sessions. ``memories`` are decisions that
    cite these turns or commits; left out when none does.
    """

    target: str
    path: str | None
    lines: int
    recorded: int
    reasons: list[WhyReason]
    memories: list[CitedMemory] | msgspec.UnsetType = msgspec.UNSET


class _SessionFacts:
    """Fills in who, from where and what was said; the same turn is asked for once."""

    def __init__(self, con: Connection) -> None:
        self._con = con
        self.origins = Origins(con)
        self._spoken = SpokenReasons(con)
        self._seen: dict[tuple[str, int], tuple[PromptQuote | None, ReasonQuote | None]] = {}

    def fill(self, reason: WhyReason, about: Sequence[str]) -> WhyReason:
        """``reason`` with its session's facts and words."""
        if reason.session_id is None or reason.turn is None:
            return reason
        where = (reason.session_id, reason.turn)
        if where not in self._seen:
            self._seen[where] = self._spoken.read(*where, [*about, reason.subject or ""])
        prompt, because = self._seen[where]
        one = self.origins.find(reason.session_id)
        signature = read_signature(one)
        own = one.origin == LOCAL
        return msgspec.structs.replace(
            reason,
            agent=one.agent,
            session_author=one.author_name,
            prompt=prompt,
            because=because,
            origin="own" if own else one.origin,
            signature=signature,
            verified=own or (signature == "good" and not one.origin.startswith(UNVERIFIED)),
        )


def explain_lines(
    con: Connection, repo: Repo, target: str, path: str, now: Sequence[str], blamed: Blame, first: int, last: int
) -> WhyAnswer:
    """Why lines ``first`` to ``last`` of ``path`` are there. ``now`` is the file; ``blamed`` covers the range."""
    found = attribute_lines(con, repo, path, _lines_as_blamed(now, blamed), blamed)
    asked = [line for line in blamed.lines if first <= line.number <= last]
    facts = _SessionFacts(con)
    reasons = []
    for (sha, _), group in groupby(asked, key=lambda line: (line.sha, found[line.number])):
        run = list(group)
        one = found[run[0].number]
        reason = _reason(one, blamed.commits.get(sha) if sha else None)
        placed = msgspec.structs.replace(reason, first=run[0].number, last=run[-1].number)
        reasons.append(facts.fill(placed, [line.text for line in run[:5]]))
    recorded = sum(found[line.number].level != "none" for line in asked)
    return WhyAnswer(target, path, len(asked), recorded, _add_messages(repo, reasons))


def _add_messages(repo: Repo, reasons: Sequence[WhyReason]) -> list[WhyReason]:
    """The same reasons, those without a sentence of the agent with one of their commit's message."""
    silent = {r.commit: r.subject or "" for r in reasons if r.commit and r.session_id and r.because is None}
    found = read_message_reasons(repo, silent)
    return [
        msgspec.structs.replace(r, because=found.get(r.commit)) if r.commit in silent and r.because is None else r
        for r in reasons
    ]


def _lines_as_blamed(now: Sequence[str], blamed: Blame) -> list[str]:
    """The file's lines as git sees them: filters, links and conversions may make them others than the disk's."""
    lines = list(now)
    lines.extend("" for _ in range(len(lines), max((line.number for line in blamed.lines), default=0)))
    for line in blamed.lines:
        lines[line.number - 1] = line.text
    return lines


def _reason(one: Attribution, commit: BlamedCommit | None) -> WhyReason:
    facts = WhyReason(one.level, session_id=one.session_id, turn=one.turn_seq, note=one.note)
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


def explain_commits(con: Connection, repo: Repo, commits: Sequence[BlamedCommit]) -> dict[str, list[WhyReason]]:
    """For each commit its sessions with the prompt and the sentence behind their last edit that went into it."""
    ranges = find_turn_ranges(con, repo, [commit.sha for commit in commits])
    facts = _SessionFacts(con)
    found = [facts.fill(r, []) for c in commits for r in _reasons_of_commit(con, c, ranges, facts.origins)]
    by_commit: dict[str, list[WhyReason]] = {c.sha: [] for c in commits}
    for reason in _add_messages(repo, found):
        by_commit[reason.commit or ""].append(reason)
    return by_commit


def _reasons_of_commit(
    con: Connection, commit: BlamedCommit, ranges: Mapping[str, list[TurnRange]], origins: Origins
) -> list[WhyReason]:
    by_session: dict[str, list[TurnRange]] = {}
    for one in ranges.get(commit.sha, ()):
        by_session.setdefault(one.session_id, []).append(one)
    weighed = [(_last_edit_of(con, group), group) for group in by_session.values()]
    # The session that edited most comes first, but none before one that is believed more.
    weighed.sort(
        key=lambda pair: (
            origins.trust(pair[1][0].session_id, commit.author_email),
            -pair[0][1],
            pair[1][0].session_id,
        )
    )
    return [
        _reason(Attribution("commit", group[0].session_id, turn, group[0].git_sha), commit)
        for (turn, _), group in weighed
    ] or [_reason(Attribution("none", note="the commit has no session"), commit)]


def _last_edit_of(con: Connection, group: Sequence[TurnRange]) -> tuple[int, int]:
    """The turn of a session's last edit of a file of these commits, else its last turn; and how many there are."""
    turn, edits = max(one.last_seq for one in group), 0
    for one in group:
        last, count = select_last_edit(con, one)
        if count:
            # The first edit found replaces the last turn, which may have written nothing.
            turn = last if edits == 0 else max(turn, last)
            edits += count
    return turn, edits
