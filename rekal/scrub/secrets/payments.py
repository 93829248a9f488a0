"""Keys of payment services and shops."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_pattern, by_prefix, looks_mixed

KINDS = (
    by_pattern(
        "paypal-braintree-token",
        r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}",
        ("access_token$",),
    ),
    by_prefix("shopify-token", "shp(?:at|ca|pa|ss)_", ("shp",), least=32, body="[a-fA-F0-9]", anywhere=True),
    by_prefix("square-token", "(?:sq0(?:atp|csp)-|EAAA)", ("sq0atp-", "sq0csp-", "EAAA"), least=22, check=looks_mixed),
    by_prefix(
        "stripe-key",
        "(?:[sr]k_(?:live|test)_|whsec_)",
        ("sk_", "rk_", "whsec_"),
        least=24,
        body="[A-Za-z0-9+/=]",
    ),
)
