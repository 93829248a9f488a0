"""New Relic keys."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("new-relic-key", "(?:NRAK-|NRII-|NRJS-)", ("NR",), least=19, body=r"[A-Za-z0-9\-]")
