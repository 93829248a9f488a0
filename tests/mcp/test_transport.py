"""The official client reaches the server over stdio and over HTTP, and nobody else reaches it over HTTP."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

import anyio
import anyio.lowlevel
import httpx2
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from rekal.mcp.http import http_app
from rekal.mcp.mcp_server import RekalServer
from tests.support.app import Rekal

TOKEN = "t" * 32


def test_the_official_client_over_stdio(rekal: Rekal) -> None:
    async def talk() -> list[Any]:
        command = StdioServerParameters(
            command=sys.executable,
            args=["-m", "rekal", "mcp", "--profile", "graph"],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
            cwd=str(rekal.root),
        )
        async with stdio_client(command) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            listed = await session.list_tools()
            entity = {"name": "a", "entityType": "t", "observations": ["x"]}
            made = await session.call_tool("create_entities", {"entities": [entity]})
            read_back = await session.call_tool("read_graph", {})  # the client checks it against the schema
            resource = await session.read_resource("memory://knowledge-graph")
            return [
                len(listed.tools),
                made.is_error,
                read_back.structured_content,
                getattr(resource.contents[0], "text", ""),
            ]

    count, failed, graph, text = anyio.run(talk)
    assert count == 9
    assert not failed
    assert graph["entities"] == [{"name": "a", "entityType": "t", "observations": ["x"]}]
    assert '"name": "a"' in text


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"authorization": f"Bearer {TOKEN}"}, 200),
        ({}, 401),
        ({"authorization": "Bearer wrong"}, 401),
        ({"authorization": b"Bearer \xff"}, 401),
        ({"authorization": TOKEN}, 401),
        ({"authorization": f"Bearer {TOKEN}", "origin": "http://evil.example"}, 403),
        ({"authorization": f"Bearer {TOKEN}", "host": "evil.example:8787"}, 403),
        ({"authorization": f"Bearer {TOKEN}", "origin": "http://127.0.0.1:8787"}, 200),
        ({"authorization": f"Bearer {TOKEN}", "origin": "null"}, 403),
    ],
)
def test_http_wants_the_token_and_a_local_caller(rekal: Rekal, headers: dict[str, Any], status: int) -> None:
    async def ask() -> int:
        server = RekalServer("core", cwd=rekal.root)
        guard: Any = http_app(server, TOKEN)
        inner = guard._app
        async with inner.router.lifespan_context(inner):
            transport = httpx2.ASGITransport(app=guard)
            async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8787") as client:
                sent = {"accept": "application/json, text/event-stream", **headers}
                return (await client.post("/mcp", json=INITIALIZE, headers=sent)).status_code

    assert anyio.run(ask) == status


def test_without_the_extra_one_sentence_says_how_to_get_it(rekal: Rekal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    ran = rekal("mcp")
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert "pipx install '.[mcp]'" in ran.err


def test_http_is_for_this_machine(rekal: Rekal) -> None:
    ran = rekal("mcp", "--http", "0.0.0.0:8787")
    assert ran.code == 2
    assert "not an address of this machine" in ran.err


@contextlib.contextmanager
def _served(root: Path, *more: str) -> Iterator[tuple[int, str]]:
    """`rekal mcp --http` as a process of its own: its port and the token that it prints."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "rekal", "mcp", "--http", f"127.0.0.1:{port}", *more]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(command, cwd=root, env=env, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            token = server.stderr.readline().split("Bearer ")[1].split("`")[0]
            until = time.monotonic() + 60
            while True:
                with socket.socket() as knock:
                    if knock.connect_ex(("127.0.0.1", port)) == 0:
                        break
                assert server.poll() is None and time.monotonic() < until, "the server did not come up"
            yield port, token
        finally:
            server.terminate()


def _post(port: int, **headers: str) -> int:
    """Status of an MCP request over a real socket; ``headers`` with their dashes as underscores."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        link.request("POST", "/mcp", body=json.dumps(INITIALIZE), headers=sent)
        return link.getresponse().status
    finally:
        link.close()


def test_http_on_a_real_socket_lets_in_who_knows_the_token_and_is_of_this_machine(rekal: Rekal) -> None:
    with _served(rekal.root) as (port, token):
        right = f"Bearer {token}"
        answers = {
            "right": _post(port, Authorization=right),
            "none": _post(port),
            "wrong": _post(port, Authorization="Bearer wrong"),
            "origin": _post(port, Authorization=right, Origin="http://evil.example"),
            "host": _post(port, Authorization=right, Host="evil.example"),
        }
    assert answers == {"right": 200, "none": 401, "wrong": 401, "origin": 403, "host": 403}


def test_the_official_client_over_http(rekal: Rekal) -> None:
    async def talk(port: int, token: str) -> tuple[list[str], bool, str]:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers) as link,
            streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=link) as streams,
            ClientSession(streams[0], streams[1]) as session,
        ):
            await session.initialize()
            listed = await session.list_tools()
            made = await session.call_tool("remember", {"text": "Jobs live in Postgres.", "type": "decision"})
            return [tool.name for tool in listed.tools], bool(made.is_error), getattr(made.content[0], "text", "")

    with _served(rekal.root) as (port, token):
        names, failed, text = anyio.run(talk, port, token)
        with pytest.raises(BaseExceptionGroup):  # the client meets a 401
            anyio.run(talk, port, "wrong")
    assert names == ["recall", "read_session", "why", "check", "remember", "forget"]
    assert not failed
    assert text.startswith("proposed ")
    assert [one["text"] for one in rekal("memories", "--json").json["memories"]] == ["Jobs live in Postgres."]


@pytest.mark.filterwarnings("ignore:resources/.*subscribe")  # clients of the earlier protocol have nothing else
def test_a_subscriber_is_told_of_every_change_and_of_no_reading(rekal: Rekal) -> None:
    heard: list[str] = []

    async def listen(message: Any) -> None:
        heard.append(getattr(getattr(message, "root", message), "method", ""))

    async def talk() -> None:
        command = StdioServerParameters(
            command=sys.executable, args=["-m", "rekal", "mcp", "--profile", "graph"], cwd=str(rekal.root),
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )  # fmt: skip
        async with (
            stdio_client(command) as (read, write),
            ClientSession(read, write, message_handler=listen) as session,
        ):
            await session.initialize()
            for _ in range(2):
                await session.subscribe_resource("memory://knowledge-graph")
            await session.call_tool("read_graph", {})
            assert heard == []
            entity = {"name": "a", "entityType": "t", "observations": []}
            await session.call_tool("create_entities", {"entities": [entity]})
            with anyio.fail_after(60):
                while not heard:
                    await anyio.lowlevel.checkpoint()
            await session.unsubscribe_resource("memory://knowledge-graph")
            await session.call_tool("delete_entities", {"entityNames": ["a"]})
            await session.list_tools()

    anyio.run(talk)
    assert heard == ["notifications/resources/updated"]


def test_what_one_client_sets_is_none_of_anothers(rekal: Rekal) -> None:
    async def call(url: str, token: str, *calls: tuple[str, dict[str, Any]]) -> list[str]:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as link,
            streamable_http_client(url, http_client=link) as streams,
            ClientSession(streams[0], streams[1]) as session,
        ):
            await session.initialize()
            answers = [await session.call_tool(name, arguments) for name, arguments in calls]
            return [getattr(one.content[0], "text", "") if one.content else "" for one in answers]

    async def both(url: str, token: str) -> list[str]:
        store = ("memory_store", {"content": "Only of project one."})
        await call(url, token, ("memory_set_project", {"project": "one"}), store)
        return await call(url, token, ("memory_search", {"query": "project one"}))

    with _served(rekal.root, "--profile", "memory") as (port, token):
        assert anyio.run(both, f"http://127.0.0.1:{port}/mcp", token) == [""]
    (one,) = rekal("memories", "--json").json["memories"]
    assert one["project"] == "one"
