"""Heroku API keys."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("heroku-token", "HRKU-", ("HRKU-",), least=36)
