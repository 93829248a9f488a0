"""Hugging Face user and organisation tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix, looks_mixed

KIND = by_prefix(
    "huggingface-token",
    "(?:hf|api_org)_",
    ("hf_", "api_org_"),
    least=30,
    body="[A-Za-z0-9]",
    check=looks_mixed,
)
