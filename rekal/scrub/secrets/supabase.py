"""Supabase access tokens and secret keys."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("supabase-token", "sb(?:p_|_secret_)", ("sb",), least=24)
