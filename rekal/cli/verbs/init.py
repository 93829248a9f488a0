"""``rekal init``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from rekal.agents import registry
from rekal.app.context import App, here
from rekal.app.share import start_sharing
from rekal.cli.ages import parse_age
from rekal.cli.output import emit_json, json_option
from rekal.daemon.spawn import start_worker
from rekal.errors import ConfigError
from rekal.install import Installed, install_rekal
from rekal.install.hooks import plan_hooks
from rekal.store.layout import ask_for_backfill
from rekal.store.ledger import open_ledger
from rekal.store.locks import hold_lock

# Where an agent keeps its things under the home directory: its presence means that it is used on this machine.
_TRACES: Mapping[str, tuple[str, ...]] = {
    "claude": (".claude", ".config/claude"),
    "codex": (".codex",),
    "copilot": (".copilot",),
    "cursor": (".cursor",),
    "gemini": (".gemini",),
    "kiro": (".kiro",),
    "opencode": (".local/share/opencode",),
}


class InitAnswer(msgspec.Struct, frozen=True):
    """What ``init --json`` prints."""

    store: str
    fresh: bool
    agents: list[str]
    installed: Installed
    backfill_since: datetime | None


@click.command("init")
@click.option("--agents", help="Write the instruction line for these agents (comma-separated) instead of those found.")
@click.option("--backfill", default="90d", show_default=True, help="Import past transcripts of this age; 0 for none.")
@click.option("--share", metavar="REMOTE", help="Let merged work travel to this remote, see `rekal share`.")
@click.option("--hooks-only", is_flag=True, help="Leave CLAUDE.md, AGENTS.md and the like alone.")
@json_option
def command(agents: str | None, backfill: str, share: str | None, hooks_only: bool, as_json: bool) -> None:
    """Set rekal up in this repository: store, hooks, one line for the agents.

    Run it again at any time: it repairs and upgrades what it finds. `rekal clean` undoes all of it.
    """
    app = here()
    chosen = _chosen(app, agents)
    enabled = app.config.enabled  # a settings file with a mistake stops us before anything is touched
    since = None if backfill in ("0", "none") else datetime.now(UTC) - parse_age(backfill)
    plan_hooks(app.repo)  # where no hook of ours can be had, this refuses before anything is touched
    fresh = not app.layout.data.exists()
    app.layout.create()
    app.layout.mark(enabled=enabled)
    installed = install_rekal(app.repo, chosen, executable(), hooks_only=hooks_only)
    with (
        hold_lock(app.layout.lock, wait=30.0, purpose="init"),
        open_ledger(app.layout.data, read_only=False, create=True),
    ):
        pass  # opening creates the tables or brings them up to date
    if since is not None and fresh:
        ask_for_backfill(app.layout.run, since)
    if share:
        start_sharing(app, share, "full", None)
    if fresh and enabled:
        start_worker(app)
    answer = InitAnswer(str(app.layout.directory), fresh, chosen, installed, since if fresh else None)
    if as_json:
        emit_json(answer)
    else:
        _print(answer)


def _chosen(app: App, agents: str | None) -> list[str]:
    if agents is not None:
        wanted = [name.strip() for name in agents.split(",") if name.strip()]
        unknown = sorted(set(wanted) - set(registry.agent_names()))
        if unknown:
            raise ConfigError(f"unknown agent {unknown[0]}", f"known are {', '.join(registry.agent_names())}")
        return wanted
    found = [name for name, traces in _TRACES.items() if any((app.home / trace).is_dir() for trace in traces)]
    return found or ["claude"]


def executable() -> Path:
    """The command that the hooks start: the one being run, else the one beside this interpreter."""
    called = Path(sys.argv[0])
    if called.name in ("rekal", "git-rekal") and called.is_file():
        return called.absolute()
    beside = Path(sys.executable).parent / "rekal"
    on_path = shutil.which("rekal")
    return beside if beside.is_file() or on_path is None else Path(on_path)


def _print(answer: InitAnswer) -> None:
    hooks = [hook for hook in answer.installed.hooks if hook.status == "installed"]
    chained = sum(hook.chained is not None for hook in hooks)
    kept = f", {chained} of them run the hook that was there" if chained else ""
    click.echo(f"rekal is set up in {answer.store}")
    click.echo(f"  hooks: {', '.join(hook.name for hook in hooks)}{kept}")
    if answer.installed.lines:
        click.echo(f"  agents: one line in {', '.join(answer.installed.lines)}")
    if answer.backfill_since:
        click.echo(f"  past transcripts since {answer.backfill_since:%Y-%m-%d} are being imported in the background")
    for note in answer.installed.notes:
        click.echo(f"rekal: {note}", err=True)
    click.echo('Commit as always; then: rekal recall "why did we …"')
