"""Airtable personal access tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import START, by_pattern

KIND = by_pattern("airtable-token", START + r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}", ("pat",), in_run=True)
