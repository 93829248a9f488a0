"""``rekal init``."""

from __future__ import annotations

from collections.abc import Iterator

import click

from rekal.app import setup
from rekal.app.context import find_app
from rekal.app.setup import SetUp
from rekal.cli.output import count_of, json_option, print_record
from rekal.daemon.spawn import start_worker


@click.command("init")
@click.option("--agents", help="Write the instruction line for these agents (comma-separated) instead of those found.")
@click.option("--backfill", help="Import past transcripts of this age; left out: 90d for a new store.")
@click.option("--share", metavar="REMOTE", help="Let merged work travel to this remote, see `rekal share`.")
@click.option("--mcp", is_flag=True, help="Have the agents' hosts start `rekal mcp`: an entry in this project's files.")
@click.option("--hooks-only", is_flag=True, help="Leave CLAUDE.md, AGENTS.md and the like alone.")
@json_option
def command(
    agents: str | None, backfill: str | None, share: str | None, mcp: bool, hooks_only: bool, as_json: bool
) -> None:
    """Set rekal up in this repository: store, hooks, one line for the agents.

    Run it again at any time: it repairs and upgrades what it finds. `rekal clean` undoes all of it.
    """
    app = find_app()
    answer = setup.set_up(app, agents, backfill, share, hooks_only=hooks_only, mcp=mcp)
    if app.config.enabled and (answer.fresh or answer.backfill_since):
        start_worker(app)
    print_record(answer, as_json, _lines, [*answer.installed.notes, *answer.servers_notes, *answer.shared_settings])


def _lines(answer: SetUp) -> Iterator[str]:
    hooks = [hook for hook in answer.installed.hooks if hook.status == "installed"]
    chained = sum(hook.chained is not None for hook in hooks)
    kept = f", {chained} of them run the hook that was there" if chained else ""
    yield f"rekal is set up in {answer.store}"
    yield f"  hooks: {', '.join(hook.name for hook in hooks)}{kept}"
    if answer.installed.lines:
        yield f"  agents: one line in {', '.join(answer.installed.lines)}"
    if answer.servers:
        yield f"  tools: `rekal mcp` in {', '.join(answer.servers)}"
    counts = [count_of(number, f"{agent} transcript") for agent, number in answer.transcripts.items()]
    yield f"  found here: {', '.join(counts) or 'no transcripts of any agent yet'}"
    if answer.backfill_since:
        yield f"  past transcripts since {answer.backfill_since:%Y-%m-%d} are being imported in the background"
    yield "Agents get what bears on their work without asking after: rekal inject on"
    yield 'Commit as always; then: rekal recall "why did we …"'
