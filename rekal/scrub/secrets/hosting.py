"""Tokens of hosting, database, network and secret-keeping services."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_pattern, by_prefix, has_digit

KINDS = (
    by_prefix("databricks-token", "dapi", ("dapi",), least=32, body="[a-f0-9]"),
    by_prefix(
        "doppler-token",
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9\-_]{2,35}\.)?",
        ("dp.",),
        least=40,
        body="[A-Za-z0-9]",
    ),
    by_prefix(
        "fly-token",
        "(?:fm[12][ar]?_|fo1_)",
        ("fm", "fo1_"),
        least=32,
        body=r"[A-Za-z0-9_\-+/=]",
        check=has_digit,
    ),
    by_prefix("netlify-token", "nfp_", ("nfp_",), least=36, body="[A-Za-z0-9]"),
    by_prefix("planetscale-token", "pscale_(?:tkn|pw|oauth)_", ("pscale_",), least=32, body=r"[A-Za-z0-9_\-.=]"),
    by_prefix("supabase-token", "sbp_", ("sbp_",), least=40, body="[a-f0-9]"),
    by_prefix("supabase-key", "sb_secret_", ("sb_secret_",), least=24),
    by_prefix("tailscale-key", "tskey-(?:[a-z]+-)?", ("tskey-",), least=20, body=r"[A-Za-z0-9\-]"),
    by_pattern(
        "terraform-token",
        r"(?<=[A-Za-z0-9]{14})\.atlasv1\.[A-Za-z0-9_\-=]{40,}",
        (".atlasv1.",),
        in_run=True,
        back=14,
    ),
    by_prefix("vault-token", r"hv[sbr]\.", ("hv",), least=24),
)
