"""LangSmith and Langfuse keys."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix(
    "langsmith-key",
    "(?:lsv2_(?:pt|sk)_|[sp]k-lf-)",
    ("lsv2_", "sk-lf-", "pk-lf-"),
    least=32,
    body=r"[A-Za-z0-9_\-]",
)
