"""Keys in Azure storage, service bus and Cosmos connection strings."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_pattern

KIND = by_pattern(
    "azure-storage-key",
    r"(?i:(?<=account)|(?<=access))(?i:key)=(?P<secret>[A-Za-z0-9+/]{32,}={0,2})",
    ("key=",),
)
