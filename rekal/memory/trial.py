"""Trying a matcher before anybody relies on it: on examples its writer gives, on the files tracked now, on history."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rekal.git import Repo
from rekal.memory.judge import judge_text
from rekal.memory.matchers import Example, Matcher, find_spans, short_lines
from rekal.memory.scope import path_matches
from rekal.memory.state import Memory

_MOST_FILES = 2000
_LARGEST = 256 << 10
_MOST_COMMITS = 500
_SECONDS = 60.0
_MOST_SHOWN = 5


class Trial(msgspec.Struct, frozen=True):
    """Hits that a matcher would have had. ``files`` are tracked now, as ``path:line``; ``commits`` added such a line.

    The counts are whole, the lists the first few.
    """

    examples: tuple[Example, ...] = ()
    file_count: int = 0
    files: tuple[str, ...] = ()
    commit_count: int = 0
    commits: tuple[str, ...] = ()

    def sentence(self) -> str:
        """The counts in words, with the first places."""
        files, commits = ", ".join(self.files), "; ".join(self.commits)
        return (
            f"its patterns hit {self.file_count} files now{f' ({files})' if files else ''} "
            f"and {self.commit_count} of the last commits{f' ({commits[:200]})' if commits else ''}"
        )

    @property
    def failed(self) -> list[Example]:
        """Examples on which the matcher was wrong."""
        return [one for one in self.examples if not one.right]


def try_examples(memory: Memory, violations: Sequence[str], near_misses: Sequence[str]) -> tuple[Example, ...]:
    """Run a memory's matcher on proposals that should hit and on some that should not."""
    tried = []
    for text, violation in (*((one, True) for one in violations), *((one, False) for one in near_misses)):
        judged = judge_text(short_lines(text), memory)
        reason = f"named in a {judged.mute}" if judged.mute else judged.reason
        tried.append(Example(text, violation, judged.hit is violation, reason))
    return tuple(tried)


def try_history(repo: Repo, memory: Memory) -> Trial:
    """Hold a matcher's code patterns against the files at HEAD and against what the last commits added."""
    matcher = memory.matcher
    if matcher is None or not matcher.code:
        return Trial()
    files = _tracked_hits(repo, memory, matcher)
    commits = _commit_hits(repo, memory, matcher)
    return Trial((), len(files), tuple(files[:_MOST_SHOWN]), len(commits), tuple(commits[:_MOST_SHOWN]))


def _in_scope(memory: Memory, matcher: Matcher, path: str) -> bool:
    inside = not memory.scope.paths or path_matches(path, memory.scope.paths)
    return inside and not path_matches(path, matcher.except_paths)


def _tracked_hits(repo: Repo, memory: Memory, matcher: Matcher) -> list[str]:
    listed = (repo.ask("ls-tree", "-r", "-z", "--name-only", "HEAD") or "").split("\0")
    wanted = [path for path in listed if path and _in_scope(memory, matcher, path)][:_MOST_FILES]
    if not wanted:
        return []
    hits = []
    names = "".join(f"HEAD:{path}\n" for path in wanted).encode("utf-8", "surrogateescape")
    out = repo.run_raw("cat-file", "--batch", stdin=names, timeout=_SECONDS)
    for path, body in zip(wanted, _blobs(out), strict=False):
        if len(body) > _LARGEST or b"\0" in body:
            continue
        for number, line in enumerate(body.decode("utf-8", "replace").splitlines(), 1):
            if find_spans(matcher.code, short_lines(line)):
                hits.append(f"{path}:{number}")
                break
    return hits


def _blobs(data: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(data):
        end = data.index(b"\n", at)
        head = data[at:end].split(b" ")
        size = int(head[-1]) if head[-1].isdigit() else 0
        found.append(data[end + 1 : end + 1 + size] if size else b"")
        at = end + 1 + (size + 1 if head[-1].isdigit() else 0)
    return found


def _commit_hits(repo: Repo, memory: Memory, matcher: Matcher) -> list[str]:
    """Commits, newest first, that added a line a code pattern finds."""
    shown = repo.ask(
        "log", f"-n{_MOST_COMMITS}", "--no-merges", "-p", "-U0", "--no-color", "--no-ext-diff", "--no-textconv",
        "--format=%x00%h %s", "--no-show-signature", "HEAD", "--", timeout=_SECONDS,
    )  # fmt: skip
    hits = []
    for part in (shown or "").split("\0")[1:]:
        name, _, patch = part.partition("\n")
        if _adds(memory, matcher, patch):
            hits.append(name[:100])
    return hits


def _adds(memory: Memory, matcher: Matcher, patch: str) -> bool:
    path = ""
    for line in patch.splitlines():
        if line.startswith("+++ "):
            path = line[4:].split("\t")[0].removeprefix("b/")
        elif (
            line.startswith("+")
            and _in_scope(memory, matcher, path)
            and find_spans(matcher.code, short_lines(line[1:]))
        ):
            return True
    return False
