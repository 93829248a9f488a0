"""npm access tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix, looks_mixed

KIND = by_prefix("npm-token", "npm_", ("npm_",), least=36, body="[A-Za-z0-9]", check=looks_mixed)
