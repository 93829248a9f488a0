"""NuGet keys."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("nuget-key", "oy2", ("oy2",), least=43, body="[a-z0-9]")
