"""Slack bot, user, app, refresh and configuration tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix, has_digit

KIND = by_prefix(
    "slack-token",
    r"(?:xox[abeoprs]-|xoxe\.xox[bp]-|xapp-)",
    ("xox", "xapp-"),
    least=16,
    body=r"[A-Za-z0-9\-]",
    check=has_digit,
    anywhere=True,
)
