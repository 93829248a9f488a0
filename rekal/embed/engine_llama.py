"""llama.cpp through llama-cpp-python, the optional extra."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from rekal.embed.base import Vectors
from rekal.embed.local_model import EngineFactory
from rekal.embed.profiles import Profile
from rekal.embed.quiet import silenced_stderr
from rekal.errors import EngineError


class LlamaEngine:
    """See :class:`rekal.embed.local_model.Engine`."""

    name = "llama-cpp-python"

    def __init__(self, profile: Profile, threads: int) -> None:
        self._profile, self._threads = profile, threads
        self._pooled: Any = self._load(profile.pooling)

    def _load(self, pooling: str) -> Any:
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # spinning threads cost up to ten times on a busy machine
        import llama_cpp  # type: ignore[import-not-found,import-untyped,unused-ignore]

        window = self._profile.max_tokens
        try:
            with silenced_stderr():
                return llama_cpp.Llama(
                    model_path=str(self._profile.path),
                    embedding=True,
                    # All three alike: llama.cpp aborts the process on a text longer than its physical batch.
                    n_ctx=window,
                    n_batch=window,
                    n_ubatch=window,
                    n_threads=self._threads,
                    n_threads_batch=self._threads,
                    flash_attn=True,
                    pooling_type=getattr(llama_cpp, f"LLAMA_POOLING_TYPE_{pooling.upper()}"),
                    verbose=False,
                )
        except (ValueError, RuntimeError, AssertionError) as error:
            raise EngineError(f"llama-cpp-python cannot load {self._profile.path} ({error})") from error

    def _open(self) -> Any:
        if self._pooled is None:
            raise EngineError("the embedding engine was closed")
        return self._pooled

    def count(self, text: str) -> int:
        return len(self._open().tokenize(text.encode(), add_bos=True, special=False))

    def pooled(self, texts: Sequence[str]) -> Vectors:
        return self._embed(self._open(), list(texts))

    def _embed(self, model: Any, texts: list[str]) -> Vectors:
        try:
            with silenced_stderr():
                return np.asarray(model.embed(texts, normalize=False, truncate=False), dtype=np.float32)
        except (ValueError, RuntimeError) as error:
            raise EngineError(f"llama-cpp-python failed on a text ({error})") from error

    def close(self) -> None:
        if self._pooled is not None:
            self._pooled.close()
        self._pooled = None


open_llama: EngineFactory = LlamaEngine
