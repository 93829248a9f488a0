"""The server: lists the tools of a profile, checks arguments, runs one call at a time, turns errors into answers.

Only this module and :mod:`rekal.mcp.http` import the SDK, which takes most of a second of processor time.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import anyio
import anyio.to_thread
import mcp.types as types
import msgspec
from jsonschema import Draft7Validator
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from rekal import __version__
from rekal.app.desk import Desk, desk_here
from rekal.errors import RekalError
from rekal.mcp.graph_profile import RESOURCE, graph_fields
from rekal.mcp.tool_profiles import INSTRUCTIONS, tools_of
from rekal.mcp.tools import AgentCall, Tool, ToolAnswer, fail, pretty
from rekal.plain_text import clean_text, escape_hidden

_MOST_CONNECTIONS = 1_000
_ROOTS_PATIENCE = 2.0  # seconds for a client to say which folders it works in
_ONE_AT_A_TIME = threading.Lock()
"""A process can open a DuckDB file to read or to write, not both at once."""


class _Connection:
    """One client: where it works, and what it has set. ``session`` keeps what tells it from others alive."""

    def __init__(self, cwd: Path, session: Any = None) -> None:
        self.cwd, self.session = cwd, session
        self.settings: dict[str, Any] = {}


class RekalServer:
    """One profile over MCP. What it knows of a repository is where it is; every call opens, acts and closes."""

    def __init__(self, profile: str, *, read_only: bool = False, cwd: Path | None = None) -> None:
        self.tools: dict[str, Tool] = {tool.name: tool for tool in tools_of(profile) if not (read_only and tool.writes)}
        self._profile = profile
        self._cwd = cwd or Path(os.environ.get("CLAUDE_PROJECT_DIR") or Path.cwd())
        self._asked_roots = cwd is not None  # a caller that names the folder
        self._alone = _Connection(self._cwd)
        # Over HTTP there are several: a project that one of them sets, or its folder, is none of another's.
        self._connections: dict[int, _Connection] = {}
        self._subscribers: dict[int, Any] = {}
        self._has_graph = "read_graph" in self.tools

    def sdk_server(self) -> Server[Any]:
        """The SDK's server with our handlers."""
        resources: dict[str, Any] = {}
        if self._has_graph:
            resources = {
                "on_list_resources": self._list_resources,
                "on_read_resource": self._read_resource,
                "on_subscribe_resource": self._subscribe,
                "on_unsubscribe_resource": self._unsubscribe,
            }
        return Server(
            "rekal",
            version=__version__,
            instructions=INSTRUCTIONS[self._profile] or None,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            **resources,
        )

    async def run_stdio(self) -> None:
        """Serve one client on standard input and output."""
        server = self.sdk_server()
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    async def _list_tools(self, context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool.model_validate(one.contract) for one in self.tools.values()])

    async def _call_tool(self, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        client = await self._find_connection(context)
        answer = await anyio.to_thread.run_sync(self.answer, params.name, params.arguments or {}, client)
        tool = self.tools.get(params.name)
        if tool is not None and tool.writes and not answer.error:
            await self._notify()
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text) for text in answer.texts],
            structured_content=answer.structured,
            is_error=answer.error,
        )

    def answer(self, name: str, arguments: Mapping[str, Any], client: _Connection | None = None) -> ToolAnswer:
        """Run one call; whatever is wrong with it, or goes wrong, is an answer of one sentence."""
        answer = self._run_call(name, arguments, client or self._alone)
        return msgspec.structs.replace(answer, texts=tuple(map(_clean_block, answer.texts)))

    def _run_call(self, name: str, arguments: Mapping[str, Any], client: _Connection) -> ToolAnswer:
        tool = self.tools.get(name)
        if tool is None:
            return fail(f"MCP error -32602: Tool {name} not found")
        wrong = next(iter(Draft7Validator(tool.contract["inputSchema"]).iter_errors(arguments)), None)
        if wrong is not None:
            # What is asked for and not what was given: a value may be long, or a secret.
            where = "/".join(map(str, wrong.absolute_path)) or "the arguments"
            asked = f"{where}: {wrong.validator} {wrong.validator_value}"[:300]
            return fail(f"MCP error -32602: Input validation error: Invalid arguments for tool {name}: {asked}")
        with _ONE_AT_A_TIME:
            try:
                return tool.run(AgentCall(self.desk(client), arguments, client.settings))
            except RekalError as error:
                return fail(error.message if self._profile.startswith("graph") else str(error))
            except OSError as error:
                return fail(f"{error.strerror or error}")

    def desk(self, client: _Connection) -> Desk:
        """The desk at which calls read and write: the repository at hand, else the person's own store."""
        os.chdir(client.cwd if client.cwd.is_dir() else "/")
        return desk_here(via="mcp", actor_kind="agent")

    async def _find_connection(self, context: Any) -> _Connection:
        """The client that a request came from; asked at its first one which folder it works in."""
        key = _connection_key(context.session)
        found = self._connections.get(key)
        if found is None:
            found = self._connections[key] = _Connection(self._cwd, context.session)
            while len(self._connections) > _MOST_CONNECTIONS:
                del self._connections[next(iter(self._connections))]
            if not self._asked_roots:
                found.cwd = await self._ask_root(context.session)
        return found

    async def _ask_root(self, session: Any) -> Path:
        """Ask a client which folder it works in; not every client and not every protocol can say."""
        wanted = types.ClientCapabilities(roots=types.RootsCapability())
        try:
            if session.check_client_capability(wanted):
                with anyio.move_on_after(_ROOTS_PATIENCE):
                    found = await session.list_roots()
                    return next(iter(root_paths(found.roots)), self._cwd)
        except Exception:  # noqa: BLE001 - a client that promises roots and has none is still a client
            return self._cwd
        return self._cwd

    async def _list_resources(self, context: Any, params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    uri=RESOURCE,
                    name="knowledge-graph",
                    description="All entities and relations",
                    mime_type="application/json",
                )
            ]
        )

    async def _read_resource(self, context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        client = await self._find_connection(context)
        text = await anyio.to_thread.run_sync(self._graph_text, client)
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=RESOURCE, mime_type="application/json", text=text)]
        )

    def _graph_text(self, client: _Connection) -> str:
        from rekal.app.memory_graph import read_graph

        with _ONE_AT_A_TIME:
            return _clean_block(pretty(graph_fields(read_graph(self.desk(client)))))

    async def _subscribe(self, context: Any, params: Any) -> types.EmptyResult:
        self._subscribers[_connection_key(context.session)] = context.session
        return types.EmptyResult()

    async def _unsubscribe(self, context: Any, params: Any) -> types.EmptyResult:
        self._subscribers.pop(_connection_key(context.session), None)
        return types.EmptyResult()

    async def _notify(self) -> None:
        for key, session in list(self._subscribers.items()):
            try:
                await session.send_resource_updated(RESOURCE)
            except Exception:  # noqa: BLE001 - a subscriber that has left is no reason to fail the call of another
                self._subscribers.pop(key, None)


def _connection_key(session: Any) -> int:
    """A number for a connection. The SDK makes a session for each request; what a client said of itself is one."""
    return id(session.client_params or session)


def _clean_block(text: str) -> str:
    """A content block without hidden characters; in JSON they are escapes, so that its values stay what they are."""
    cleaned = clean_text(text)
    if cleaned == text or text[:1] not in ("{", "["):
        return cleaned
    try:
        json.loads(text)
    except ValueError:
        return cleaned
    return escape_hidden(text)


def root_paths(roots: Sequence[types.Root]) -> list[Path]:
    """The folders that a client names, as far as they are on this machine."""
    found = (urlsplit(str(root.uri)) for root in roots)
    paths = (Path(unquote(one.path)) for one in found if one.scheme == "file")
    return [path for path in paths if path.is_dir()]
