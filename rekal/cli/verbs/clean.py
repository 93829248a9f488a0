"""``rekal clean``."""

from __future__ import annotations

from collections.abc import Iterator

import click

from rekal.app import setup
from rekal.app.context import find_app
from rekal.app.setup import CleanedUp
from rekal.cli.output import confirm, json_option, print_note, print_record
from rekal.errors import FOUND, REFUSED


@click.command("clean")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--refs", "with_refs", is_flag=True, help="Also delete the local ref that this clone shared memory on.")
@json_option
def command(yes: bool, with_refs: bool, as_json: bool) -> int:
    """Leave the repository as it was before `rekal init`, byte for byte.

    This removes the store: what was captured is gone unless it was shared. What is on a remote stays there.
    """
    app = find_app(check=False)  # whatever the work tree brings, what we put into the git directory can be taken out
    question = f"Remove {app.layout.directory} with everything captured, the hooks and the agents' lines?"
    if not yes and not confirm(question):
        print_note("nothing was removed")
        return REFUSED
    answer = setup.clean_up(app, refs=with_refs)
    print_record(answer, as_json, _lines, answer.removed.notes)
    return FOUND


def _lines(answer: CleanedUp) -> Iterator[str]:
    removed = answer.removed
    yield f"removed {answer.store}, {len(removed.hooks)} hooks, {len(removed.lines)} lines for agents"
