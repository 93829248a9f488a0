"""Vault service, batch and recovery tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("vault-token", r"hv[sbr]\.", ("hv",), least=24)
