"""Memory for coding agents that lives in git."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rekal.memory_client import Memory

__version__ = "0.1.0"
__all__ = ["Memory"]


def __getattr__(name: str) -> object:
    # Loaded when asked for: each command imports this package and hardly any wants the library.
    if name == "Memory":
        from rekal.memory_client import Memory

        return Memory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
