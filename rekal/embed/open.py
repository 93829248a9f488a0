"""Pick an engine and open a model with it."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Literal

from rekal.config import Embed
from rekal.embed.base import Embedder
from rekal.embed.local_model import EngineFactory, LocalEmbedder
from rekal.embed.profiles import DEFAULT, Profile, find_profile
from rekal.errors import EngineError

EngineName = Literal["auto", "llama-cpp-python", "xllamacpp"]

_MODULES = {"llama-cpp-python": "llama_cpp", "xllamacpp": "xllamacpp"}  # in order of preference


def available_engines() -> list[str]:
    """Local engines that are installed, the preferred one first. Imports none of them."""
    return [name for name, module in _MODULES.items() if importlib.util.find_spec(module) is not None]


def _factory(engine: str) -> EngineFactory:
    if engine == "llama-cpp-python":
        from rekal.embed.engine_llama import open_llama

        return open_llama
    from rekal.embed.engine_xllama import open_xllama

    return open_xllama


def open_local(profile: Profile = DEFAULT, engine: EngineName = "auto", threads: int | None = None) -> LocalEmbedder:
    """Open ``profile`` on this machine, by default with half of its cores. EngineError when that cannot be done."""
    installed = available_engines()
    name = engine if engine != "auto" else next(iter(installed), "xllamacpp")
    if name not in installed:
        raise EngineError(
            f"the embedding engine {name} is not installed",
            "install the extra 'llama'" if name == "llama-cpp-python" else "reinstall rekal",
        )
    threads = threads or max(1, (os.cpu_count() or 2) // 2)
    try:
        return LocalEmbedder(profile, _factory(name), threads)
    except ImportError as error:  # a broken build: found, but its libraries do not load
        raise EngineError(f"the embedding engine {name} does not load ({error})", "reinstall it") from error


def _remote(url: str, model: str, api_key: str | None, timeout: float = 10.0) -> Embedder:
    from rekal.embed.remote import RemoteEmbedder  # http takes 20 ms to import, and hardly anybody has an endpoint

    return RemoteEmbedder(url, model, api_key, timeout)


def open_chosen(chosen: Embed, api_key: str | None = None) -> Embedder:
    """The embedder that the settings ask for. EngineError when there is none to be had."""
    if chosen.engine == "off":
        raise EngineError("embedding is switched off", "see `embed.engine` in `rekal config`")
    if chosen.engine == "remote" and not chosen.url:
        raise EngineError("no embedding endpoint is set", "set `embed.url`")
    if chosen.engine == "remote" or (chosen.engine == "auto" and chosen.url):
        return _remote(chosen.url or "", chosen.remote_model or chosen.model, api_key)
    return open_local(chosen_profile(chosen), chosen.engine)


def chosen_profile(chosen: Embed) -> Profile:
    """The local model that the settings name. UsageError for one not known, EngineError for a bad file."""
    return find_profile(chosen.model, Path(chosen.file).expanduser() if chosen.file else None)


def chosen_model_id(chosen: Embed) -> str:
    """The beginning of the model id that :func:`open_chosen` would give, nothing opened. EngineError for none.

    It is the whole id but for an endpoint, which alone knows its dimension, and for weights that no profile pins.
    """
    if chosen.engine == "off":
        raise EngineError("embedding is switched off", "see `embed.engine` in `rekal config`")
    if chosen.engine == "remote" or (chosen.engine == "auto" and chosen.url):
        return f"remote:{chosen.remote_model or chosen.model}:"
    profile = chosen_profile(chosen)
    return f"{profile.name}:{profile.stored_dim}:{(profile.sha256 or '')[:12]}"
