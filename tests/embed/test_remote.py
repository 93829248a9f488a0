"""The endpoint engine against a real HTTP server on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import numpy as np
import pytest

from rekal.config import Embed
from rekal.embed.open import open_chosen
from rekal.embed.remote import RemoteEmbedder
from rekal.errors import EngineError


class Endpoint:
    """What the server saw, and how it answers next."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.status = 200
        self.raw: bytes | None = None

    def answer(self, body: dict[str, Any]) -> bytes:
        self.requests.append(body)
        if self.raw is not None:
            return self.raw
        rows = [{"index": i, "embedding": [float(len(text)), 1.0, 0.0]} for i, text in enumerate(body["input"])]
        return json.dumps({"data": rows[::-1]}).encode()


@pytest.fixture
def endpoint() -> Iterator[tuple[Endpoint, str]]:
    state = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.keys.append(self.headers.get("Authorization"))
            assert self.path == "/v1/embeddings"
            data = state.answer(body)
            self.send_response(state.status)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            """Keeps the test's output clean."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield state, f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()
    thread.join()


def test_rows_come_back_in_order_and_of_length_one(endpoint: tuple[Endpoint, str]) -> None:
    state, url = endpoint
    embedder = open_chosen(Embed(engine="remote", url=url, remote_model="some-model"), "k")
    assert (embedder.dim, embedder.model_id) == (3, "remote:some-model:3")
    rows = embedder.embed_documents(["a" * n for n in range(1, 41)])
    np.testing.assert_allclose(rows[:, 0] / rows[:, 1], np.arange(1, 41), rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-5)
    assert [len(request["input"]) for request in state.requests] == [1, 32, 8]
    assert set(state.keys) == {"Bearer k"}
    assert embedder.embed_query("ab").shape == (3,)
    assert embedder.embed_documents([]).shape == (0, 3)


@pytest.mark.parametrize(
    "raw",
    [
        b"<html>",
        b"{}",
        b'{"data": [{"index": 0}]}',
        b'{"data": []}',
        b'{"data": [{"index": 0, "embedding": []}]}',
        b"[1]",
    ],
)
def test_another_answer_is_one_sentence(endpoint: tuple[Endpoint, str], raw: bytes) -> None:
    endpoint[0].raw = raw
    with pytest.raises(EngineError, match=r"answered something else|gave \d vectors for 1 texts"):
        RemoteEmbedder(endpoint[1], "m")


def test_a_refusal_names_its_status(endpoint: tuple[Endpoint, str]) -> None:
    endpoint[0].status = 401
    with pytest.raises(EngineError, match="answered 401"):
        RemoteEmbedder(endpoint[1], "m")


def test_an_address_that_leads_nowhere(endpoint: tuple[Endpoint, str]) -> None:
    with pytest.raises(EngineError, match="cannot be reached"):
        RemoteEmbedder("http://127.0.0.1:1/v1", "m", timeout=2)
    with pytest.raises(EngineError, match="not an http address"):
        RemoteEmbedder("file:///etc", "m")
