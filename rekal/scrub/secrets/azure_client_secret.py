"""Client secrets of Azure applications."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_pattern

KIND = by_pattern(
    "azure-client-secret",
    r"(?<=[A-Za-z0-9_~.\-]{3}\d)Q~[A-Za-z0-9_~.\-]{31,34}",
    ("Q~",),
    in_run=True,
    back=4,
)
