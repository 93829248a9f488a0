"""``rekal inject``."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from rekal.app.context import find_app, find_executable
from rekal.app.desk import desk_here
from rekal.app.documents.recall_block import BlockRequest, recall_block
from rekal.app.hosts.host_events import HostEvent
from rekal.app.hosts.inject_context import context_for, count_given, count_tokens
from rekal.cli.output import json_option, print_block, print_json, print_line, print_note
from rekal.errors import FOUND, NOTHING_FOUND, UsageError
from rekal.install import host_hooks
from rekal.install.host_hooks import HOSTS


class InjectAnswer(msgspec.Struct, frozen=True):
    """State of injection: ``hosts`` by name are ``on``, ``off`` or ``changed``; ``files`` were written or cleaned now.

    ``sessions`` were given ``tokens`` in all over 30 days, in ``blocks`` by moment. ``text`` is what ``try`` shows.
    """

    hosts: dict[str, str]
    files: list[str]
    notes: list[str]
    sessions: int
    tokens: int
    blocks: dict[str, int]
    text: str = ""


@click.command("inject")
@click.argument("action", metavar="[on | off | status | try | TEXT]")
@click.argument("names", nargs=-1, metavar="[HOST | QUESTION]...")
@click.option("--exclude", multiple=True, metavar="SOURCE", help="With TEXT: leave this document or session out.")
@click.option("--timeout", type=click.FloatRange(0.05, 60), default=1.5, show_default=True, help="With TEXT: seconds.")
@click.option("--budget", type=click.IntRange(50, 8000), default=400, show_default=True, help="With TEXT: tokens.")
@json_option
def command(
    action: str, names: tuple[str, ...], exclude: tuple[str, ...], timeout: float, budget: int, as_json: bool
) -> int:
    """Let agents have what bears on their work without asking; off until it is turned on.

    At a session's start and after compaction: decisions, ruled-out approaches and the last sessions of this branch.
    With a prompt: what a strict recall finds, which most often is nothing. Before an edit or a command: what was ruled
    out there.

    `on` writes entries into the settings of the agents' hosts in this repository, all that are found or those named
    (claude, codex, copilot, cursor, gemini, kiro, opencode); `off` takes them out byte for byte; `try` shows what a
    prompt, or without one a session's start, would be given. Any other TEXT prints the block for a prompt from
    sessions, memories and documents, or nothing when there is nothing or the time is over.
    """
    if action not in ("on", "off", "status", "try"):
        request = BlockRequest(text=" ".join((action, *names)), exclude=exclude, timeout=timeout, budget=budget)
        block = recall_block(desk_here(), request)
        print_block(block)
        return FOUND if block else NOTHING_FOUND
    app = find_app()
    app.require_store()
    files, notes = list[str](), list[str]()
    text = ""
    if action == "on":
        hosts = list(names) or _inject_found(app.home, app.repo.root)
        files, notes = host_hooks.turn_on(app.repo, hosts, find_executable())
    elif action == "off":
        files, notes = host_hooks.turn_off(app.repo, names)
    elif action == "try":
        moment = "prompt" if names else "start"
        text = context_for(app, HostEvent("rekal", "rekal", moment, moment, prompt=" ".join(names)))
    elif names:
        raise UsageError("status takes no names", "it says how all hosts are")
    sessions, tokens, blocks = count_given(app)
    answer = InjectAnswer(host_hooks.hosts_state(app.repo), files, notes, sessions, tokens, blocks, text)
    if as_json:
        print_json(answer)
    else:
        _inject_print(answer, action)
    return FOUND if action != "try" or text else NOTHING_FOUND


def _inject_found(home: Path, root: Path) -> list[str]:
    """Hosts that were used on this machine or in this repository; Claude Code when none was."""
    places = {
        "claude": (home / ".claude", root / ".claude"), "codex": (home / ".codex", root / ".codex"),
        "gemini": (home / ".gemini", root / ".gemini"), "cursor": (home / ".cursor", root / ".cursor"),
        "copilot": (home / ".copilot",), "kiro": (home / ".kiro", root / ".kiro"),
        "opencode": (home / ".config/opencode", home / ".local/share/opencode", root / ".opencode"),
    }  # fmt: skip
    return [name for name in HOSTS if any(place.is_dir() for place in places[name])] or ["claude"]


def _inject_print(answer: InjectAnswer, action: str) -> None:
    if action == "try":
        print_block(answer.text or "nothing\n")
        if answer.text:
            print_line(f"about {count_tokens(answer.text)} tokens", err=True)
        return
    for name in answer.files:
        print_line(f"{'written' if action == 'on' else 'cleaned'}: {name}")
    for note in answer.notes:
        print_note(str(note))
    for name, state in answer.hosts.items():
        if action == "status" or state != "off":
            print_line(f"{name:9} {state}")
    if action == "on" and "codex" in answer.hosts and answer.hosts["codex"] == "on":
        print_line("Codex runs a new hook once you have allowed it under /hooks")
    if action == "status":
        given = ", ".join(f"{count} at {moment}" for moment, count in sorted(answer.blocks.items()))
        counted = f"{answer.sessions} sessions in 30 days were given about {answer.tokens} tokens"
        print_line(f"{counted}: {given}" if given else counted)
