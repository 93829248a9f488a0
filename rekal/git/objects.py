"""Git objects: are they there, of which kind and size, and their bytes, many in one process.

Nothing in an object is trusted here, and no name either: a name that git would read as two is not asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rekal.git.repo import Repo
from rekal.git.run import decode_bytes, join_lines

_SECONDS = 120.0
_LOCAL = {"GIT_NO_LAZY_FETCH": "1"}  # objects that a partial clone lacks are missing, not fetched
_AT_ONCE = 32 << 20  # bytes that one git process hands over: they are in memory twice while they are read


def has_object(repo: Repo, name: str) -> bool:
    """True if ``name`` (``SHA``, ``SHA^{commit}``, ``HEAD:path``) is in this clone."""
    return repo.ask("cat-file", "-e", name) is not None


def measure_objects(repo: Repo, names: Sequence[str]) -> dict[str, tuple[str, int]]:
    """Return kind (``blob``, ``tree``, ``commit``, ``tag``) and size in bytes, by full object name.

    Objects that are not there are left out. Raises :class:`rekal.errors.GitError`.
    """
    if not names:
        return {}
    form = "--batch-check=%(objectname) %(objecttype) %(objectsize)"
    out = repo.run("cat-file", form, stdin=join_lines(names), timeout=_SECONDS)
    rows = (line.split(" ") for line in out.splitlines())
    return {row[0]: (row[1], int(row[2])) for row in rows if len(row) == 3}  # else "NAME missing"


def find_present_commits(repo: Repo, shas: Sequence[str]) -> set[str]:
    """Return those of ``shas`` that are commits of this clone. Raises :class:`rekal.errors.GitError`."""
    return {name for name, (kind, _) in measure_objects(repo, shas).items() if kind == "commit"}


def read_objects(repo: Repo, names: Iterable[str], kind: str = "") -> dict[str, bytes]:
    """Return the bytes of objects by the name they were asked for, in that order, those that are not there left out.

    A name is whatever git takes for one (``SHA``, ``SHA:path``); with a ``kind`` (``blob``), objects of other kinds are
    left out, too. All are in memory at once, so the caller knows that
    they are few or small. Raises :class:`rekal.errors.GitError`.
    """
    asked = [name for name in dict.fromkeys(names) if "\n" not in name]  # two names to git
    if not asked:
        return {}
    data = repo.run_raw("cat-file", "--batch", stdin=join_lines(asked), timeout=_SECONDS, env=_LOCAL)
    found: dict[str, bytes] = {}
    at = 0
    for name in asked:
        end = data.index(b"\n", at)
        head, at = decode_bytes(data[at:end]), end + 1
        found_kind, _, size = head.partition(" ")[2].rpartition(" ")
        if size.isdigit():  # else "NAME missing"; a name may hold spaces, so only the last word tells
            if kind in ("", found_kind):
                found[name] = data[at : at + int(size)]
            at += int(size) + 1  # a line feed follows the bytes
    return found


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
