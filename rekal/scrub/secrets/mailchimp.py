"""Mailchimp keys."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_pattern

KIND = by_pattern("mailchimp-key", r"(?<=[0-9a-f]{32})-us\d{1,2}(?!\w)", ("-us",), in_run=True, back=32)
