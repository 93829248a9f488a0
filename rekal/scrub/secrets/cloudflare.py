"""Cloudflare user, account and origin CA tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("cloudflare-token", r"(?:cf[ua]t_|v1\.0-[a-f0-9]{24}-)", ("cf", "v1.0-"), least=40)
