"""``rekal mcp``."""

from __future__ import annotations

import importlib.util
import os
import secrets

import click

from rekal.cli.output import print_line
from rekal.errors import UsageError

PROFILES = ("core", "memory", "graph", "graph-plus", "recall", "all")


@click.command("mcp")
@click.option("--profile", type=click.Choice(PROFILES), default="core", show_default=True, help="Which tools to offer.")
@click.option("--read-only", is_flag=True, help="Only tools that change nothing. Or set REKAL_READONLY=1.")
@click.option("--http", "address", is_flag=False, flag_value="127.0.0.1:8787", help="Serve HTTP on this HOST:PORT.")
@click.option(
    "--token", envvar="REKAL_MCP_TOKEN", help="What HTTP clients must send; left out: one is made and printed."
)
def command(profile: str, read_only: bool, address: str | None, token: str | None) -> int:
    """Serve memory to agents over MCP, on standard input and output.

    core: recall, read_session, why, check, remember, forget. memory: the 21 tools of the rekal memory server. graph:
    the nine of Anthropic's memory server. graph-plus: these with ids, and eleven more of mcp-memory. recall: those of
    the two programs called recall. The repository is the
    client's root, else CLAUDE_PROJECT_DIR, else the current directory; outside of one it is your personal store.
    """
    if importlib.util.find_spec("mcp") is None or importlib.util.find_spec("jsonschema") is None:
        raise UsageError("the MCP server needs the extra `mcp`", "install rekal with it: `pipx install '.[mcp]'`")
    from rekal.mcp.mcp_server import RekalServer

    server = RekalServer(profile, read_only=read_only or os.environ.get("REKAL_READONLY") == "1")
    if address is None:
        import anyio

        anyio.run(server.run_stdio)
        return 0
    host, port = _mcp_parsed(address)
    token = token or secrets.token_urlsafe(24)
    print_line(f"http://{address}/mcp with the header `Authorization: Bearer {token}`", err=True)
    from rekal.mcp.http import run_http

    run_http(server, host, port, token)
    return 0


def _mcp_parsed(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if host not in ("127.0.0.1", "localhost", "[::1]") or not port.isdigit():
        raise UsageError(f"{address} is not an address of this machine", "write 127.0.0.1:8787")
    return host.strip("[]"), int(port)
