"""Our block in the repository's `info/exclude`: what git shall not see, without touching the user's `.gitignore`."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from rekal import files
from rekal.git import Repo
from rekal.install.manifest import Journal

# A pattern for the directory itself would keep git from looking inside, and so from seeing config.yml.
ALWAYS = ("/.rekal/*", "!/.rekal/config.yml")
_BEGIN = b"# >>> managed by rekal"
_JOINED = b"# >>> managed by rekal (the line above had no end)"
_END = b"# <<< managed by rekal"
_BLOCK = re.compile(
    rb"(?P<joint>\n)?^" + re.escape(_BEGIN) + rb"(?P<joined>[^\n]*)\n(?P<body>.*?)" + re.escape(_END) + rb"\n?",
    re.M | re.S,
)


def with_block(content: bytes, patterns: tuple[str, ...]) -> bytes:
    """``content`` with our block holding ``patterns``, replacing an earlier block where that stands."""
    body = b"".join(p.encode("utf-8", "surrogateescape") + b"\n" for p in patterns)
    found = _BLOCK.search(content)
    if found:
        return content[: found.start("body")] + body + content[found.end("body") :]
    # The marker says so, since taking the block out must give back a file without a final line feed.
    if content and not content.endswith(b"\n"):
        return content + b"\n" + _JOINED + b"\n" + body + _END + b"\n"
    return content + _BEGIN + b"\n" + body + _END + b"\n"


def without_block(content: bytes) -> bytes:
    """``content`` as it was before :func:`with_block`."""
    found = _BLOCK.search(content)
    if not found:
        return content
    before = content[: found.start()]
    if found["joint"] and not found["joined"]:
        before += b"\n"
    return before + content[found.end() :]


def patterns_in(content: bytes) -> tuple[str, ...]:
    """The patterns of our block."""
    found = _BLOCK.search(content)
    return tuple(found["body"].decode("utf-8", "surrogateescape").splitlines()) if found else ()


def exact_pattern(path: str) -> str:
    """The pattern that matches exactly this path, relative to the work tree."""
    # A leading slash ties the pattern to the top; the escaped characters are those that gitignore gives a meaning.
    return "/" + re.sub(r"([\\*?\[\]!# ])", r"\\\1", path)


def _exclude_file(repo: Repo) -> Path:
    return repo.common_dir / "info" / "exclude"  # git takes it from there in linked work trees too


def _rewrite(repo: Repo, journal: Journal, change: Callable[[tuple[str, ...]], tuple[str, ...]]) -> None:
    path = _exclude_file(repo)
    before = files.read_or_empty(path)
    after = with_block(before, change(patterns_in(before)))
    if after != before:
        # git makes the file from a template, which a user may have emptied: then it is ours to remove again.
        journal.creates(path)
        files.write_through_link(path, after)


def add_patterns(repo: Repo, journal: Journal, *patterns: str) -> None:
    """Have git pass over ``patterns`` (and rekal's own directory)."""
    _rewrite(repo, journal, lambda old: tuple(dict.fromkeys((*ALWAYS, *old, *patterns))))


def drop_pattern(repo: Repo, journal: Journal, unwanted: str) -> None:
    """Let git see a path again."""
    if unwanted in patterns_in(files.read_or_empty(_exclude_file(repo))):
        _rewrite(repo, journal, lambda old: tuple(p for p in old if p != unwanted))


def remove_block(repo: Repo, journal: Journal) -> bool:
    """Take our block out. Returns whether there was one."""
    path = _exclude_file(repo)
    files.remove_unfinished(path)
    before = files.read_or_empty(path)
    after = without_block(before)
    if after == before:
        return False
    # A file that was empty before us stays, because it was there.
    if not after and journal.created(path):
        path.unlink()
        journal.forget(path)
    else:
        files.write_through_link(path, after)
    return True
