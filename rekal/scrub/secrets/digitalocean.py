"""DigitalOcean personal, OAuth and refresh tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix(
    "digitalocean-token",
    "do[opr]_v1_",
    ("do",),
    least=64,
    body="[a-f0-9]",
    anywhere=True,
)
