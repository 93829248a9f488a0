"""Tokens and webhooks of chat, mail and telephone services."""

from __future__ import annotations

from rekal.scrub.secrets.kind import START, by_pattern, by_prefix, has_digit, looks_mixed

# Its first part is the account number in base64, which begins with one of these.
_DISCORD_NUMBERS = ("MT", "Mj", "Mz", "NT", "ND", "Nj", "Nz", "OD", "OT")
_DISCORD = r"[A-Za-z0-9_\-]{24,28}\.[A-Za-z0-9_\-]{6,7}\.[A-Za-z0-9_\-]{27,40}(?![A-Za-z0-9_\-.])"
_SLACK_HOOK = (
    r"hooks\.slack\.com\\*/(?:services|workflows|triggers)\\*/"
    r"(?P<secret>[A-Za-z0-9_/]{20,}|(?:[A-Za-z0-9_]+\\+/)+[A-Za-z0-9_]{8,})"
)
_TEAMS_HOOK = (
    r"hook\.office\.com\\*/webhookb2\\*/(?P<secret>[A-Za-z0-9@/\-]{60,}|(?:[A-Za-z0-9@\-]+\\+/)+[A-Za-z0-9\-]{8,})"
)

KINDS = (
    by_pattern("discord-token", START + _DISCORD, _DISCORD_NUMBERS, in_run=True, check=looks_mixed),
    by_pattern("discord-webhook", r"hooks\\*/(?P<secret>\d{15,21}\\*/[A-Za-z0-9_\-]{40,})", ("hooks/",)),
    by_pattern("mailchimp-key", r"(?<=[0-9a-f]{32})-us\d{1,2}(?!\w)", ("-us",), in_run=True, back=32),
    by_prefix("mailgun-key", "key-", ("key-",), least=32, body="[a-f0-9]", check=has_digit),
    by_prefix("sendgrid-key", r"SG\.[A-Za-z0-9_\-]{16,32}\.", ("SG.",), least=32),
    by_prefix(
        "slack-token",
        r"(?:xox[abeoprs]-|xoxe\.xox[bp]-|xapp-)",
        ("xox", "xapp-"),
        least=16,
        body=r"[A-Za-z0-9\-]",
        check=has_digit,
        anywhere=True,
    ),
    by_pattern("slack-webhook", _SLACK_HOOK, ("hooks.slack.com",), check=has_digit),
    by_pattern("teams-webhook", _TEAMS_HOOK, ("hook.office.com",)),
    by_pattern("telegram-token", r"(?<=\d{8}):A[A-Za-z0-9_\-]{34}(?![A-Za-z0-9_\-])", (":A",), in_run=True, back=8),
    by_prefix("twilio-key", "(?:AC|SK)", ("AC", "SK"), least=32, body="[a-f0-9]", check=has_digit),
)
