"""Our four git hooks: put them where git looks, keep what stood there and run it as before, put it back afterwards."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Literal

import msgspec

from rekal import files
from rekal.errors import Refused
from rekal.git import Repo
from rekal.install import exclude, hook_places
from rekal.install.hook_places import HookPlace, Slot
from rekal.install.manifest import Journal

# A wheel brings the hooks inside the package; in a checkout they stand at its top.
_PACKAGED = Path(__file__).parents[1] / "_hooks"
_CHECKOUT = Path(__file__).parents[2] / "hooks"

Status = Literal["installed", "outdated", "missing", "displaced", "refused"]


class Hook(msgspec.Struct, frozen=True):
    """One hook of ours. ``path`` is our file, ``chained`` the one that stood there, ``note`` what the user should know.

    ``displaced``: another program wrote over ours since. ``refused``: a tracked file stands there.
    """

    name: str
    path: Path | None
    status: Status
    chained: Path | None = None
    note: str | None = None


def render_hook(name: str, executable: Path, chained: Path) -> bytes:
    """The text of hook ``name`` that starts ``executable`` and runs ``chained`` where that exists."""
    source = _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT
    # One file without anything beside it: git runs a hook from wherever it was copied to.
    text = (source / name).read_text("utf-8").replace("@COMMON@", (source / "common.sh").read_text("utf-8"))
    values = {
        "@ID@": hook_places.ID,
        "@CHAINED@": hook_places.lines_to_run(chained, name),
        "@HAS_CHAINED@": hook_places.condition_to_run(chained, name),
        "@REKAL@": shlex.quote(os.fspath(executable)),
    }
    for mark, value in values.items():
        text = text.replace(mark, value)
    return text.encode("utf-8", "surrogateescape")


def plan_hooks(repo: Repo) -> list[tuple[HookPlace, Slot]]:
    """Find the place of each hook.

    Raises :class:`Refused` when post-commit cannot be had without changing a tracked file, or nothing can be written
    where git looks (``core.hooksPath=/dev/null`` switches hooks off).
    """
    slots = [
        (place, hook_places.find_slot(repo, place, name))
        for place in hook_places.find_places(repo)
        for name in hook_places.NAMES
    ]
    for place, slot in slots:
        if slot.path is None and slot.name == "post-commit":
            raise Refused(
                f"git takes its hooks from {place.directory}, where post-commit is a tracked file",
                f"add this line to it and run `rekal init` again: {slot.line}",
            )
        if not _writable(place.directory):
            own = f"`git config --local core.hooksPath {repo.common_dir / 'hooks'}` gives this repository its own"
            hint = own if place.kind == "shared" else "check its permissions"
            raise Refused(f"git takes its hooks from {place.directory}, where nothing can be written", hint)
    return slots


def _writable(directory: Path) -> bool:
    # The directory of hooks may be missing; git makes none, so that ours to create counts.
    nearest = next(p for p in (directory, *directory.parents) if p.exists())
    return nearest.is_dir() and os.access(nearest, os.W_OK)


def install_hooks(repo: Repo, executable: Path, journal: Journal) -> tuple[Hook, ...]:
    """Install or upgrade all hooks. Raises :class:`Refused` before anything is changed."""
    slots = plan_hooks(repo)
    for place in {place.directory: place for place, _ in slots}.values():
        # Registered before the hooks are there: a `clean` of another repository must not remove them in between.
        if place.kind == "shared":
            _register(place.directory, repo.root, journal)
    return tuple(_put_hook(repo, slot, executable, journal) for _, slot in slots)


def warn_of_shared_hooks(repo: Repo) -> list[str]:
    """Sentences about the directories that git takes hooks from."""
    return [
        f"git takes every repository's hooks from {place.directory}: rekal's, too, are there, and do nothing elsewhere"
        for place in hook_places.find_places(repo)
        if place.kind == "shared"
    ]


def _put_hook(repo: Repo, slot: Slot, executable: Path, journal: Journal) -> Hook:
    hook = slot.path
    if hook is None:
        note = f"{slot.name} is a tracked file; to have rekal called, add to it: {slot.line}"
        return Hook(slot.name, None, "refused", note=note)
    if hook.is_dir():
        return Hook(slot.name, None, "refused", note=f"{hook} is a directory and was left alone")
    chained = hook_places.chained_path(hook)
    target = _moved_by_pre_commit(hook)
    if target is None:
        target = hook
        if slot.pattern:
            exclude.add_patterns(
                repo, journal, slot.pattern, exclude.exact_pattern(slot.pattern[1:] + hook_places.SUFFIX)
            )
        _keep_foreign(hook, chained)
        journal.creates(hook)
    text = render_hook(slot.name, executable, chained)
    if files.read_or_empty(target) != text or not os.access(target, os.X_OK):
        # Unlinked from what it was: the kept hook may be the same file under its second name.
        if target.is_symlink():
            target.unlink()
        files.write_through_link(target, text, 0o755)
    return Hook(slot.name, target, "installed", chained if files.name_is_taken(chained) else None, slot.note)


def _moved_by_pre_commit(hook: Path) -> Path | None:
    """Our file where `pre-commit install` put it; pre-commit runs it from there."""
    legacy = hook.with_name(hook.name + ".legacy")
    return legacy if hook_places.is_ours(legacy) and not hook_places.is_ours(hook) else None


def _keep_foreign(hook: Path, chained: Path) -> None:
    """Give a hook that is not ours the name from which ours will run it."""
    backup = hook.with_name(hook.name + ".old")
    if hook_places.is_ours(hook):
        return
    if hook_places.is_ours(backup):  # lefthook's way with a file that it did not write
        backup.unlink()
        if files.name_is_taken(chained):
            chained.rename(backup)
    if not files.name_is_taken(hook):
        # Ours was removed by somebody. What a manager generated goes with it, the user's own hook is run again.
        if hook_places.find_manager(chained):
            chained.unlink(missing_ok=True)
        return
    if (
        files.name_is_taken(chained)
        and not hook_places.find_manager(chained)
        and not files.have_same_bytes(hook, chained)
    ):
        chained.rename(chained.with_name(chained.name + "-before"))
    files.duplicate_file(hook, chained)


def uninstall_hooks(repo: Repo, journal: Journal) -> tuple[list[str], list[str]]:
    """Remove our hooks and put back what stood there. Returns the hooks removed, and notes on what was left."""
    removed: list[str] = []
    notes: list[str] = []
    for place in hook_places.find_places(repo):
        if place.kind == "shared" and _unregister(place.directory, repo.root, journal):
            notes.append(f"{place.directory} still has rekal's hooks: other repositories use them")
            continue
        directories = [place.directory] + ([place.directory.parent] if place.kind == "husky" else [])
        for hook in (directory / name for directory in directories for name in hook_places.NAMES):
            if _take_hook_out(hook, notes):
                removed.append(str(hook))
            journal.forget(hook)
    for name in hook_places.NAMES:
        if _take_hook_out(hook_places.standalone_hook(repo, name), notes):
            removed.append(str(hook_places.standalone_hook(repo, name)))
        journal.forget(hook_places.standalone_hook(repo, name))
    return removed, notes


def _take_hook_out(hook: Path, notes: list[str]) -> bool:
    """Undo :func:`_put_hook` for one hook. Returns whether anything of ours was there."""
    files.remove_unfinished(hook)
    chained = hook_places.chained_path(hook)
    before = chained.with_name(chained.name + "-before")
    if files.name_is_taken(before):
        notes.append(f"{before} is an earlier hook of yours that another program replaced; rekal leaves it to you")
    if hook_places.is_ours(hook):
        if files.name_is_taken(chained):
            chained.replace(hook)
        else:
            hook.unlink()
        return True
    found = False
    for moved in (hook.with_name(hook.name + ".legacy"), hook.with_name(hook.name + ".old")):
        if hook_places.is_ours(moved):
            found = True
            moved.unlink()
            if files.name_is_taken(chained) and not hook_places.find_manager(chained):
                chained.rename(moved)
    if not files.name_is_taken(chained):
        return found
    if hook_places.find_manager(chained) or files.have_same_bytes(chained, hook):
        chained.unlink()
    elif not files.name_is_taken(hook):
        chained.rename(hook)
    else:
        notes.append(f"{chained} is the hook that was here before rekal; another program has replaced it since")
    return True


def read_hooks(repo: Repo, executable: Path) -> tuple[Hook, ...]:
    """The hooks installed and their places, read from the files themselves."""
    return tuple(
        _hook_state(slot, executable) for place in hook_places.find_places(repo) for slot in _slots(repo, place)
    )


def list_unhooked_trees(repo: Repo) -> list[str]:
    """One sentence for each linked work tree in which no hook runs."""
    return [
        f"no hook runs in {tree}, because core.hooksPath is relative and that directory is not there; "
        "set it to an absolute path to have commits there captured"
        for tree in hook_places.list_trees_without_hooks(repo)
    ]


def _slots(repo: Repo, place: HookPlace) -> list[Slot]:
    return [hook_places.find_slot(repo, place, name) for name in hook_places.NAMES]


def _hook_state(slot: Slot, executable: Path) -> Hook:
    if slot.path is None or slot.path.is_dir():
        return Hook(slot.name, None, "refused", note=slot.line or f"{slot.path} is a directory")
    target = _moved_by_pre_commit(slot.path) or slot.path
    chained = hook_places.chained_path(slot.path)
    status: Status = "installed"
    if not files.name_is_taken(target):
        status = "missing"
    elif not hook_places.is_ours(target):
        status = "displaced" if files.name_is_taken(chained) else "missing"
    # Compared with what would be written now: another path of rekal counts as outdated, too.
    elif files.read_or_empty(target) != render_hook(slot.name, executable, chained) or not os.access(target, os.X_OK):
        status = "outdated"
    return Hook(slot.name, target, status, chained if files.name_is_taken(chained) else None, slot.note)


_USERS = ".rekal-users"


def _register(directory: Path, root: Path, journal: Journal) -> None:
    """Note in a shared hooks directory that this repository needs what we put there."""
    path = directory / _USERS
    users = files.read_or_empty(path).decode("utf-8", "surrogateescape").splitlines()
    if str(root) not in users:
        journal.creates(path)
        files.write_through_link(path, _list_users([*users, str(root)]))


def _unregister(directory: Path, root: Path, journal: Journal) -> bool:
    """The opposite. Returns whether other repositories, still initialised, remain."""
    path = directory / _USERS
    files.remove_unfinished(path)
    if not files.name_is_taken(path):
        return False
    users = files.read_or_empty(path).decode("utf-8", "surrogateescape").splitlines()
    # Repositories that were deleted without `clean` do not keep the hooks alive.
    others = [user for user in users if user != str(root) and _is_set_up(Path(user))]
    if others:
        files.write_through_link(path, _list_users(others))
    else:
        path.unlink()
    journal.forget(path)
    return bool(others)


def _is_set_up(root: Path) -> bool:
    # `git clean -fdx` takes the first of these, and a bare or linked repository has no second.
    return any((root / name).is_dir() for name in (".rekal", ".git/rekal", "rekal/spool"))


def _list_users(users: list[str]) -> bytes:
    return "".join(f"{user}\n" for user in users).encode("utf-8", "surrogateescape")
