"""Figma tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("figma-token", "figd_", ("figd_",), least=36)
