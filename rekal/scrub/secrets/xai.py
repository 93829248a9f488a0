"""xAI keys."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("xai-key", "xai-", ("xai-",), least=60, body="[A-Za-z0-9]")
