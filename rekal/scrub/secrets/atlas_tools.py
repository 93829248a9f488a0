"""Linear and Notion tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix, looks_mixed

KIND = by_prefix(
    "linear-notion-token",
    "(?:lin_(?:api|oauth)_|ntn_|secret_)",
    ("lin_api_", "lin_oauth_", "ntn_", "secret_"),
    least=40,
    body="[A-Za-z0-9]",
    check=looks_mixed,
)
