"""Tools: what a client is told of each, the function behind it, and the shape of an answer."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rekal.app.desk import Desk

SHORTEST_ID = 8  # characters: no tool takes away what happens to begin with one letter
Arguments = Mapping[str, Any]
_CONTRACTS = Path(__file__).with_name("contracts")


class ToolAnswer(msgspec.Struct, frozen=True):
    """The answer of a call: ``texts``, a content block each, ``structured`` where the contract has it."""

    texts: tuple[str, ...]
    structured: dict[str, Any] | None = None
    error: bool = False


class AgentCall(msgspec.Struct, frozen=True, dict=True):
    """One call: where it reads and writes, its arguments, and what this connection has set (``memory_set_project``)."""

    desk: Desk
    arguments: Arguments
    settings: dict[str, Any]

    def text(self, name: str, default: str = "") -> str:
        """A text argument; ``default`` where it is left out or null."""
        value = self.arguments.get(name)
        return value if isinstance(value, str) else default

    def number(self, name: str, default: int, most: int) -> int:
        """A whole number between 0 and ``most``."""
        value = self.arguments.get(name)
        return max(0, min(most, int(value))) if isinstance(value, int | float) else default

    def texts(self, name: str) -> list[str]:
        """A list of texts; empty where it is left out or null."""
        value = self.arguments.get(name)
        return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


class Tool(msgspec.Struct, frozen=True):
    """``contract`` is the entry of ``tools/list``. ``writes``: it is left out of a read-only server."""

    contract: Mapping[str, Any]
    run: Callable[[AgentCall], ToolAnswer]
    writes: bool

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.contract["name"])


@functools.cache
def read_contracts(profile: str) -> dict[str, dict[str, Any]]:
    """The tools of another server by name: names, parameters, types and results are its, every description is ours."""
    listed: list[dict[str, Any]] = json.loads((_CONTRACTS / f"{profile}.json").read_text("utf-8"))
    return {one["name"]: one for one in listed}


def bind_tools(profile: str, runs: Mapping[str, Callable[[AgentCall], ToolAnswer]], reads: Sequence[str]) -> list[Tool]:
    """The tools of a contract, in its order, each with its function; those in ``reads`` change nothing."""
    out = []
    for name, contract in read_contracts(profile).items():
        writes = name not in reads
        hints = {"readOnlyHint": not writes, "openWorldHint": False}
        out.append(
            Tool(contract if "annotations" in contract else {**contract, "annotations": hints}, runs[name], writes)
        )
    return out


def pretty(value: Any) -> str:
    """JSON as JavaScript prints it with an indentation of two."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def say(text: str, structured: dict[str, Any] | None = None) -> ToolAnswer:
    """An answer of one text."""
    return ToolAnswer((text,), structured)


def fail(text: str) -> ToolAnswer:
    """A failed call: one sentence that the model sees."""
    return ToolAnswer((text,), None, True)
