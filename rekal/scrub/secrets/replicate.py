"""Replicate tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("replicate-token", "r8_", ("r8_",), least=37, body="[A-Za-z0-9]")
