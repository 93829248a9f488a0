"""DigitalOcean personal, OAuth and refresh tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix(
    "digitalocean-token",
    "do[opr]_v1_",
    ("dop_v1_", "doo_v1_", "dor_v1_"),
    least=64,
    body="[a-f0-9]",
    anywhere=True,
)
