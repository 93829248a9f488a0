"""age identities."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("age-key", "AGE-SECRET-KEY-1", ("AGE-SECRET-KEY-1",), least=58, body="[A-Z0-9]")
