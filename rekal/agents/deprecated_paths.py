"""Import paths that docs/adapters.md named in 0.1.0: they lead to :mod:`rekal.agents.api` for one more version.

An adapter of another distribution that still uses one works and gets a DeprecationWarning.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from types import ModuleType

# Old module -> old name -> name in rekal.agents.api.
OLD_NAMES: Mapping[str, Mapping[str, str]] = {
    "rekal.agents.base": {
        "Adapter": "Adapter",
        "Parsed": "Parsed",
        "Resume": "Resume",
        "Source": "Source",
        "Where": "Where",
        "refused": "refuse_source",
    },
    "rekal.agents.fields": {"text": "text_at", "mapping": "object_at", "objects": "objects_at", "dig": "value_at"},
    "rekal.agents.jsonl": {
        "Reader": "LineReader",
        "Record": "Record",
        "clean": "clean_text",
        "fingerprint": "hash_prefix",
    },
    "rekal.agents.match": {"concerns": "concerns_roots"},
    "rekal.agents.patch": {"text_lines": "text_lines"},
    "rekal.agents.sqlite": {"reading": "open_copy"},
    "rekal.agents.when": {"parse_time": "parse_time"},
}


class OldModule(ModuleType):
    """A module that is no file any more: its names are looked up in the api when they are asked for."""

    def __getattr__(self, name: str) -> object:
        """Return the api's object for an old name. AttributeError for a name that was not documented."""
        new = OLD_NAMES[self.__name__].get(name)
        if new is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        # Imported here: these modules are registered before the api can be loaded.
        from rekal.agents import api

        warnings.warn(f"{self.__name__}.{name} is now rekal.agents.api.{new}", DeprecationWarning, stacklevel=2)
        return getattr(api, new)


# From here on ``import`` finds the old modules. It costs microseconds; nothing is loaded.
sys.modules.update({name: OldModule(name) for name in OLD_NAMES if name not in sys.modules})
