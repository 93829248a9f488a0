"""PlanetScale passwords, tokens and OAuth tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("planetscale-token", "pscale_(?:tkn|pw|oauth)_", ("pscale_",), least=32, body=r"[A-Za-z0-9_\-.=]")
