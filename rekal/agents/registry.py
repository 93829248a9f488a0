"""The adapters: ours, and those that other distributions add under the entry-point group ``rekal.agents``.

An adapter's module is imported only when its agent is asked for. A name that is ours stays ours.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import cast

from rekal.agents.base import Adapter
from rekal.agents.foreign import Foreign
from rekal.errors import ConfigError

GROUP = "rekal.agents"

BUILT_IN: Mapping[str, tuple[str, ...]] = {
    "claude": ("rekal.agents.claude",),
    "codex": ("rekal.agents.codex",),
    "copilot": ("rekal.agents.copilot_cli", "rekal.agents.copilot_vscode"),
    "cursor": ("rekal.agents.cursor",),
    "gemini": ("rekal.agents.gemini",),
    "kiro": ("rekal.agents.kiro",),
    "opencode": ("rekal.agents.opencode",),
}


def names() -> list[str]:
    """All agents known, in order."""
    return sorted({*BUILT_IN, *(point.name for point in entry_points(group=GROUP))})


def load(wanted: Collection[str] = ()) -> list[Adapter]:
    """The adapters of the agents named, or of all. Raises :class:`ConfigError` for a name that nobody provides."""
    known = names()
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        raise ConfigError(f"unknown agent {unknown[0]}", f"known are {', '.join(known)}")
    chosen = [name for name in known if name in wanted or not wanted]
    return [adapter for name in chosen for adapter in _adapters(name)]


def _adapters(name: str) -> list[Adapter]:
    if name in BUILT_IN:
        return [cast(Adapter, import_module(module).ADAPTER) for module in BUILT_IN[name]]
    return [Foreign(name, point.load) for point in entry_points(group=GROUP) if point.name == name]
