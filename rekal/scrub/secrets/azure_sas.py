"""Signatures of Azure shared access URLs."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_pattern

KIND = by_pattern("azure-sas", r"(?<=[?&;])sig=(?P<secret>[A-Za-z0-9%+/=]{24,})", ("sig=",))
