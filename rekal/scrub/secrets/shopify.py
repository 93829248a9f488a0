"""Shopify access tokens and shared secrets."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix(
    "shopify-token",
    "shp(?:at|ca|pa|ss)_",
    ("shp",),
    least=32,
    body="[a-fA-F0-9]",
    anywhere=True,
)
