"""Microsoft Teams webhook URLs."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_pattern

KIND = by_pattern(
    "teams-webhook",
    r"hook\.office\.com\\*/webhookb2\\*/(?P<secret>[A-Za-z0-9@/\-]{60,}|(?:[A-Za-z0-9@\-]+\\+/)+[A-Za-z0-9\-]{8,})",
    ("hook.office.com",),
)
