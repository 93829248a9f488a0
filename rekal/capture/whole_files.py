"""Files written whole: an edit keeps only the lines that were not there before.

Some agents' tools hand over the complete new text of a file. The lines it already had are not that turn's doing, and
once commits are squashed nothing would tell them apart any more. What the file had is taken from the last commit
before the edit, and from what the session itself wrote into it since.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Iterable
from datetime import datetime

import msgspec

from rekal.errors import GitError
from rekal.git import Repo, decode_bytes
from rekal.git.encodings import list_encodings, recode_lines
from rekal.git.repo import read_objects
from rekal.ids import line_hash
from rekal.model import Edit, Session, ToolCall, writes_whole

_COMMITS = 5000  # of HEAD's history, newest first; before them nothing is known


class History:
    """Files as HEAD's history had them at a time; asks git when first needed."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._times: list[int] | None = None
        self._shas: list[str] = []

    def lines_at(self, when: datetime, path: str) -> Counter[int]:
        """Hashes of the lines that ``path`` had then; none for a file that was not there or cannot be read."""
        sha = self._commit_at(int(when.timestamp()))
        if sha is None:
            return Counter()
        name = f"{sha}:{path}"
        try:
            # Empty for a path that was not there or was no file.
            body = read_objects(self._repo, [name], "blob").get(name, b"")
        except GitError:
            return Counter()
        return hash_lines(body)

    def _commit_at(self, when: int) -> str | None:
        if self._times is None:
            listed = (self._repo.ask("log", "--format=%ct %H", f"-n{_COMMITS}", "HEAD", "--") or "").splitlines()
            # By time of commit, which a rewritten history does not keep in order.
            rows = sorted((int(row.split()[0]), -place, row.split()[1]) for place, row in enumerate(listed))
            self._times, self._shas = [row[0] for row in rows], [row[2] for row in rows]
        place = bisect.bisect_left(self._times, when)
        return self._shas[place - 1] if place else None


def hash_lines(body: bytes) -> Counter[int]:
    """Count hashes of a file's lines; where it is not UTF-8, in each encoding that may be its own: edits hold text."""
    lines = decode_bytes(body).split("\n")
    counted: Counter[int] = Counter()
    for reading in [recode_lines(lines, encoding) for encoding in list_encodings(lines)] or [lines]:
        counted |= Counter(hashed for line in reading or () if (hashed := line_hash(line)) is not None)
    return counted


def only_new_lines(session: Session, history: History) -> Session:
    """``session`` with what its whole-file edits found there taken out of their lines."""
    calls = {call.seq: call for call in session.tool_calls}
    if not any(writes_whole(calls[edit.tool_call_seq].tool) for edit in session.edits):
        return session
    written: dict[str, list[tuple[ToolCall, Edit]]] = {}
    kept = []
    for edit in session.edits:
        call = calls[edit.tool_call_seq]
        earlier = written.setdefault(edit.path, [])
        fresh = _drop_lines(edit, _there(call, edit.path, earlier, history)) if writes_whole(call.tool) else edit
        earlier.append((call, edit))
        kept.append(fresh)
    return msgspec.structs.replace(session, edits=tuple(kept))


def _there(call: ToolCall, path: str, earlier: Iterable[tuple[ToolCall, Edit]], history: History) -> Counter[int]:
    """Lines in the file before ``call``: as often as the last commit or any one earlier edit had them."""
    there = history.lines_at(call.occurred_at, path) if call.occurred_at else Counter[int]()
    for _, edit in earlier:
        there |= Counter(edit.line_hashes)
    return there


def _drop_lines(edit: Edit, there: Counter[int]) -> Edit:
    fresh = []
    for hashed in edit.line_hashes:
        if there[hashed] > 0:
            there[hashed] -= 1
        else:
            fresh.append(hashed)
    return msgspec.structs.replace(edit, line_hashes=tuple(fresh))
