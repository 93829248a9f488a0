"""Keys and tokens of the large clouds."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_pattern, by_prefix, has_digit

# Only its name gives an AWS secret key away.
_AWS_SECRET = (
    r"""(?i:aws_?secret[\w.\-]{0,24})\\*["']?[ \t]{0,4}(?:=>|[:=])[ \t]{0,4}\\*["']?"""
    r"""(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])"""
)
# A service account's file also holds a private key, which is found as a key block.
_GCP_KEY_ID = r"""private_key_id\\*["'][ \t]{0,4}:[ \t]{0,4}\\*["'](?P<secret>[0-9a-f]{40})"""

KINDS = (
    by_prefix("alibaba-access-key", "LTAI", ("LTAI",), least=16, body="[A-Za-z0-9]", check=has_digit),
    by_prefix(
        "aws-access-key",
        "(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)",
        ("A3T", "AKIA", "ASIA", "ABIA", "ACCA"),
        least=16,
        body="[A-Z0-9]",
    ),
    by_pattern("aws-secret-key", _AWS_SECRET, ("aws_secret", "awssecret")),
    by_pattern(
        "azure-client-secret",
        r"(?<=[A-Za-z0-9_~.\-]{3}\d)Q~[A-Za-z0-9_~.\-]{31,34}",
        ("Q~",),
        in_run=True,
        back=4,
    ),
    by_pattern("azure-sas", r"(?<=[?&;])sig=(?P<secret>[A-Za-z0-9%+/=]{24,})", ("sig=",)),
    by_pattern(
        "azure-storage-key",
        r"(?i:(?<=account)|(?<=access))(?i:key)=(?P<secret>[A-Za-z0-9+/]{32,}={0,2})",
        ("key=",),
    ),
    by_prefix("cloudflare-token", r"(?:cf[ua]t_|v1\.0-[a-f0-9]{24}-)", ("cf", "v1.0-"), least=40),
    by_prefix("digitalocean-token", "do[opr]_v1_", ("do",), least=64, body="[a-f0-9]", anywhere=True),
    by_pattern("gcp-service-account", _GCP_KEY_ID, ("private_key_id",)),
    by_prefix("google-api-key", "AIza", ("AIza",), least=35, anywhere=True),
    by_prefix("google-oauth", r"(?:GOCSPX-|ya29\.|1//0)", ("GOCSPX-", "ya29.", "1//0"), least=24, check=has_digit),
    by_prefix("heroku-token", "HRKU-", ("HRKU-",), least=36),
)
