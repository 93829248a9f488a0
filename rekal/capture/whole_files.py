"""Files written whole: an edit keeps only the lines that were not there before.

Some agents' tools hand over the complete new text of a file. The lines it already had are not that turn's doing, and
once commits are squashed nothing would tell them apart any more. What the file had is taken from the last commit
before the edit, and from what the session itself wrote into it since.
"""

from __future__ import annotations

import bisect
from collections import Counter
from datetime import datetime

from rekal.errors import GitError
from rekal.git import Repo, decode_bytes, split_output
from rekal.git.encodings import list_encodings, recode_lines
from rekal.git.repo import read_objects
from rekal.ids import line_hash

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
            listed = split_output(self._repo.ask("log", "--format=%ct %H", f"-n{_COMMITS}", "HEAD", "--"))
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
