"""Supabase secret keys of a project."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("supabase-key", "sb_secret_", ("sb_secret_",), least=24)
