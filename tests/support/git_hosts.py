"""Hosts for git on the loopback device: the real ``git http-backend``, and servers that behave badly."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import threading
from collections.abc import Container, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

TOKEN = "Basic " + base64.b64encode(b"dev:right").decode()


class Host(ThreadingHTTPServer):
    """Serves the bare repositories below ``root``. What the tests set decides how it behaves.

    ``private``: it asks for a name and a password. ``silent`` are the requests, counted from 1, that get no answer, or
    with ``drips`` one without an end. ``asked`` are the requests so far; ``left`` is set when a client that waited in
    vain has gone away.
    """

    daemon_threads = True

    def __init__(self, root: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.root = root
        self.private = False
        self.silent: Container[int] = ()
        self.drips = False
        self.asked: list[str] = []
        self.left = threading.Event()

    def url(self, name: str) -> str:
        """Where a repository is."""
        return f"http://127.0.0.1:{self.server_address[1]}/{name}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away in the middle of an answer is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: Host

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing is printed."""

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        host = self.server
        host.asked.append(f"{self.command} {self.path}")
        if len(host.asked) in host.silent:
            self._wait_in_vain()
        elif host.private and self.headers.get("Authorization") != TOKEN:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self._serve()

    def _wait_in_vain(self) -> None:
        """Say nothing, or a byte now and then, until the client hangs up."""
        self.close_connection = True
        self.connection.settimeout(0.05)
        if self.server.drips:
            self.connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while True:
            try:
                if self.server.drips:
                    self.connection.sendall(b"H")
                if self.connection.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        self.server.left.set()

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _serve(self) -> None:
        path, _, query = self.path.partition("?")
        body = self._body()
        cgi = {
            "GIT_PROJECT_ROOT": str(self.server.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REMOTE_USER": "dev",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type") or "",
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or "",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol") or "",
        }
        run = subprocess.run(
            ["git", "http-backend"], env={**os.environ, **cgi}, input=body, capture_output=True, check=True
        )
        head, _, content = run.stdout.partition(b"\r\n\r\n")
        lines = [line.partition(": ") for line in head.decode().split("\r\n")]
        status = next((value for name, _, value in lines if name == "Status"), "200 OK")
        self.send_response(int(status.split()[0]))
        for name, _, value in lines:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def hosting(root: Path) -> Iterator[Host]:
    """A host that is up."""
    host = Host(root)
    thread = threading.Thread(target=host.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield host
    finally:
        host.shutdown()
        host.server_close()
        thread.join()


@contextmanager
def black_hole() -> Iterator[str]:
    """The address of a port that takes every connection and answers none."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield f"git://127.0.0.1:{server.getsockname()[1]}/app.git"
