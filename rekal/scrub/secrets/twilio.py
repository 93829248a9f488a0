"""Twilio account and API key ids."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix, has_digit

KIND = by_prefix("twilio-key", "(?:AC|SK)", ("AC", "SK"), least=32, body="[a-f0-9]", check=has_digit)
