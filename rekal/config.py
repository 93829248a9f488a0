"""Settings: defaults, then the user's file, then this clone's own, then the environment.

Files are YAML: ``~/.config/rekal/config.yml`` (``$REKAL_CONFIG_HOME``, ``$XDG_CONFIG_HOME``) and ``rekal/config.yml``
in the git directory. A key that is not known is reported with the nearest one that is; a value of the wrong kind names
the file, the key and what would be right.

``.rekal/config.yml`` is in the work tree, so whoever may push to the repository writes it. It can only make things
stricter (:mod:`rekal.shared_settings`), and no mistake in it stops a command.
"""

from __future__ import annotations

import contextlib
import copy
import os
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from rekal.errors import ConfigError

if TYPE_CHECKING:
    from rekal.shared_settings import SharedSettings


class Exclude(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of what is never captured. Patterns are shell globs."""

    paths: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()


class Capture(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of what is captured."""

    agents: tuple[str, ...] = ()
    exclude: Exclude = msgspec.field(default_factory=Exclude)
    tool_output: Literal["none", "errors"] = "errors"


class Scrub(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of scrubbing."""

    email: Literal["keep", "redact", "pseudonym"] = "redact"
    ip: Literal["keep", "redact"] = "keep"
    patterns: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()


class Recall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of recall."""

    strictness: float = 0.4
    budget: int = 390
    limit: int = 5
    daemon: Literal["auto", "off"] = "auto"


class Embed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model that makes vectors, and the engine that runs it."""

    model: str = "all-MiniLM-L6-v2"
    file: str | None = None
    engine: Literal["auto", "llama-cpp-python", "xllamacpp", "remote", "off"] = "auto"
    url: str | None = None
    remote_model: str | None = None


class Extract(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model that takes facts out of documents."""

    model: str | None = None
    url: str | None = None
    command: str | None = None


class MemoryRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of checking, proposing and sharing memories."""

    ruled_out_from: float = 0.25
    # Those whose precision was measured; docs/memories.md has the figures.
    reflexes: bool | tuple[Literal["trailers", "reverts", "branches", "statements", "abandoned"], ...] = (
        "trailers",
        "statements",
    )
    share: Literal["none", "accepted"] = "none"


class Transport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of what leaves this clone, and to where."""

    share: Literal["full", "distilled", "none"] = "none"
    remotes: Mapping[str, str] = msgspec.field(default_factory=dict)
    namespace: Literal["rekal", "heads"] = "rekal"
    mainline: str | None = None

    @property
    def may_send(self) -> bool:
        """True if memory of this clone goes to some remote."""
        return self.share != "none" and bool(self.remotes)


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings."""

    enabled: bool = True
    capture: Capture = msgspec.field(default_factory=Capture)
    scrub: Scrub = msgspec.field(default_factory=Scrub)
    recall: Recall = msgspec.field(default_factory=Recall)
    embed: Embed = msgspec.field(default_factory=Embed)
    extract: Extract = msgspec.field(default_factory=Extract)
    memory: MemoryRules = msgspec.field(default_factory=MemoryRules)
    transport: Transport = msgspec.field(default_factory=Transport)


HELP: Mapping[str, str] = {
    "enabled": "false: hooks return at once and nothing is captured",
    "capture.agents": "capture only these agents (claude, codex, copilot, cursor, gemini, kiro, opencode); empty: all",
    "capture.exclude.paths": "sessions started in, and tool calls on, paths that match these globs are left out",
    "capture.exclude.branches": "sessions on branches that match these globs are left out",
    "capture.exclude.sessions": "sessions whose own id matches one of these globs are left out",
    "capture.tool_output": "errors: keep the first 400 characters of what a failed call said; none: keep nothing",
    "scrub.email": "what becomes of e-mail addresses in text: keep, redact or pseudonym",
    "scrub.ip": "what becomes of public IP addresses in text: keep or redact",
    "scrub.patterns": "further secrets: Python regular expressions; a group named `secret` marks the part to redact",
    "scrub.allow": "texts that are never secrets: regular expressions matched against the whole finding",
    "recall.strictness": "0 answers readily, 1 is silent readily; 0.5 silences one in ten answerable questions",
    "recall.budget": "tokens of evidence printed, about",
    "recall.limit": "sessions printed at most",
    "recall.daemon": "auto: the first recall starts a daemon that keeps model and index ready; off: none",
    "embed.model": "profile or path of the GGUF model; see `rekal model list`",
    "embed.file": "where the weights of a profile that is not packaged are",
    "embed.engine": "auto, llama-cpp-python, xllamacpp, remote, or off for keywords (environment: REKAL_EMBED_ENGINE)",
    "embed.url": "OpenAI-compatible endpoint for engine `remote` (environment: REKAL_EMBED_URL)",
    "embed.remote_model": "model name sent to that endpoint (environment: REKAL_EMBED_MODEL)",
    "extract.model": "model that takes facts out of documents, by its name at `extract.url`",
    "extract.url": "OpenAI-compatible endpoint of that model, such as Ollama's or llama-server's; empty: OpenAI's own",
    "extract.command": "a program instead: it reads the request on standard input and prints the answer (`claude -p`)",
    "memory.ruled_out_from": "least cosine of a proposal with a rule whose pattern holds, for RULED-OUT; -1: any",
    "memory.reflexes": "what proposes memories: trailers, statements, reverts, branches, abandoned; true, false",
    "memory.share": "accepted: memories that a person accepted travel; none: only those shared",
    "transport.share": "full: whole sessions; distilled: commits and memories only; none",
    "transport.remotes": "name: URL of each remote that memory may travel to",
    "transport.namespace": "heads: refs under refs/heads/rekal for hosts that refuse custom refs",
    "transport.mainline": "the branch work must be merged into before it leaves; empty: the remote's default",
}

ENVIRONMENT: Mapping[str, tuple[str, str]] = {
    "REKAL_DAEMON": ("recall", "daemon"),
    "REKAL_EMBED_ENGINE": ("embed", "engine"),
    "REKAL_EMBED_URL": ("embed", "url"),
    "REKAL_EMBED_MODEL": ("embed", "remote_model"),
}
OTHER_VARIABLES: Mapping[str, str] = {
    "REKAL_EMBED_API_KEY": "the key that the endpoint of engine `remote` asks for; kept in no file",
    "REKAL_EXTRACT_API_KEY": "the key of that endpoint, else OPENAI_API_KEY; kept in no file",
    "REKAL_CONFIG_HOME": "the directory of your own `config.yml`",
    "REKAL_DATA_HOME": "the directory of your personal memories",
    "REKAL_ACTOR": "human or agent: on whose behalf this process remembers",
    "REKAL_READONLY": "1: `rekal mcp` offers only tools that change nothing",
    "REKAL_MCP_TOKEN": "the token that clients of `rekal mcp` over HTTP must send",
}


_SHARED_NAME = ".rekal/config.yml"
# Anybody who may push writes the shared file: without a bound it would cost each command its length.
_LARGEST_SHARED = 65_536  # bytes; a settings file of a page has two thousand
# YAML 1.1 reads off, no and false as the same value.
_MAY_BE_OFF = (("recall", "daemon"), ("embed", "engine"))


class Settings(msgspec.Struct, frozen=True):
    """The outcome: settings, the files they came from, and what was not understood or not followed.

    ``changes`` says what the shared file changes; ``shared_patterns`` are those of ``scrub.patterns`` that it added.
    """

    config: Config
    files: tuple[Path, ...] = ()
    warnings: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    shared_patterns: tuple[str, ...] = ()


def user_file(env: Mapping[str, str], home: Path) -> Path:
    """The user's own settings file."""
    if env.get("REKAL_CONFIG_HOME"):
        return Path(env["REKAL_CONFIG_HOME"]) / "config.yml"
    base = Path(env["XDG_CONFIG_HOME"]) if env.get("XDG_CONFIG_HOME") else home / ".config"
    return base / "rekal" / "config.yml"


def read_variable(env: Mapping[str, str], name: str) -> str | None:
    """Return a variable of ours, else what stands under its name of 0.1.0, which began with ``RECALL_``."""
    return env.get(name) or env.get(name.replace("REKAL_", "RECALL_", 1))


def read_environment() -> dict[str, str]:
    """The process's environment, read in this one place on behalf of everything below the command line."""
    return dict(os.environ)


def platform_name() -> str:
    """``sys.platform``."""
    return sys.platform


def read_settings(
    shared_file: Path | None, env: Mapping[str, str], home: Path, local_file: Path | None = None
) -> Settings:
    """Read all settings. ``local_file`` is this clone's own; ``shared_file`` is in the work tree, and can only tighten.

    Raises :class:`ConfigError` for a mistake in the user's own files; one in the shared file is a warning.
    """
    # Merged as plain values and converted once: a default of the record would hide that a file is silent on a key.
    merged: dict[str, Any] = {}
    local: dict[str, Any] = {}
    files: list[Path] = []
    warnings: list[str] = []
    for path in (user_file(env, home), local_file):
        # A dangling link or a directory is no settings file; the defaults hold.
        if path is None or not path.is_file():
            continue
        values = _read_settings_file(path)
        warnings.extend(_drop_unknown(values, path))
        _merge(merged, values)
        local = values if path == local_file else local
        files.append(path)
    for name, (section, key) in ENVIRONMENT.items():
        if value := read_variable(env, name):
            # The environment last: it belongs to this one process.
            _merge(merged, {section: {key: value}})
    own = _convert(merged, files)
    if shared_file is None or not shared_file.is_file():
        return Settings(own, tuple(files), tuple(warnings))
    shared, said = _read_shared(shared_file, own, set(_flattened(local)))
    for name, value in shared.values.items():
        *sections, last = name.split(".")
        node = {last: value}
        for section in reversed(sections):
            node = {section: node}
        _merge(merged, node)
    warnings.extend((*said, *shared.ignored))
    return Settings(_convert(merged, files), (*files, shared_file), tuple(warnings), shared.changes, shared.patterns)


def _read_shared(path: Path, own: Config, fixed: set[str]) -> tuple[SharedSettings, list[str]]:
    """Return what is followed of the shared file, and what is wrong with it."""
    from rekal.shared_settings import SharedSettings, tighten_settings  # hardly any checkout brings such a file

    try:
        if path.stat().st_size > _LARGEST_SHARED:
            raise ConfigError(f"{path} is larger than {_LARGEST_SHARED:,} bytes")
        values = _read_settings_file(path)
        said = _drop_unknown(values, path)
        wanted = _flattened(values)
    # Deep nesting makes the YAML parser recurse; a stranger's file must not stop a command by that.
    except (ConfigError, OSError, RecursionError) as error:
        reason = error.message if isinstance(error, ConfigError) else f"{path} cannot be read"
        return SharedSettings({}), [f"{reason}: nothing of it is followed"]
    return tighten_settings(_SHARED_NAME, wanted, _flattened(msgspec.to_builtins(own)), fixed), said


def _flattened(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the known keys of ``values``, spelled with dots."""
    out: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{prefix}{key}"
        if name in HELP:
            out[name] = value
        elif isinstance(value, dict):
            out.update(_flattened(value, name + "."))
    return out


def decode_yaml(text: str) -> Any:
    """Decode the YAML ``text``. ValueError when it is none.

    JSON is YAML, and what we write ourselves is JSON: the parser of all the rest takes 25 ms to load.
    """
    if text.startswith("{"):
        with contextlib.suppress(msgspec.DecodeError):
            return msgspec.json.decode(text)
    import yaml

    try:
        # Never the full loader, which builds any object that the file names. The one in C is not in every build.
        return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None


@lru_cache(8)  # the worker reads its settings before each step, and parsing YAML takes 3 ms
def _decode_settings(text: str) -> Any:
    return decode_yaml(text)


def _read_settings_file(path: Path) -> dict[str, Any]:
    try:
        values = copy.deepcopy(_decode_settings(path.read_text(encoding="utf-8")))  # callers take keys out of it
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read ({str(error).splitlines()[0]})", "mend or remove it") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ConfigError(f"{path} is not a list of settings", "write `key: value` lines")
    return values


def _drop_unknown(values: dict[str, Any], path: Path, prefix: str = "") -> list[str]:
    """Take out keys that are not known; say which, and what may have been meant."""
    said = []
    # A copy of the keys, because unknown ones are taken out on the way.
    for key in list(values):
        name = f"{prefix}{key}"
        below = [k for k in HELP if k.startswith(name + ".")]
        if name in HELP:
            continue
        if below and isinstance(values[key], dict):
            said.extend(_drop_unknown(values[key], path, name + "."))
            continue
        del values[key]
        import difflib  # 5 ms that only a mistake costs

        near = difflib.get_close_matches(name, HELP, 1)
        said.append(f"{path}: unknown setting {name}" + (f", did you mean {near[0]}?" if near else ""))
    return said


def _merge(into: dict[str, Any], values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def _convert(merged: dict[str, Any], files: list[Path]) -> Config:
    for section, key in _MAY_BE_OFF:
        values = merged.get(section)
        if isinstance(values, dict) and values.get(key) is False:  # how YAML reads `off`
            values[key] = "off"
    try:
        return msgspec.convert(merged, Config)
    except msgspec.ValidationError as error:
        names = " or ".join(str(f) for f in files)
        raise ConfigError(f"{names}: {error}", "see `rekal config` for what each key takes") from None
