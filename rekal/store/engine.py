"""The database driver, without the Python around it.

``import duckdb`` loads its relation and expression builders, none of which we use: 103 ms, of which the compiled module
underneath is 21. That module is not the documented one, so a version in which it has not all that we use is loaded
whole. Both names lead to the same objects: what one raises, the other's classes catch.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

USED = (
    "BinderException",
    "CatalogException",
    "DataError",
    "DuckDBPyConnection",
    "Error",
    "FatalException",
    "IOException",
    "InternalException",
    "NotSupportedError",
    "OutOfMemoryException",
    "PermissionException",
    "ProgrammingError",
    "StatementType",
    "TransactionException",
    "connect",
)
"""All that rekal takes from the driver."""


def load(compiled: str = "_duckdb", whole: str = "duckdb") -> ModuleType:
    """The module ``compiled`` where it has all of :data:`USED`, else ``whole``. ImportError without both."""
    try:
        found = import_module(compiled)
    except ImportError:
        return import_module(whole)
    return found if all(hasattr(found, name) for name in USED) else import_module(whole)


if TYPE_CHECKING:
    import duckdb as duckdb
else:
    duckdb = load()
