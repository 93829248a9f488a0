"""Supabase access tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("supabase-token", "sbp_", ("sbp_",), least=40, body="[a-f0-9]")
