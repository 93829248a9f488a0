"""Settings with their values, and the models that make vectors: list them, choose one, verify it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec
import yaml

from rekal import config
from rekal.app.context import App
from rekal.app.resources import KEY
from rekal.config import HELP, read_variable, user_file
from rekal.embed.open import available_engines, chosen_profile, open_chosen
from rekal.embed.profiles import PROFILES, Profile, find_profile, verify_weights
from rekal.errors import ConfigError, EngineError, Refused, UsageError
from rekal.files import write_through_link


class ModelRow(msgspec.Struct, frozen=True):
    """One model: what it gives, how much of that is stored, the tokens it reads, and whether its file is there."""

    name: str
    file: str
    present: bool
    dim: int
    stored_dim: int
    max_tokens: int
    chosen: bool


class ModelList(msgspec.Struct, frozen=True):
    """Models and engines: ``model --json``. ``engines`` are the local ones installed, the preferred one first.

    ``endpoint`` is the address that embeds instead of a local model, if one is set. ``sha256``, ``dim`` and
    ``milliseconds`` (to embed one sentence) are of ``verify``, else null.
    """

    models: list[ModelRow]
    engines: list[str]
    endpoint: str | None
    sha256: str | None = None
    dim: int | None = None
    milliseconds: float | None = None


def use_model(app: App, name: str | None, file: Path | None, *, user: bool) -> None:
    """Choose a model, by the name of a profile or the path of its weights, for this clone or for the ``user``."""
    if name is None:
        raise UsageError("no model is named", "`rekal model list` names them")
    profile = find_profile(name, file)
    verify_weights(profile)
    path = user_file(app.env, app.home) if user else app.layout.own_config
    if not user:
        app.require_store()
    _write_choice(
        path, {"model": name if name in PROFILES else profile.file, "file": str(file.absolute()) if file else None}
    )


def _write_choice(path: Path, wanted: dict[str, str | None]) -> None:
    """Set keys of ``embed`` in a settings file."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if "#" in text:
        lines = ", ".join(f"{key}: {value}" for key, value in wanted.items() if value)
        raise Refused(f"{path} has comments, which rewriting it would lose", f"write `embed: {{{lines}}}` there")
    values: Any = yaml.safe_load(text) or {}
    kept = {k: v for k, v in {**values.get("embed", {}), **wanted}.items() if v is not None}
    _replace_file(path, yaml.safe_dump({**values, "embed": kept}, sort_keys=True))


def list_models(app: App) -> ModelList:
    """List the profiles, the one in use first."""
    chosen = app.config.embed
    remote = chosen.url if chosen.engine in ("auto", "remote") else None
    rows = [_describe_profile(profile, False) for name, profile in PROFILES.items() if remote or name != chosen.model]
    if not remote:
        rows.insert(0, _describe_profile(chosen_profile(chosen), True))
    return ModelList(rows, available_engines(), remote)


def _describe_profile(profile: Profile, chosen: bool) -> ModelRow:
    shape = (profile.dim, profile.stored_dim, profile.max_tokens)
    return ModelRow(profile.name, str(profile.path), profile.path.is_file(), *shape, chosen)


def verify_model(app: App) -> ModelList:
    """Check the weights of the model in use and embed a sentence with it. EngineError when it gives nonsense."""
    listed = list_models(app)
    digest = None if listed.endpoint else verify_weights(chosen_profile(app.config.embed))
    with closing(open_chosen(app.config.embed, read_variable(app.env, KEY))) as embedder:
        start = time.perf_counter()
        vector = embedder.embed_query("A sentence of a few words.")
        took = (time.perf_counter() - start) * 1000
    # Cosines are plain products here, so a vector that is not of length one would rank wrongly.
    if len(vector) != embedder.dim or not 0.99 < float(vector @ vector) < 1.01:
        raise EngineError("the model gives no unit vectors", "use another one")
    return msgspec.structs.replace(listed, sha256=digest, dim=embedder.dim, milliseconds=round(took, 1))


class Setting(msgspec.Struct, frozen=True):
    """One key, its value now, and what it does."""

    key: str
    value: object
    help: str


class SettingsList(msgspec.Struct, frozen=True):
    """Settings in force: ``config --json``. ``warnings`` name keys that nothing reads."""

    settings: list[Setting]
    files: list[str]
    warnings: list[str]


def _no_setting(key: str) -> ConfigError:
    near = get_close_matches(key, HELP, 1) or [name for name in HELP if name.endswith(f".{key}")][:1]
    hint = f"did you mean {near[0]}?" if near else "`rekal config` lists them all"
    return ConfigError(f"there is no setting {key}", hint)


def list_settings(app: App, key: str | None) -> SettingsList:
    """List all settings, or the one called ``key``. ConfigError when there is none of that name."""
    if key is not None and key not in HELP:
        raise _no_setting(key)
    values = msgspec.to_builtins(app.config)
    settings = [Setting(k, _value_at(values, k), text) for k, text in HELP.items() if key in (None, k)]
    return SettingsList(settings, [str(f) for f in app.settings.files], list(app.settings.warnings))


def set_setting(app: App, key: str, text: str, *, user: bool) -> Path:
    """Write one setting, for this clone or for the ``user``, and return the file. ConfigError for a value that is none.

    ``text`` is read as YAML: ``true``, ``0.5``, ``[a, b]``; empty takes the setting out of the file.
    """
    if key not in HELP:
        raise _no_setting(key)
    if not user:
        app.require_store()
    path = user_file(app.env, app.home) if user else app.layout.own_config
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if "#" in before:
        raise Refused(f"{path} has comments, which rewriting it would lose", f"write {key} there")
    values: Any = yaml.safe_load(before) or {}
    *parents, last = key.split(".")
    node = values
    for parent in parents:
        node = node.setdefault(parent, {})
    node.pop(last, None)
    if text:
        node[last] = yaml.safe_load(text)
    _replace_file(path, yaml.safe_dump(values, sort_keys=True) if values else "")
    try:
        config.read_settings(app.layout.config, app.env, app.home, app.layout.own_config)
    except ConfigError:
        # As it was: a file that cannot be read would stop every command.
        _replace_file(path, before)
        raise
    return path


def _replace_file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Through a link: people keep their settings in a repository of their own and link to it.
    write_through_link(path, text.encode())


def _value_at(values: Mapping[str, object], key: str) -> object:
    node: object = values
    for part in key.split("."):
        node = node[part] if isinstance(node, Mapping) else None
    return node
