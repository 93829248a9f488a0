"""Discord bot tokens, whose first part is the account number in base64."""

from __future__ import annotations

from rekal.scrub.secrets.kind import START, by_pattern, looks_mixed

KIND = by_pattern(
    "discord-token",
    START + r"[A-Za-z0-9_\-]{24,28}\.[A-Za-z0-9_\-]{6,7}\.[A-Za-z0-9_\-]{27,40}(?![A-Za-z0-9_\-.])",
    ("MT", "Mj", "Mz", "NT", "ND", "Nj", "Nz", "OD", "OT"),
    in_run=True,
    check=looks_mixed,
)
