"""JSON Web Tokens, signed or not."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("jwt", r"eyJ[A-Za-z0-9_\-]{10,512}\.eyJ", ("eyJ",), least=16, body=r"[A-Za-z0-9_\-.]", anywhere=True)
