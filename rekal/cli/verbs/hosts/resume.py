"""``rekal resume``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import click
import msgspec

from rekal.app.context import find_app
from rekal.app.hosts.brief import make_brief
from rekal.app.hosts.resume import find_named, find_resumable
from rekal.cli.output import AgentName, json_option, print_record
from rekal.cli.verbs.hosts.brief import brief_lines
from rekal.errors import FOUND, NOTHING_FOUND


class ResumeAnswer(msgspec.Struct, frozen=True):
    """The session that was last at work on this branch, and the command that goes on with it; null without one."""

    session_id: str | None
    agent: str | None
    command: list[str] | None


@click.command("resume")
@click.argument("handle", metavar="[ID]", required=False)
@click.option("--agent", type=AgentName(), help="Only a session of this agent.")
@json_option
def command(handle: str | None, agent: str | None, as_json: bool) -> int:
    """Print the command that goes on with this branch's last session of yours, and the hand-over.

    With ID it is the command that goes on with that session.
    Nothing is started. A session of another machine cannot be resumed; its hand-over still can be read.
    """
    app = find_app()
    app.require_store()
    found = find_named(app, handle) if handle else find_resumable(app, agent)
    answer = ResumeAnswer(found.session_id, found.agent, found.command) if found else ResumeAnswer(None, None, None)

    def lines(shown: ResumeAnswer) -> Iterator[str]:
        if shown.command:
            yield shlex.join(shown.command)
        if handle is None:
            yield from brief_lines(make_brief(app))

    print_record(answer, as_json, lines, [] if found else ["no session of yours on this branch can be resumed"])
    return FOUND if found else NOTHING_FOUND
