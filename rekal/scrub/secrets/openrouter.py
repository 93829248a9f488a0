"""OpenRouter keys."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("openrouter-key", "sk-or-(?:v1-)?", ("sk-or-",), least=32, body="[A-Za-z0-9]")
