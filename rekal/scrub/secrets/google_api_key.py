"""Google API keys."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("google-api-key", "AIza", ("AIza",), least=35, anywhere=True)
