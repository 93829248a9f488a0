"""PayPal Braintree access tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_pattern

KIND = by_pattern(
    "paypal-braintree-token",
    r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}",
    ("access_token$",),
)
