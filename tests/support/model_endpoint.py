"""An OpenAI-compatible endpoint on loopback that answers as a test scripts it: a real HTTP server."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec


class Reply(msgspec.Struct, frozen=True):
    """One answer of the endpoint. ``cut`` sends half of the body, ``headers`` are added, ``waits`` holds it back."""

    text: str = ""
    status: int = 200
    headers: dict[str, str] = {}
    refusal: str | None = None
    cut: bool = False
    raw: bytes | None = None
    waits: threading.Event | None = None


class Endpoint:
    """The running server: its ``url``, and the requests that it got, decoded."""

    def __init__(self, script: Callable[[int, dict[str, Any]], Reply]) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.requests.append(body)
                endpoint.keys.append(self.headers.get("Authorization", ""))
                reply = script(len(endpoint.requests), body)
                if reply.waits is not None:
                    reply.waits.wait(30)
                self._send(reply)

            def _send(self, reply: Reply) -> None:
                message = {"role": "assistant", "content": reply.text or None, "refusal": reply.refusal}
                whole = {
                    "id": "r", "object": "chat.completion", "created": 1, "model": "scripted",
                    "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                }  # fmt: skip
                data = reply.raw if reply.raw is not None else json.dumps(whole).encode()
                self.send_response(reply.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data[: len(data) // 2] if reply.cut else data)
                if reply.cut:
                    self.close_connection = True

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the library
                """Say nothing: pytest would print it."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def run(self) -> None:
        """Serve until closed."""
        self._server.serve_forever(poll_interval=0.01)

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def serve_model(script: Callable[[int, dict[str, Any]], Reply]) -> Iterator[Endpoint]:
    """Run an endpoint for the block; ``script`` gets the number of the request and its body."""
    endpoint = Endpoint(script)
    thread = threading.Thread(target=endpoint.run, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.close()
        thread.join(5)
