"""Tailscale auth, API and OAuth keys."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("tailscale-key", "tskey-(?:[a-z]+-)?", ("tskey-",), least=20, body=r"[A-Za-z0-9\-]")
