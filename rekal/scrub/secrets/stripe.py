"""Stripe secret, restricted and webhook keys."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix(
    "stripe-key",
    "(?:[sr]k_(?:live|test)_|whsec_)",
    ("sk_", "rk_", "whsec_"),
    least=24,
    body="[A-Za-z0-9+/=]",
)
