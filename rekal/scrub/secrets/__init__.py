"""The kinds of secrets rekal knows, specific ones first: the first kind names an overlap."""

from __future__ import annotations

import importlib
import pkgutil

from rekal.scrub.secrets.kind import Kind

_HELPERS = ("kind", "named", "placeholder", "quoting")
_FIRST = ("private_block", "private_key")
_LAST = (
    "authorization_header",
    "cookie",
    "url_password",
    "netrc",
    "short_flag",
    "cli_flag",
    "env_assignment",
    "json_field",
    "url_query",
    "config_field",
    "spoken_password",
    "high_entropy",
)


def _load() -> tuple[Kind, ...]:
    files = sorted(module.name for module in pkgutil.iter_modules(__path__))
    specific = [name for name in files if name not in (*_FIRST, *_LAST, *_HELPERS)]
    modules = (importlib.import_module(f"{__name__}.{name}") for name in (*_FIRST, *specific, *_LAST))
    return tuple(module.KIND for module in modules)


KINDS: tuple[Kind, ...] = _load()
