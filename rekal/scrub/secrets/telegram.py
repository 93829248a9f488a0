"""Telegram bot tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_pattern

KIND = by_pattern("telegram-token", r"(?<=\d{8}):A[A-Za-z0-9_\-]{34}(?![A-Za-z0-9_\-])", (":A",), in_run=True, back=8)
