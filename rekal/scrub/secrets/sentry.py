"""Sentry organisation and user tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("sentry-token", "sntry[su]_", ("sntrys_", "sntryu_"), least=40, body=r"[A-Za-z0-9_\-+/=]")
