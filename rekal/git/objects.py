"""Git objects: are they there, of which kind and size, and their bytes, many in one process.

Nothing in an object is trusted here, and no name either: a name that git would read as two is not asked for.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rekal.errors import GitError
from rekal.git.repo import Repo
from rekal.git.run import decode_bytes, join_lines, run_bytes

_SECONDS = 120.0
_AT_ONCE = 32 << 20  # bytes that one git process hands over: they are in memory twice while they are read


def has_object(repo: Repo, name: str) -> bool:
    """True if ``name`` (``SHA``, ``SHA^{commit}``, ``HEAD:path``) is in this clone."""
    return repo.ask("cat-file", "-e", name) is not None


def measure_objects(repo: Repo, names: Sequence[str]) -> dict[str, tuple[str, int]]:
    """Return kind (``blob``, ``tree``, ``commit``, ``tag``) and size in bytes, by full object name.

    Objects that are not there or cannot be read are left out. Raises :class:`rekal.errors.GitError`.
    """
    if not names:
        return {}
    answers = _answers(repo, "--batch-check=%(objectname) %(objecttype) %(objectsize)", names)
    rows = (line.split(" ") for data, _ in answers for line in decode_bytes(data).splitlines())
    return {row[0]: (row[1], int(row[2])) for row in rows if len(row) == 3}  # else "NAME missing"


def find_present_commits(repo: Repo, shas: Sequence[str]) -> set[str]:
    """Return those of ``shas`` that are commits of this clone. Raises :class:`rekal.errors.GitError`."""
    return {name for name, (kind, _) in measure_objects(repo, shas).items() if kind == "commit"}


def find_merged_commits(repo: Repo, shas: Sequence[str], mainline: str) -> dict[str, bool]:
    """Return for each commit of this clone whether the ref ``mainline`` reaches it; empty where there is no such ref.

    Two processes, however many commits: a commit that is missing here has no entry.
    """
    present = sorted(find_present_commits(repo, shas))
    ahead = repo.ask("rev-list", *present, "--not", mainline, "--") if present else None
    if ahead is None:
        return {}
    outside = set(ahead.split())
    return {sha: sha not in outside for sha in present}


def read_objects(repo: Repo, names: Iterable[str], kind: str = "") -> dict[str, bytes]:
    """Return the bytes of objects by the name they were asked for, in that order; lost or damaged ones are left out.

    A name is whatever git takes for one (``SHA``, ``SHA:path``); with a ``kind`` (``blob``), objects of other kinds are
    left out, too. All are in memory at once, so the caller knows that
    they are few or small. Raises :class:`rekal.errors.GitError`.
    """
    asked = [name for name in dict.fromkeys(names) if "\n" not in name]  # two names to git
    if not asked:
        return {}
    found: dict[str, bytes] = {}
    for data, names_in in _answers(repo, "--batch", asked):
        _read_bodies(data, names_in, kind, found)
    return found


def _read_bodies(data: bytes, asked: Sequence[str], kind: str, found: dict[str, bytes]) -> None:
    at = 0
    for name in asked:
        end = data.index(b"\n", at)
        head, at = decode_bytes(data[at:end]), end + 1
        found_kind, _, size = head.partition(" ")[2].rpartition(" ")
        if size.isdigit():  # else "NAME missing"; a name may hold spaces, so only the last word tells
            if kind in ("", found_kind):
                found[name] = data[at : at + int(size)]
            at += int(size) + 1  # a line feed follows the bytes


def _answers(repo: Repo, form: str, names: Sequence[str]) -> Iterator[tuple[bytes, Sequence[str]]]:
    """Yield the output of ``cat-file`` and the names that it answers; an object that cannot be read costs itself."""
    try:
        yield repo.run_raw("cat-file", form, stdin=join_lines(names), timeout=_SECONDS), names
        return
    except GitError:
        # Either one object is damaged, or it is missing from a partial clone and git was not let fetch it.
        left = _drop_absent(repo, names)
    if len(left) < len(names):
        if left:
            yield from _answers(repo, form, left)
    elif len(names) > 1:
        middle = len(names) // 2
        yield from _answers(repo, form, names[:middle])
        yield from _answers(repo, form, names[middle:])


def _drop_absent(repo: Repo, names: Sequence[str]) -> Sequence[str]:
    """Leave out objects that a partial clone lacks; all stay in other clones, and names that are no object's."""
    if repo.ask("config", "--get-regexp", r"^remote\..*\.promisor$") is None:
        return names
    # Older versions of git die on the first missing object, so those that are here are listed instead.
    out = repo.run("cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectname)", timeout=_SECONDS)
    here = set(out.split())
    resolved = {name: _resolve(repo, name) if ":" in name else name for name in names}
    return [name for name in names if resolved[name] in here]


def _resolve(repo: Repo, name: str) -> str:
    return repo.ask("rev-parse", "--verify", "--quiet", "--end-of-options", name) or name


def read_measured_objects(repo: Repo, sizes: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of objects whose sizes in bytes are known, in their order, a few at a time."""
    group: list[str] = []
    weight = 0
    for name, size in sizes.items():
        if group and weight + size > _AT_ONCE:
            yield from read_objects(repo, group).items()
            group, weight = [], 0
        group.append(name)
        weight += size
    yield from read_objects(repo, group).items()


def find_ignored_paths(repo: Repo, paths: Sequence[Path]) -> set[Path]:
    """Return those of ``paths``, absolute and inside the work tree, that git ignores. Raises GitError."""
    names = b"\0".join(os.fsencode(path) for path in paths)
    done = run_bytes(("check-ignore", "-z", "--stdin"), repo.worktree, stdin=names, timeout=_SECONDS)
    if done.returncode not in (0, 1):  # 1: none of them
        raise GitError(f"git check-ignore failed: {decode_bytes(done.stderr).strip()[:200]}")
    return {Path(os.fsdecode(name)) for name in done.stdout.split(b"\0") if name}
