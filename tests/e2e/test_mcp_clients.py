"""Four clients over MCP, commits and the command line at one store: nothing is lost, and nobody is told "busy"."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.support.installed_rekal import REKAL, Live, worked

PROFILES = ("graph", "graph-plus", "memory", "core")


class Written:
    """The texts that a caller was told are stored; a failure of any caller is kept to be shown."""

    def __init__(self) -> None:
        self.texts: dict[str, list[str]] = {}
        self.failures: list[str] = []

    def add(self, who: str, text: str) -> None:
        self.texts.setdefault(who, []).append(text)


def _call(profile: str, text: str) -> tuple[str, dict[str, Any]]:
    """The call by which a client of this profile stores a text."""
    if profile.startswith("graph"):
        return "create_entities", {"entities": [{"name": text, "entityType": "t", "observations": ["seen"]}]}
    if profile == "memory":
        return "memory_store", {"content": text}
    return "remember", {"text": text, "type": "fact"}


async def _client(root: Path, profile: str, number: int, written: Written, ends: Callable[[int], bool]) -> None:
    """A client of its own server that writes and reads until ``ends`` says so of the number of rounds."""
    server = StdioServerParameters(command=str(REKAL), args=["mcp", "--profile", profile], env={**os.environ}, cwd=root)
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        rounds = 0
        while not ends(rounds):
            text = f"Client {number} of {profile} writes number {rounds}"
            name, arguments = _call(profile, text)
            answer = await session.call_tool(name, arguments)
            if answer.is_error:
                written.failures.append(f"{profile}: {answer.content}")
            else:
                written.add(profile, text)
            read_tool = {"memory": "memory_timeline", "core": "check"}.get(profile, "search_nodes")
            asked = {"memory": {}, "core": {"plan": "use redis"}}.get(profile, {"query": "number 0"})
            answer = await session.call_tool(read_tool, asked)
            if answer.is_error:
                written.failures.append(f"{profile}: {answer.content}")
            rounds += 1


def _in_turn(step: Callable[[int], None], written: Written, ends: Callable[[int], bool]) -> threading.Thread:
    def run() -> None:
        rounds = 0
        while not ends(rounds):
            try:
                step(rounds)
            except AssertionError as error:
                written.failures.append(str(error))
            rounds += 1

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def _work_together(live: Live, home: Path, ends: Callable[[int], bool]) -> Written:
    written = Written()

    def commit(number: int) -> None:
        worked(home, live.root, f"c{number}", f"f{number}.py", f"retry queue {number} lives here\n")
        live.git("add", ".")
        live.git("commit", "-q", "-m", f"Commit {number}")
        written.add("commit", f"Commit {number}")

    def remember(number: int) -> None:
        text = f"The command line writes number {number}"
        live("remember", text, "--type", "fact")
        written.add("cli", text)
        live("recall", "why does the retry queue live in postgres", code=None)
        hooked = json.dumps(
            {"session_id": f"h{number}", "cwd": str(live.root), "prompt": "why is the queue in postgres"}
        )
        live("hook", "prompt", f"--input={hooked}")

    others = [_in_turn(commit, written, ends), _in_turn(remember, written, ends)]

    async def clients() -> None:
        async with anyio.create_task_group() as group:
            for number, profile in enumerate(PROFILES):
                group.start_soon(_client, live.root, profile, number, written, ends)

    anyio.run(clients)
    for one in others:
        one.join()
    return written


def _check(live: Live, written: Written) -> None:
    assert written.failures == []
    live("_worker")
    live("checkpoint", code=None)
    memories = {one["text"] for one in live("memories", "--limit", "100000", "--json").json["memories"]}
    assert {*written.texts["memory"], *written.texts["core"], *written.texts["cli"]} <= memories
    lines = [json.loads(line) for line in live("export", "--format", "anthropic").out.splitlines()]
    assert {*written.texts["graph"], *written.texts["graph-plus"]} == {line["name"] for line in lines}
    subjects = {row[0] for row in live("query", "--json", "SELECT subject FROM checkpoints").json["rows"]}
    assert set(written.texts["commit"]) <= subjects


@pytest.mark.timeout(300)
@pytest.mark.soak
def test_nothing_is_lost_for_a_minute(live: Live, home: Path) -> None:
    end = time.monotonic() + 60
    written = _work_together(live, home, lambda rounds: time.monotonic() > end)
    print({who: len(texts) for who, texts in written.texts.items()})
    assert all(len(texts) >= 3 for texts in written.texts.values())
    assert set(written.texts) == {*PROFILES, "cli", "commit"}
    _check(live, written)
