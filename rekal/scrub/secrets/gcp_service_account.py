"""The key id inside a Google service account file; its private key is found as a key block."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_pattern

KIND = by_pattern(
    "gcp-service-account",
    r"""private_key_id\\*["'][ \t]{0,4}:[ \t]{0,4}\\*["'](?P<secret>[0-9a-f]{40})""",
    ("private_key_id",),
)
