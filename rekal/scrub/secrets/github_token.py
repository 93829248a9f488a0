"""GitHub personal, OAuth, user, server and refresh tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix(
    "github-token",
    "gh[pousr]_",
    ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    least=36,
    body="[A-Za-z0-9]",
    anywhere=True,
)
