"""Netlify personal access tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("netlify-token", "nfp_", ("nfp_",), least=36, body="[A-Za-z0-9]")
