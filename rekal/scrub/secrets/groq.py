"""Groq keys."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("groq-key", "gsk_", ("gsk_",), least=40, body="[A-Za-z0-9]")
