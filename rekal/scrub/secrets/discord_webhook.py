"""Discord webhook URLs."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_pattern

KIND = by_pattern("discord-webhook", r"hooks\\*/(?P<secret>\d{15,21}\\*/[A-Za-z0-9_\-]{40,})", ("hooks/",))
