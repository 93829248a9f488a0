"""Atlassian and Bitbucket API tokens and app passwords."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix, looks_mixed

KIND = by_prefix(
    "atlassian-token",
    "(?:AT[AC]TT3|ATBB)",
    ("AT",),
    least=28,
    body=r"[A-Za-z0-9_\-=]",
    check=looks_mixed,
)
