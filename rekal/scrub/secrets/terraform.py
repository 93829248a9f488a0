"""Terraform Cloud tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_pattern

KIND = by_pattern(
    "terraform-token",
    r"(?<=[A-Za-z0-9]{14})\.atlasv1\.[A-Za-z0-9_\-=]{40,}",
    (".atlasv1.",),
    in_run=True,
    back=14,
)
