"""An OpenAI-compatible embedding endpoint. Texts leave the machine only because the user named it."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any

import numpy as np

from rekal.embed.base import Vectors, unit_rows
from rekal.embed.local_model import make_valid
from rekal.errors import EngineError

BATCH = 32
LONGEST_TEXT = 8_000  # characters; what common endpoints take without a refusal
LARGEST_ANSWER = 64 << 20  # bytes


class RemoteEmbedder:
    """An :class:`rekal.embed.base.Embedder` over ``POST {url}/embeddings`` with ``{"model", "input"}``.

    ``url`` is the API's base (``https://host/v1``) or the endpoint itself. Opening one asks it for one vector, so a
    wrong address or model is known at once, and so is :attr:`dim`.
    """

    def __init__(self, url: str, model: str, api_key: str | None = None, timeout: float = 10.0) -> None:
        if not url.startswith(("http://", "https://")):
            raise EngineError(f"the embedding endpoint '{url}' is not an http address")
        base = url.rstrip("/")
        self._endpoint = base if base.endswith("/embeddings") else base + "/embeddings"
        self._model, self._timeout = model, timeout
        self._headers = {"Content-Type": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self.dim = len(self._ask(["dimension"])[0])
        self.model_id = f"remote:{model}:{self.dim}"

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        rows: list[list[float]] = []
        for start in range(0, len(texts), BATCH):
            rows += self._ask([make_valid(text)[:LONGEST_TEXT] for text in texts[start : start + BATCH]])
        if any(len(row) != self.dim for row in rows):
            raise EngineError(f"the embedding endpoint {self._endpoint} changed its dimension")
        return unit_rows(np.asarray(rows, dtype=np.float32).reshape(len(rows), self.dim), self.dim)

    def embed_query(self, text: str) -> Vectors:
        row: Vectors = self.embed_documents([text])[0]
        return row

    def close(self) -> None:
        """Nothing is held open between calls."""

    def _ask(self, texts: list[str]) -> list[list[float]]:
        body = json.dumps({"model": self._model, "input": texts}).encode()
        request = urllib.request.Request(self._endpoint, data=body, headers=self._headers)
        try:
            with urllib.request.urlopen(request, timeout=self._timeout) as response:
                data = response.read(LARGEST_ANSWER)
        except urllib.error.HTTPError as error:
            error.close()
            raise EngineError(f"the embedding endpoint {self._endpoint} answered {error.code}") from error
        except (OSError, ValueError) as error:
            raise EngineError(f"the embedding endpoint {self._endpoint} cannot be reached ({error})") from error
        return self._rows(data, len(texts))

    def _rows(self, data: bytes, expected: int) -> list[list[float]]:
        """The vectors of an answer, in the order of the texts; the protocol lets them come in any order."""
        try:
            entries: list[dict[str, Any]] = sorted(json.loads(data)["data"], key=lambda entry: entry["index"])
            rows = [[float(value) for value in entry["embedding"]] for entry in entries]
        except (ValueError, KeyError, TypeError) as error:
            raise EngineError(f"the embedding endpoint {self._endpoint} answered something else") from error
        if len(rows) != expected or not all(rows):
            raise EngineError(f"the embedding endpoint {self._endpoint} gave {len(rows)} vectors for {expected} texts")
        return rows
