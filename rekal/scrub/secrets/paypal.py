"""PayPal Braintree access tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix(
    "paypal-braintree-token",
    r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$",
    ("access_token$",),
    least=32,
    body="[a-f0-9]",
    anywhere=True,
)
