"""Sentry organisation and user tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("sentry-token", "sntry[su]_", ("sntry",), least=40, body=r"[A-Za-z0-9_\-+/=]")
