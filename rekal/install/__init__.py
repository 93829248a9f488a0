"""Everything that `rekal init` and `rekal clean` do to the user's repository besides the store itself.

:func:`install_rekal` and :func:`uninstall_rekal` may be run any number of times, also after one that was interrupted.
After both, the repository's files, hooks, configuration and `info/exclude` are byte for byte as before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from rekal.agents.registry import describe_agent
from rekal.errors import StoreUnwritable
from rekal.git import ROOT_FILE, Repo
from rekal.install import exclude, hooks, host_hooks, lines, skill
from rekal.install.hooks import Hook
from rekal.install.manifest import Journal

__all__ = ["Hook", "Installed", "Removed", "install_rekal", "repair_hooks", "uninstall_rekal"]


class Installed(msgspec.Struct, frozen=True):
    """The hooks, lines and skill in place now.

    ``lines`` are files relative to the work tree; ``notes`` are sentences for the user."""

    hooks: tuple[Hook, ...]
    lines: tuple[str, ...] = ()
    skill: str | None = None
    notes: tuple[str, ...] = ()


class Removed(msgspec.Struct, frozen=True):
    """The hooks, lines and skill that were taken away, and sentences about what was left."""

    hooks: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    skill: str | None = None
    notes: tuple[str, ...] = ()


def install_rekal(repo: Repo, agents: Iterable[str], executable: Path, *, hooks_only: bool = False) -> Installed:
    """Install hooks, instruction lines for ``agents`` (adapter names) and, where one of them reads skills, the skill.

    ``executable`` is the absolute path of ``rekal``, written into the hooks. Raises :class:`rekal.errors.Refused`, with
    nothing changed, when git takes post-commit from a tracked file or from a directory that cannot be written; and
    :class:`rekal.errors.StoreUnwritable` when the git directory cannot be.
    """
    # Before anything is written: a refusal must leave the repository as it was.
    hooks.plan_hooks(repo)
    with _writing(repo):
        return _install(repo, tuple(agents), executable, hooks_only)


def _install(repo: Repo, agents: tuple[str, ...], executable: Path, hooks_only: bool) -> Installed:
    for directory in (repo.store_dir, repo.private_dir, repo.private_dir / "spool"):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Each change is noted before it is made, so that `clean` can undo an install that was killed.
    journal = Journal(repo)
    # First of all, so that `git add -A` in another terminal cannot take the store's files.
    exclude.add_patterns(repo, journal)
    _point_to_root(repo, journal)
    put = hooks.install_hooks(repo, executable, journal)
    notes = [*dict.fromkeys(hook.note for hook in put if hook.note), *hooks.warn_of_shared_hooks(repo)]
    tree = None if hooks_only else _tree(repo)
    if tree is None:
        return Installed(put, notes=tuple(notes))
    held, trouble = lines.install_lines(repo, tree, agents, journal)
    skilled = None
    if any(describe_agent(name).skill_folder for name in agents):
        problem = skill.install_skill(repo, tree, journal)
        skilled = None if problem else skill.NAME
        trouble += [problem] if problem else []
    return Installed(put, tuple(held), skilled, (*notes, *trouble))


def repair_hooks(repo: Repo, executable: Path) -> bool:
    """Put back hooks that another program wrote over or removed. Returns whether any had to be.

    Cheap when all is well: a few small reads and two git calls a work tree. Raises :class:`rekal.errors.Refused` when
    post-commit has become a tracked file.
    """
    if all(hook.status in ("installed", "refused") for hook in hooks.read_hooks(repo, executable)):
        return False
    with _writing(repo):
        hooks.install_hooks(repo, executable, Journal(repo))
    return True


def uninstall_rekal(repo: Repo) -> Removed:
    """Undo :func:`install_rekal`, or as much of it as was done. The caller removes ``.rekal`` itself, afterwards."""
    with _writing(repo):
        return _uninstall(repo)


def _uninstall(repo: Repo) -> Removed:
    journal = Journal(repo)
    tree = _tree(repo)
    skilled = skill.uninstall_skill(tree, journal) if tree else None
    cleaned = lines.uninstall_lines(tree, journal) if tree else []
    # Hosts would call a rekal that has no store any more.
    _, left = host_hooks.take_out_entries(repo)
    journal = Journal(repo)  # turning off has written its own changes down
    removed, notes = hooks.uninstall_hooks(repo, journal)
    notes = [*left, *notes]
    _pointer(repo).unlink(missing_ok=True)
    exclude.remove_block(repo, journal)
    journal.prune()
    return Removed(tuple(removed), tuple(cleaned), skilled, tuple(notes))


@contextmanager
def _writing(repo: Repo) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = Path(error.filename).parent if error.filename else repo.common_dir
        raise StoreUnwritable(f"{where} cannot be written ({error.strerror})", "check its permissions") from None


def _tree(repo: Repo) -> Path | None:
    """The work tree whose instruction files are ours to mark: the main one, or of a bare repository the current one."""
    if not repo.bare:
        return repo.root
    # A bare repository has no files of its own to mark.
    return None if repo.worktree == repo.root else repo.worktree


def _pointer(repo: Repo) -> Path:
    return repo.common_dir / ROOT_FILE


def _point_to_root(repo: Repo, journal: Journal) -> None:
    """Tell hooks in linked work trees where the main one is, when it is not where its git directory is."""
    # With --separate-git-dir or in a submodule the work tree cannot be told from the git directory's place.
    if repo.root not in (repo.common_dir, repo.common_dir.parent):
        _pointer(repo).write_text(f"{repo.root}\n", "utf-8", "surrogateescape")
