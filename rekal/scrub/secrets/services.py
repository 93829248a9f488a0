"""Keys and tokens that a pattern or a prefix gives away, of clouds, hosts, model providers and other services."""

from __future__ import annotations

from rekal.plain_text import lazy_pattern
from rekal.scrub.secrets.kind import START, by_pattern, by_prefix, has_digit, looks_drawn, looks_mixed

# Keys and tokens in formats that belong to no one service.

STANDARDS = (
    by_prefix("age-key", "AGE-SECRET-KEY-1", ("AGE-SECRET-KEY-1",), least=58, body="[A-Z0-9]"),
    by_prefix("jwt", r"eyJ[A-Za-z0-9_\-]{10,512}\.eyJ", ("eyJ",), least=16, body=r"[A-Za-z0-9_\-.]", anywhere=True),
)


# Keys and tokens of the large clouds.

# Only its name gives an AWS secret key away.
_AWS_SECRET = (
    r"""(?i:aws_?secret[\w.\-]{0,24})\\*["']?[ \t]{0,4}(?:=>|[:=])[ \t]{0,4}\\*["']?"""
    r"""(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])"""
)
# A service account's file also holds a private key, which is found as a key block.
_GCP_KEY_ID = r"""private_key_id\\*["'][ \t]{0,4}:[ \t]{0,4}\\*["'](?P<secret>[0-9a-f]{40})"""

CLOUDS = (
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


# Tokens of hosting, database, network and secret-keeping services.

HOSTING = (
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


# Tokens of the hosts of code.

FORGES = (
    by_prefix(
        "atlassian-token",
        "(?:AT[AC]TT3|ATBB)",
        ("AT",),
        least=28,
        body=r"[A-Za-z0-9_\-=]",
        check=looks_drawn,
    ),
    by_prefix("github-fine-grained", "github_pat_", ("github_pat_",), least=82, body="[A-Za-z0-9_]", anywhere=True),
    by_prefix("github-token", "gh[pousr]_", ("gh",), least=36, body="[A-Za-z0-9]", anywhere=True),
    by_prefix(
        "gitlab-token",
        "(?:gl(?:pat|dt|rt|ptt|ft|agent|imt|oas|soat|cbt|ffct)-|GR1348941)",
        ("gl", "GR1348941"),
        least=20,
        body=r"[A-Za-z0-9_\-.]",
        anywhere=True,
    ),
)


# Tokens of package registries.

REGISTRIES = (
    by_prefix("crates-token", "cio", ("cio",), least=32, body="[A-Za-z0-9]", check=looks_drawn),
    by_prefix("dockerhub-token", "dckr_(?:pat|oat)_", ("dckr_",), least=24, anywhere=True),
    by_prefix("npm-token", "npm_", ("npm_",), least=36, body="[A-Za-z0-9]", check=looks_drawn),
    by_prefix("nuget-key", "oy2", ("oy2",), least=43, body="[a-z0-9]"),
    by_prefix("pypi-token", "pypi-AgE", ("pypi-AgE",), least=50, anywhere=True),
    by_prefix("rubygems-key", "rubygems_", ("rubygems_",), least=48, body="[a-f0-9]"),
)


# Keys of model providers and of the tools around them.

# Between the signs of a key lies at least one long part; `sk-` alone also begins names of styles and of languages.
_LONG_PART = lazy_pattern(r"[A-Za-z0-9]{16}")


def _is_key(token: str) -> bool:
    return has_digit(token) and _LONG_PART.search(token) is not None


MODELS = (
    by_prefix("anthropic-key", r"sk-ant-(?:[a-z]+\d\d-)?", ("sk-ant-",), least=24, anywhere=True),
    by_prefix("groq-key", "gsk_", ("gsk_",), least=40, body="[A-Za-z0-9]"),
    by_prefix(
        "huggingface-token",
        "(?:hf|api_org)_",
        ("hf_", "api_org_"),
        least=30,
        body="[A-Za-z0-9]",
        check=looks_drawn,
    ),
    by_prefix("langsmith-key", "(?:lsv2_(?:pt|sk)_|[sp]k-lf-)", ("lsv2_", "sk-lf-", "pk-lf-"), least=32),
    by_prefix("nvidia-key", "nvapi-", ("nvapi-",), least=40),
    by_prefix("openrouter-key", "sk-or-(?:v1-)?", ("sk-or-",), least=32, body="[A-Za-z0-9]"),
    by_prefix("perplexity-key", "pplx-", ("pplx-",), least=40, body="[A-Za-z0-9]"),
    by_prefix("replicate-token", "r8_", ("r8_",), least=37, body="[A-Za-z0-9]"),
    by_prefix("xai-key", "xai-", ("xai-",), least=60, body="[A-Za-z0-9]"),
    # After all other keys that begin with sk-.
    by_prefix("openai-key", "sk-(?:proj-|svcacct-|admin-|None-)?", ("sk-",), least=20, check=_is_key),
)


# Tokens and webhooks of chat, mail and telephone services.

# Its first part is the account number in base64, which begins with one of these.
_DISCORD_NUMBERS = ("MT", "Mj", "Mz", "NT", "ND", "Nj", "Nz", "OD", "OT")
_DISCORD = r"[A-Za-z0-9_\-]{24,28}\.[A-Za-z0-9_\-]{6,7}\.[A-Za-z0-9_\-]{27,40}(?![A-Za-z0-9_\-.])"
_SLACK_HOOK = (
    r"hooks\.slack\.com\\*/(?:services|workflows|triggers)\\*/"
    r"(?P<secret>[A-Za-z0-9_/]{20,}|(?:[A-Za-z0-9_]+\\+/)+[A-Za-z0-9_]{8,})"
)
_TEAMS_HOOK = (
    r"hook\.office\.com\\*/webhookb2\\*/(?P<secret>[A-Za-z0-9@/\-]{60,}|(?:[A-Za-z0-9@\-]+\\+/)+[A-Za-z0-9\-]{8,})"
)

MESSAGING = (
    by_pattern("discord-token", START + _DISCORD, _DISCORD_NUMBERS, in_run=True, check=looks_mixed),
    by_pattern("discord-webhook", r"hooks\\*/(?P<secret>\d{15,21}\\*/[A-Za-z0-9_\-]{40,})", ("hooks/",)),
    by_pattern("mailchimp-key", r"(?<=[0-9a-f]{32})-us\d{1,2}(?!\w)", ("-us",), in_run=True, back=32),
    by_prefix("mailgun-key", "key-", ("key-",), least=32, body="[a-f0-9]", check=has_digit),
    by_prefix("sendgrid-key", r"SG\.[A-Za-z0-9_\-]{16,32}\.", ("SG.",), least=32),
    by_prefix(
        "slack-token",
        r"(?:xox[abeoprs]-|xoxe\.xox[bp]-|xapp-)",
        ("xox", "xapp-"),
        least=16,
        body=r"[A-Za-z0-9\-]",
        check=has_digit,
        anywhere=True,
    ),
    by_pattern("slack-webhook", _SLACK_HOOK, ("hooks.slack.com",), check=has_digit),
    by_pattern("teams-webhook", _TEAMS_HOOK, ("hook.office.com",)),
    by_pattern("telegram-token", r"(?<=\d{8}):A[A-Za-z0-9_\-]{34}(?![A-Za-z0-9_\-])", (":A",), in_run=True, back=8),
    by_prefix("twilio-key", "(?:AC|SK)", ("AC", "SK"), least=32, body="[a-f0-9]", check=has_digit),
)


# Keys of payment services and shops.

PAYMENTS = (
    by_pattern(
        "paypal-braintree-token",
        r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}",
        ("access_token$",),
    ),
    by_prefix("shopify-token", "shp(?:at|ca|pa|ss)_", ("shp",), least=32, body="[a-fA-F0-9]", anywhere=True),
    by_prefix("square-token", "(?:sq0(?:atp|csp)-|EAAA)", ("sq0atp-", "sq0csp-", "EAAA"), least=22, check=looks_mixed),
    by_prefix(
        "stripe-key",
        "(?:[sr]k_(?:live|test)_|whsec_)",
        ("sk_", "rk_", "whsec_"),
        least=24,
        body="[A-Za-z0-9+/=]",
    ),
)


OTHERS = (
    by_pattern("airtable-token", START + r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}", ("pat",), in_run=True),
    by_prefix("figma-token", "figd_", ("figd_",), least=36),
    by_prefix("grafana-token", "gl(?:sa|c)_", ("gl",), least=32, body="[A-Za-z0-9_+/=]"),
    by_prefix(
        "linear-notion-token",
        "(?:lin_(?:api|oauth)_|ntn_|secret_)",
        ("lin_api_", "lin_oauth_", "ntn_", "secret_"),
        least=40,
        body="[A-Za-z0-9]",
        check=looks_drawn,
    ),
    by_prefix("new-relic-key", "(?:NRAK-|NRII-|NRJS-)", ("NR",), least=19, body=r"[A-Za-z0-9\-]"),
    by_prefix("postman-key", "PMAK-", ("PMAK-",), least=40, body=r"[A-Za-z0-9\-]"),
    by_prefix("sentry-token", "sntry[su]_", ("sntry",), least=40, body=r"[A-Za-z0-9_\-+/=]"),
)
