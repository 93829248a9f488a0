"""Mailgun private and validation keys."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix, has_digit

KIND = by_prefix("mailgun-key", "key-", ("key-",), least=32, body="[a-f0-9]", check=has_digit)
