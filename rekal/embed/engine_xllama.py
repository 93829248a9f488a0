"""llama.cpp through xllamacpp: an embedding server inside this process, reached through its own calls.

The server insists on an address to listen on. Where the system has Unix sockets it gets one in a private directory, so
no port is opened. Cutting needs token counts, which exist only behind that address.
"""

from __future__ import annotations

import _socket
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rekal.embed.base import Vectors
from rekal.embed.local_model import EngineFactory
from rekal.embed.profiles import Profile
from rekal.embed.quiet import silenced_stderr
from rekal.errors import EngineError

if TYPE_CHECKING:
    from http.client import HTTPConnection

BATCH = 32  # texts a call: bounds the JSON that goes back and forth
TIMEOUT = 120.0


def _connect(address: str) -> HTTPConnection:
    """A connection to the server; HTTP's modules are 25 ms that a question's vector does without."""
    import http.client
    import socket
    from urllib.parse import urlsplit

    scheme, _, rest = address.partition("://")
    if scheme != "unix":
        return http.client.HTTPConnection(urlsplit(address).netloc, timeout=TIMEOUT)
    connection = http.client.HTTPConnection("localhost", timeout=TIMEOUT)
    connection.sock = socket.socket(socket.AF_UNIX)  # open already, so that it makes none of its own
    connection.sock.settimeout(TIMEOUT)
    connection.sock.connect(rest)
    return connection


class _Server:
    """One loaded model."""

    def __init__(self, profile: Profile, threads: int, pooling: str) -> None:
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # spinning threads cost up to ten times on a busy machine
        import xllamacpp  # type: ignore[import-untyped]

        self._directory = tempfile.TemporaryDirectory(prefix="rekal-")
        window = profile.max_tokens
        params = xllamacpp.CommonParams()
        params.model.path = str(profile.path)
        params.embedding, params.warmup, params.n_parallel, params.verbosity = True, False, 1, -1
        params.n_ctx = params.n_batch = params.n_ubatch = window
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.n_threads_http = 1
        params.pooling_type = getattr(xllamacpp.llama_pooling_type, f"LLAMA_POOLING_TYPE_{pooling.upper()}")
        if hasattr(_socket, "AF_UNIX"):
            params.hostnames = [str(Path(self._directory.name) / "s.sock")]
        try:
            with silenced_stderr():
                self._server: Any = xllamacpp.Server(params)
        except RuntimeError as error:
            self._directory.cleanup()
            raise EngineError(f"xllamacpp cannot load {profile.path} ({error})") from error
        self._address: str = self._server.listening_address
        self._served = False

    def embeddings(self, texts: Sequence[str]) -> list[list[float]]:
        answer = self._server.handle_embeddings({"input": list(texts), "model": "local"})
        self._served = True
        if "error" in answer:
            raise EngineError(f"xllamacpp refused a text ({answer['error'].get('message', 'no reason given')})")
        return [row["embedding"] for row in sorted(answer["data"], key=lambda row: row["index"])]

    def post(self, path: str, body: dict[str, object]) -> Any:
        import json
        from http.client import OK, HTTPException

        connection = None
        try:
            connection = _connect(self._address)
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            data = response.read()
        except (OSError, HTTPException) as error:
            raise EngineError(f"xllamacpp does not answer ({error})") from error
        finally:
            if connection is not None:
                connection.close()
        if response.status != OK:
            raise EngineError(f"xllamacpp answered {response.status} to {path}")
        return json.loads(data)

    def close(self) -> None:
        if self._server is not None and not self._served:
            # A server told to stop before its loop has begun never does: an answer proves that it has.
            self._server.handle_embeddings({"input": ["x"], "model": "local"})
        self._server = None
        self._directory.cleanup()


class XllamaEngine:
    """See :class:`rekal.embed.local_model.Engine`."""

    name = "xllamacpp"

    def __init__(self, profile: Profile, threads: int) -> None:
        self._profile, self._threads = profile, threads
        self._pooled: _Server | None = _Server(profile, threads, profile.pooling)

    def _open(self) -> _Server:
        if self._pooled is None:
            raise EngineError("the embedding engine was closed")
        return self._pooled

    def count(self, text: str) -> int:
        answer = self._open().post("/tokenize", {"content": text, "add_special": True})
        return len(answer["tokens"])

    def pooled(self, texts: Sequence[str]) -> Vectors:
        server = self._open()
        rows: list[list[float]] = []
        for start in range(0, len(texts), BATCH):
            rows += server.embeddings(texts[start : start + BATCH])
        return np.asarray(rows, dtype=np.float32)

    def close(self) -> None:
        if self._pooled is not None:
            self._pooled.close()
        self._pooled = None


open_xllama: EngineFactory = XllamaEngine
