"""Postman keys."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("postman-key", "PMAK-", ("PMAK-",), least=40, body=r"[A-Za-z0-9\-]")
