"""The server over streamable HTTP, for this machine's own programs: each request needs the token.

The SDK lets a request without an Origin pass, so a page of another program on this machine would be let in: the token
is what keeps it out, and a foreign Host or Origin is refused before anything else is looked at.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from rekal.mcp.mcp_server import RekalServer

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_Receive = Callable[[], Awaitable[Mapping[str, Any]]]
_Send = Callable[[Mapping[str, Any]], Awaitable[None]]


class Guard:
    """Lets requests through that come from this machine and know the token: else 403, or 401 without the token."""

    def __init__(self, app: Any, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Mapping[str, Any], receive: _Receive, send: _Send) -> None:
        """Serve one request of ASGI."""
        if scope["type"] == "http":
            headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
            status = self._refusal(headers)
            if status:
                plain = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
                await send({"type": "http.response.start", "status": status, "headers": plain})
                await send({"type": "http.response.body", "body": b"refused\n"})
                return
        await self._app(scope, receive, send)

    def _refusal(self, headers: Mapping[bytes, str]) -> int:
        origin = headers.get(b"origin")
        if not _is_local(f"//{headers.get(b'host', '')}") or (origin is not None and not _is_local(origin)):
            return 403
        kind, _, given = headers.get(b"authorization", "").partition(" ")
        # Compared in constant time, so that it does not show how far a guess is right; as bytes, since
        # `compare_digest` raises for text outside of ASCII.
        right = hmac.compare_digest(given.strip().encode("latin-1"), self._token.encode())
        return 0 if kind.lower() == "bearer" and right else 401


def _is_local(address: str) -> bool:
    try:
        return urlsplit(address).hostname in LOOPBACK
    except ValueError:
        return False


def http_app(server: RekalServer, token: str) -> Guard:
    """The ASGI application."""
    hosts = [f"{name}:*" for name in ("127.0.0.1", "localhost", "[::1]")]
    security = TransportSecuritySettings(
        allowed_hosts=[*hosts, *LOOPBACK], allowed_origins=[f"http://{h}" for h in hosts]
    )
    return Guard(server.sdk_server().streamable_http_app(transport_security=security), token)


def run_http(server: RekalServer, host: str, port: int, token: str) -> None:
    """Serve until interrupted."""
    uvicorn.run(http_app(server, token), host=host, port=port, log_level="warning", access_log=False)
