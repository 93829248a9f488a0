"""GitHub personal, OAuth, user, server and refresh tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix(
    "github-token",
    "gh[pousr]_",
    ("gh",),
    least=36,
    body="[A-Za-z0-9]",
    anywhere=True,
)
