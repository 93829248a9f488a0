"""Databricks tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("databricks-token", "dapi", ("dapi",), least=32, body="[a-f0-9]")
