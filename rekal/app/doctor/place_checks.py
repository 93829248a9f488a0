"""The doctor's look around the store: the program, git, hooks, the agents' lines and their folders."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from rekal import __version__
from rekal.agents import registry
from rekal.agents.contract import Source
from rekal.app import context
from rekal.app.context import App
from rekal.app.doctor.diagnosis import CheckResult
from rekal.capture.read_sources import find_changed_sources, read_source
from rekal.errors import RekalError, StoreError
from rekal.git.run import absolute_entries
from rekal.install import repair_hooks
from rekal.install.hooks import list_unhooked_trees, read_hooks
from rekal.install.lines import find_missing_lines
from rekal.store import source_state
from rekal.store.ledger import open_ledger

_OLDEST_GIT = (2, 31)
_PATIENCE = 3.0  # seconds for a writer
_MOST_READ = 8 << 20  # bytes of the transcript that is read to try an agent's format
_OURS = b"rekal.__main__"  # what the starter that pip, pipx or uv writes imports


def examine_program(app: App) -> Iterator[CheckResult]:
    """Look for other programs of our name: whichever comes first on PATH is started by a person's shell."""
    try:
        other = distribution("rekal")
    except PackageNotFoundError:
        other = None
    if other is not None:
        yield CheckResult(
            "program", "wrong",
            f"another project's package, rekal {other.version}, is in this environment: both bring a module and a "
            "command of this name",
            "give each an environment of its own: `pipx install git-rekal` or `uv tool install git-rekal`",
        )  # fmt: skip
    own = context.find_executable()
    others = [path for path in _commands_on_path(app) if not _has_our_mark(path)]
    for path in others:
        yield CheckResult(
            "program", "note", f"{path} is another program called rekal",
            f"`git rekal` is always this one; the hooks call {own}",
        )  # fmt: skip
    if other is None and not others:
        yield CheckResult("program", "ok", f"rekal {__version__}, started as {own}")


def _commands_on_path(app: App) -> list[Path]:
    found = []
    for entry in absolute_entries(app.env.get("PATH", os.environ.get("PATH", ""))).split(os.pathsep):
        for name in ("rekal", "rekal.exe"):
            path = Path(entry) / name
            if path.is_file() and os.access(path, os.X_OK):
                found.append(path)
    return list(dict.fromkeys(found))


def _has_our_mark(path: Path) -> bool:
    try:
        return path.stat().st_size < 1 << 20 and _OURS in path.read_bytes()
    except OSError:
        return False


def examine_git(app: App) -> Iterator[CheckResult]:
    """Ask git for its version and for this repository's HEAD."""
    words = (app.repo.ask("version") or "").split()
    numbers = tuple(int(part) for part in (words[2] if len(words) > 2 else "").split(".")[:2] if part.isdigit())
    if numbers < _OLDEST_GIT:
        needed = ".".join(map(str, _OLDEST_GIT))
        yield CheckResult(
            "git", "wrong", f"git is {' '.join(words[2:3]) or 'unknown'}", f"install git {needed} or later"
        )
        return
    head = app.repo.head()
    yield CheckResult("git", "ok", f"git {words[2]}, HEAD is {head[:10] if head else 'not born yet'}")


def examine_hooks(app: App) -> Iterator[CheckResult]:
    """Read every hook in every directory that git takes hooks from."""
    hooks = read_hooks(app.repo, context.find_executable())
    bad = [hook for hook in hooks if hook.status != "installed"]
    for hook in bad:
        where = f" in {hook.path.parent}" if hook.path else ""
        mend = f"add to it: {hook.note}" if hook.status == "refused" else "`rekal init`, or `rekal doctor --fix`"
        yield CheckResult("hooks", "wrong", f"{hook.name} is {hook.status}{where}", mend)
    for sentence in list_unhooked_trees(app.repo):
        what, _, remedy = sentence.partition("; ")
        yield CheckResult("hooks", "wrong", what, remedy)
    if not bad:
        yield CheckResult("hooks", "ok", f"{len(hooks)} in {len({h.path.parent for h in hooks if h.path})} directories")


def mend_hooks(app: App) -> None:
    """Write the hooks again where they are not ours or not of this version."""
    repair_hooks(app.repo, context.find_executable())


def examine_lines(app: App) -> Iterator[CheckResult]:
    """Look for the agents' line in every work tree."""
    chosen = [info.name for info in registry.describe_built_in() if any((app.home / t).is_dir() for t in info.traces)]
    missing = find_missing_lines(app.repo, chosen)
    for tree, names in missing:
        yield CheckResult(
            "lines", "note", f"{', '.join(names)} in {tree} has no line for agents", "`rekal init` writes it"
        )
    if not missing:
        yield CheckResult("lines", "ok", f"in every work tree, for {', '.join(chosen) or 'no agent'}")


def examine_agents(app: App) -> Iterator[CheckResult]:
    """Read the newest transcript of each agent afresh, and compare what lies there with what was captured."""
    known = _read_source_states(app)
    job = app.job()
    found: dict[str, list[Source]] = {}
    for adapter, source in find_changed_sources(job, {}):
        found.setdefault(adapter.name, []).append(source)
    for info in registry.describe_built_in():
        folders = [trace for trace in info.traces if (app.home / trace).is_dir()]
        sources = found.get(info.name, [])
        if not sources:
            if folders:
                said = f"~/{folders[0]} is there, and no transcript of this repository was found in it"
                yield CheckResult(f"agent {info.name}", "note", said)
            continue
        yield _try_agent(app, info.name, sources, known)
    failed = [state for state in (known or {}).values() if state.error]
    for state in failed[:5]:
        yield CheckResult(f"agent {state.agent}", "wrong", state.error or "", "it is tried again when the file changes")


def _read_source_states(app: App) -> dict[str, source_state.SourceState] | None:
    """Sources that were read before; None while the store cannot be opened."""
    try:
        with open_ledger(app.layout.data, read_only=True, wait=_PATIENCE) as ledger:
            return source_state.read_states(ledger.con)
    except StoreError:
        return None


def _try_agent(
    app: App, agent: str, sources: list[Source], known: dict[str, source_state.SourceState] | None
) -> CheckResult:
    job, name = app.job(), f"agent {agent}"
    small = [one for one in sources if one.size <= _MOST_READ] or sources
    newest = max(small, key=lambda one: one.mtime_ns)
    adapter = next(one for one in job.adapters if one.name == newest.agent)
    try:
        reading = read_source(job, adapter, newest, None)
    except RekalError as error:
        return CheckResult(name, "wrong", f"{newest.path}: {error.message}", error.hint)
    if reading.warning:
        return CheckResult(name, "wrong", reading.warning, "the format may be newer than this version: update rekal")
    skipped = reading.state.skipped_bytes if reading.state else 0
    if skipped and not reading.sessions:
        said = f"{skipped:,} bytes of {newest.path} could not be understood, and nothing else is in it"
        return CheckResult(name, "wrong", said, "the format may be newer than this version: update rekal")
    turns = sum(len(session.turns) for session in reading.sessions)
    counted = f"{len(sources)} transcripts; the newest reads, {turns} turns of this repository"
    if known is None:
        return CheckResult(name, "ok", counted)
    unread = [one for one in sources if one.key not in known]
    if len(unread) == len(sources):
        return CheckResult(name, "note", f"{counted}; none was captured", "`rekal checkpoint --since 90d` imports them")
    drift = {kind for state in known.values() if state.agent == agent for kind in state.drift}
    if drift:
        some = ", ".join(sorted(drift)[:3])
        return CheckResult(
            name, "note", f"{counted}; records of an unknown kind were passed over: {some}", "update rekal"
        )
    waits = f"; {len(unread)} wait for the next capture" if unread else ""
    return CheckResult(name, "ok", counted + waits)
