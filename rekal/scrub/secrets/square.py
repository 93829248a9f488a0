"""Square access tokens and OAuth secrets."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix, looks_mixed

KIND = by_prefix(
    "square-token", "(?:sq0(?:atp|csp)-|EAAA)", ("sq0atp-", "sq0csp-", "EAAA"), least=22, check=looks_mixed
)
