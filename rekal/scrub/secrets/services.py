"""Tokens of planning, design, testing and monitoring services."""

from __future__ import annotations

from rekal.scrub.secrets.kind import START, by_pattern, by_prefix, looks_drawn

KINDS = (
    by_pattern("airtable-token", START + r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}", ("pat",), in_run=True),
    by_prefix("figma-token", "figd_", ("figd_",), least=36),
    by_prefix("grafana-token", "gl(?:sa|c)_", ("gl",), least=32, body="[A-Za-z0-9_+/=]"),
    by_prefix(
        "linear-notion-token",
        "(?:lin_(?:api|oauth)_|ntn_|secret_)",
        ("lin_api_", "lin_oauth_", "ntn_", "secret_"),
        least=40,
        body="[A-Za-z0-9]",
        check=looks_drawn,
    ),
    by_prefix("new-relic-key", "(?:NRAK-|NRII-|NRJS-)", ("NR",), least=19, body=r"[A-Za-z0-9\-]"),
    by_prefix("postman-key", "PMAK-", ("PMAK-",), least=40, body=r"[A-Za-z0-9\-]"),
    by_prefix("sentry-token", "sntry[su]_", ("sntry",), least=40, body=r"[A-Za-z0-9_\-+/=]"),
)
