"""Alibaba Cloud access key ids."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix, looks_mixed

KIND = by_prefix("alibaba-access-key", "LTAI", ("LTAI",), least=16, body="[A-Za-z0-9]", check=looks_mixed)
