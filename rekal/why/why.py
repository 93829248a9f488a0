"""Answers to "why is this line here" and "why this commit", for the command line and the other faces."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import groupby

import msgspec

from rekal.git import Repo
from rekal.model import LOCAL, UNVERIFIED, CitedMemory
from rekal.store.database import Connection
from rekal.store.why_rows import (
    Quote,
    TurnRange,
    select_explaining_turn,
    select_last_edit,
    select_prompt,
)
from rekal.why.attribute import Attribution, Level, attribute_lines
from rekal.why.blame import Blame, BlamedCommit
from rekal.why.commit_turns import find_turn_ranges
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
    prompt: Quote | None = None
    because: Quote | None = None
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
        self._seen: dict[tuple[str, int], tuple[Quote | None, Quote | None]] = {}

    def fill(self, reason: WhyReason, about: Sequence[str]) -> WhyReason:
        """``reason`` with its session's facts and words."""
        if reason.session_id is None or reason.turn is None:
            return reason
        where = (reason.session_id, reason.turn)
        if where not in self._seen:
            self._seen[where] = self._read(*where, about)
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

    def _read(self, session: str, turn: int, about: Sequence[str]) -> tuple[Quote | None, Quote | None]:
        prompt = select_prompt(self._con, session, turn)
        after = prompt.seq if prompt and prompt.session_id == session else 0
        asked = [prompt.text] if prompt else []
        return prompt, explain_edit(self._con, session, turn, after, [*about, *asked])


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
    return WhyAnswer(target, path, len(asked), recorded, reasons)


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
    return {
        c.sha: [facts.fill(r, [c.subject]) for r in _reasons_of_commit(con, c, ranges, facts.origins)] for c in commits
    }


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


_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]{2,}")
_CAUSE = re.compile(
    r"\b(because|since|so that|so the|otherwise|instead of|avoid|prevent|ensure|reason|which (?:means|lets|keeps)|"
    r"needs?|must|therefore|in order to|fix(?:es)?|to (?:keep|make|let|stop))\b",
    re.IGNORECASE,
)


def explain_edit(con: Connection, session_id: str, turn_seq: int, after: int, about: Collection[str]) -> Quote | None:
    """The agent's sentence that explains the edits of a turn.

    Taken from the turn itself, else from the nearest one before it that follows turn ``after`` (the prompt), else from
    the first one after it. ``about`` are texts that the sentence should have words in common with.
    """
    turn = select_explaining_turn(con, session_id, turn_seq, after)
    return None if turn is None else msgspec.structs.replace(turn, text=_best_sentence(turn.text, about))


def _best_sentence(text: str, about: Collection[str]) -> str:
    """The sentence of ``text`` that gives a reason or shares most words with ``about``; earlier ones win ties."""
    # A line of signs or a lone list mark is no sentence.
    sentences = [s.strip() for s in _SENTENCE.split(text) if sum(map(str.isalnum, s)) >= 3]
    wanted = {word.lower() for one in about for word in _WORD.findall(one)}

    def worth(sentence: str) -> float:
        words = {word.lower() for word in _WORD.findall(sentence)}
        # The 4 keeps a sentence of two words from winning by one of them.
        return 3.0 * bool(_CAUSE.search(sentence)) + len(words & wanted) / (len(words) + 4) * 10

    return max(sentences, key=worth, default=text.strip())
