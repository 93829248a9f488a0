"""Keys and tokens in formats that belong to no one service."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KINDS = (
    by_prefix("age-key", "AGE-SECRET-KEY-1", ("AGE-SECRET-KEY-1",), least=58, body="[A-Z0-9]"),
    by_prefix("jwt", r"eyJ[A-Za-z0-9_\-]{10,512}\.eyJ", ("eyJ",), least=16, body=r"[A-Za-z0-9_\-.]", anywhere=True),
)
