"""A repository as seen from one of its work trees: where it is, whose it is, its commits, and the objects in it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from rekal.errors import GitError, NoRepository
from rekal.git.run import TIMEOUT, decode_bytes, join_lines, name_command, run_bytes, split_at_nul
from rekal.model import Author, Change, FileChange

_MOST_TIPS = 200  # branches that are walked one by one where all together cannot be

ROOT_FILE = "rekal-root"
"""File in the common git directory that names the main work tree where git itself cannot tell."""

_STATUS: dict[str, Change] = {"A": "A", "M": "M", "D": "D", "R": "R", "C": "A", "T": "M"}


class Commit(msgspec.Struct, frozen=True):
    """Facts of a commit that a checkpoint records."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author_email: str
    committed_at: datetime
    subject: str


class Repo(msgspec.Struct, frozen=True):
    """A repository as seen from one of its work trees.

    ``root`` is the main work tree (the git directory when bare): linked work trees share the store that lives there.
    """

    root: Path
    worktree: Path
    git_dir: Path
    common_dir: Path
    bare: bool = False

    @property
    def private_dir(self) -> Path:
        """Path of what rekal keeps inside the git directory, whether it exists or not. No checkout brings it."""
        return self.common_dir / "rekal"

    @property
    def store_dir(self) -> Path:
        """Path of ``.rekal``, also when there is none yet."""
        return self.root / ".rekal"

    def run(
        self, *args: str, stdin: bytes | None = None, timeout: float = TIMEOUT, env: Mapping[str, str] | None = None
    ) -> str:
        """Run git here; its output as text. Raises :class:`GitError` with git's own first line when it refuses."""
        return decode_bytes(self.run_raw(*args, stdin=stdin, timeout=timeout, env=env))

    def run_raw(
        self, *args: str, stdin: bytes | None = None, timeout: float = TIMEOUT, env: Mapping[str, str] | None = None
    ) -> bytes:
        """Like :meth:`run`, bytes out."""
        done = run_bytes(args, self.worktree, stdin=stdin, timeout=timeout, env=env)
        if done.returncode != 0:
            lines = decode_bytes(done.stderr).strip().splitlines()
            # Warnings may stand before the line that says why.
            reasons = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines
            raise GitError(f"git {name_command(args)} failed: {reasons[0] if reasons else f'exit {done.returncode}'}")
        return done.stdout

    def ask(self, *args: str, timeout: float = TIMEOUT) -> str | None:
        """Run git here; its stripped output, or None when it exits non-zero (no such ref, no such key)."""
        done = run_bytes(args, self.worktree, timeout=timeout)
        # Blanks of ASCII alone: the name of a branch may end in one of the others.
        return decode_bytes(done.stdout.strip()) if done.returncode == 0 else None

    def contains_word(self, word: str, commit: str) -> bool:
        """Return True if a text file of a commit has ``word`` as a whole word. GitError where git cannot tell."""
        args = ("grep", "-q", "-I", "-F", "-w", "-e", word, commit, "--")
        done = run_bytes(args, self.worktree, timeout=TIMEOUT)
        # A file that cannot be read is one line of error, and the exit code of a word that is nowhere.
        if done.returncode > 1 or (done.returncode and done.stderr):
            raise GitError(f"git grep could not read all of {commit[:10]}")
        return done.returncode == 0

    def quiet_environment(self) -> dict[str, str]:
        """Return variables that keep git from asking anybody anything at a remote; the user's own ssh is kept."""
        ssh = os.environ.get("GIT_SSH_COMMAND") or self.ask("config", "--get", "core.sshCommand") or "ssh"
        return {"GIT_ASKPASS": "true", "SSH_ASKPASS": "true", "GIT_SSH_COMMAND": f"{ssh} -o BatchMode=yes"}

    def resolve_commit(self, name: str) -> str | None:
        """Return the full name of the commit that ``name`` stands for; None when there is none."""
        return self.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")

    def head(self) -> str | None:
        """The commit HEAD names; None before the first commit."""
        return self.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")

    def branch(self) -> str | None:
        """The current branch's short name; None when HEAD is detached."""
        return self.ask("symbolic-ref", "--quiet", "--short", "HEAD")

    def author(self) -> Author:
        """Return the person whose captures these are: the last ``user.email`` and ``user.name`` that git reads.

        Unset, it is git's own guess, else ``unknown@localhost``.
        """
        listed = self.ask("config", "-z", "--get-regexp", r"^user\.(name|email)$") or ""
        values = dict(entry.split("\n", 1) for entry in listed.split("\0") if "\n" in entry)
        email, name = values.get("user.email", "").strip(), values.get("user.name", "").strip()
        if email:
            return Author(name or email.split("@")[0], email)
        guess = self.ask("var", "GIT_COMMITTER_IDENT") or ""
        if "<" in guess and ">" in guess:
            who, _, rest = guess.partition("<")
            return Author(name or who.strip(), rest.partition(">")[0])
        return Author(name or "unknown", "unknown@localhost")

    def worktrees(self) -> tuple[Path, ...]:
        """Every work tree, the main one first, those whose directory is gone left out."""
        linked = (self.common_dir / "worktrees").is_dir()  # where git keeps what it knows of them
        out = (self.ask("worktree", "list", "--porcelain", "-z") if linked else "") or ""
        listed = [Path(line[9:]) for line in out.split("\0") if line.startswith("worktree ")]
        found = [self.root, *(p for p in listed if p not in (self.root, self.common_dir) and p.is_dir())]
        return tuple(p for p in found if not (self.bare and p == self.root))

    def hooks_path(self) -> Path:
        """The directory git takes hooks from, ``core.hooksPath`` respected."""
        return Path(self.run("rev-parse", "--path-format=absolute", "--git-path", "hooks").rstrip("\n"))

    def rebasing(self) -> bool:
        """True while a rebase is under way in this work tree."""
        # GIT_REFLOG_ACTION would tell, but it is empty in post-commit.
        return (self.git_dir / "rebase-merge").is_dir() or (self.git_dir / "rebase-apply").is_dir()

    def commit(self, rev: str) -> Commit | None:
        """Facts of one commit; None when there is none of that name."""
        out = self.ask("log", "-1", "--format=%H%x00%T%x00%P%x00%ae%x00%ct%x00%s", "--no-show-signature", rev, "--")
        if not out:
            return None
        return _read_commit(out.split("\0", 5))

    def commits(self, shas: Iterable[str]) -> list[Commit]:
        """Facts of many commits by full name, in one process; those that are not there are left out."""
        chosen = ("--no-walk=unsorted", "--ignore-missing", "--no-show-signature", "--stdin")
        out = self.run("log", "-z", "--format=%H%n%T%n%P%n%ae%n%ct%n%s", *chosen, stdin=join_lines(shas), timeout=60.0)
        return [_read_commit(entry.split("\n", 5)) for entry in out.split("\0") if entry]

    def changes(self, commits: Iterable[Commit]) -> dict[str, tuple[FileChange, ...]]:
        """Paths that commits changed, by commit, renames followed; a merge against its first parent."""
        how, pairs = ("--stdin", "-r", "-z", "--name-status", "--root"), with_first_parents(commits)
        try:
            return _parse_changes(self.run_raw("diff-tree", *how, "-M", stdin=pairs, timeout=60.0))
        except GitError:
            # A rename is told by contents, which a partial clone may lack: then it is a deletion and an addition.
            return _parse_changes(self.run_raw("diff-tree", *how, "--no-renames", stdin=pairs, timeout=60.0))

    def commits_since(self, since: datetime, limit: int = 5000) -> list[str]:
        """Commits reachable from any branch, committed after ``since``, oldest first."""
        hidden = ("--exclude=refs/rekal/*", "--exclude=refs/rekal-remote/*", "--exclude=refs/rekal-pushed/*")
        how = (f"--since={int(since.timestamp())}", f"-n{limit}")
        out = self.ask("rev-list", *hidden, "--all", *how, timeout=60.0)
        if out is None:
            # One branch whose history is damaged must not hide all others: each is walked on its own.
            tips = (self.ask("for-each-ref", "--format=%(objectname)", "refs/heads", "refs/remotes") or "").split()
            walks = [self.ask("rev-list", *how, tip, "--", timeout=60.0) for tip in dict.fromkeys(tips[:_MOST_TIPS])]
            out = "\n".join(filter(None, walks))
        return list(reversed(list(dict.fromkeys(out.split()))[:limit]))


def _read_commit(fields: Sequence[str]) -> Commit:
    sha, tree, parents, email, when, subject = fields
    return Commit(sha, tree, tuple(parents.split()), email, datetime.fromtimestamp(int(when), UTC), subject)


def with_first_parents(commits: Iterable[Commit]) -> bytes:
    """Write commits for ``diff-tree --stdin``, each with the parent it is compared with."""
    return join_lines(" ".join((commit.sha, *commit.parents[:1])) for commit in commits)


def _parse_changes(data: bytes) -> dict[str, tuple[FileChange, ...]]:
    """Read ``diff-tree --stdin -z --name-status``: a commit's name, then its changes.

    A change is a letter, then one path, or two for a rename or a copy.
    """
    found: dict[str, list[FileChange]] = {}
    here: list[FileChange] = []
    parts = iter(split_at_nul(data))
    for part in parts:
        if len(part) >= 40:  # no status letter is as long as a commit's name
            here = found.setdefault(part, [])
            continue
        change = _STATUS.get(part[:1], "M")
        path = next(parts, "")
        if part[0] in "RC":  # a letter and a likeness in per cent, then the old path and the new one
            here.append(FileChange(next(parts, ""), change, path if change == "R" else None))
        else:
            here.append(FileChange(path, change))
    return {sha: tuple(changes) for sha, changes in found.items()}


def find_repo(cwd: Path) -> Repo:
    """Return the repository around ``cwd``. Raises :class:`NoRepository`."""
    # Asked of git, not joined from paths: .git may be a file (linked work tree, submodule), a link, or elsewhere.
    flags = ("--is-bare-repository", "--is-inside-work-tree", "--path-format=absolute", "--git-dir", "--git-common-dir")
    # Without a work tree git refuses the last question, having answered the others.
    done = run_bytes(("rev-parse", *flags, "--show-toplevel"), cwd)
    answers = decode_bytes(done.stdout).removesuffix("\n").split("\n", 4)
    if len(answers) < 4:
        if b"dubious ownership" in done.stderr:
            raise NoRepository("git does not trust this repository's owner", "see safe.directory in `git help config`")
        raise NoRepository("not inside a git repository", "run this in one, or `git init` first")
    is_bare, inside, git_dir, common = answers[:4]
    if inside != "true":
        if is_bare != "true":
            raise NoRepository("inside a .git directory", "run this in the work tree")
        return Repo(Path(common), Path(common), Path(git_dir), Path(common), bare=True)
    here = Repo(Path(answers[4]), Path(answers[4]), Path(git_dir), Path(common))
    if git_dir == common:
        return here
    return _linked(here)


def _linked(here: Repo) -> Repo:
    """Return ``here`` with the root of its main work tree, the first that git lists, which may be a bare repository."""
    out = here.run("worktree", "list", "--porcelain", "-z")
    first = out.split("\0\0", 1)[0].split("\0")
    root = Path(first[0].removeprefix("worktree "))
    # Of a submodule, or with --separate-git-dir, git takes the git directory for the main work tree.
    named = here.common_dir / ROOT_FILE
    if root == here.common_dir and named.is_file():
        root = Path(named.read_text("utf-8", "surrogateescape").rstrip("\n"))
    if "bare" in first and root == here.common_dir:
        return Repo(here.common_dir, here.worktree, here.git_dir, here.common_dir, bare=True)
    return Repo(root, here.worktree, here.git_dir, here.common_dir)


# Git objects: are they there, of which kind and size, and their bytes, many in one process.
#
# Nothing in an object is trusted here, and no name either: a name that git would read as two is not asked for.

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
