"""crates.io tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix, looks_mixed

KIND = by_prefix("crates-token", "cio", ("cio",), least=32, body="[A-Za-z0-9]", check=looks_mixed)
