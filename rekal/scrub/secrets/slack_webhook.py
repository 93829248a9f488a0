"""Slack webhook and workflow URLs."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_pattern, has_digit

KIND = by_pattern(
    "slack-webhook",
    r"hooks\.slack\.com\\*/(?:services|workflows|triggers)\\*/(?P<secret>[A-Za-z0-9_/]{20,}|(?:[A-Za-z0-9_]+\\+/)+[A-Za-z0-9_]{8,})",
    ("hooks.slack.com",),
    check=has_digit,
)
