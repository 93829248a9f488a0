"""An example of every kind of secret, built at run time from parts so that no scanner takes this file for a leak."""

from __future__ import annotations

import random
import string
from collections.abc import Callable

LOWER_HEX = "0123456789abcdef"
ALNUM = string.ascii_letters + string.digits
URL_SAFE = ALNUM + "_-"
UPPER = string.ascii_uppercase + string.digits
BASE64 = ALNUM + "+/"


def chars(rng: random.Random, alphabet: str, count: int) -> str:
    """``count`` random characters, with a digit and both cases wherever the alphabet has them."""
    while True:
        text = "".join(rng.choice(alphabet) for _ in range(count))
        wanted = [
            group
            for group in (string.digits, string.ascii_lowercase, string.ascii_uppercase)
            if set(group) & set(alphabet)
        ]
        if count < 8 or (all(set(group) & set(text) for group in wanted) and text[0].isalnum() and text[-1].isalnum()):
            return text


class Example:
    """A text that holds a secret: ``before + secret + after``; ``shape`` builds it from a random generator."""

    def __init__(self, before: str, secret: str, after: str = "") -> None:
        self.before, self.secret, self.after = before, secret, after

    @property
    def text(self) -> str:
        return self.before + self.secret + self.after


Maker = Callable[[random.Random], Example]


def token(prefix: str, alphabet: str, count: int, suffix: str = "") -> Maker:
    """A token that is a secret by itself."""
    return lambda rng: Example("", prefix + chars(rng, alphabet, count) + suffix)


def within(before: str, alphabet: str, count: int, after: str = "") -> Maker:
    """A secret that only its surroundings give away."""
    return lambda rng: Example(before, chars(rng, alphabet, count), after)


def dotted(*parts: tuple[str, str, int]) -> Maker:
    """Parts of (prefix, alphabet, count) joined by dots."""
    return lambda rng: Example("", ".".join(prefix + chars(rng, alphabet, count) for prefix, alphabet, count in parts))


TOKENS: dict[str, Maker] = {
    "aws-access-key": token("AK" + "IA", UPPER, 16),
    "google-api-key": token("AI" + "za", URL_SAFE, 35),
    "google-oauth": token("GOC" + "SPX-", URL_SAFE, 28),
    "digitalocean-token": token("dop" + "_v1_", LOWER_HEX, 64),
    "cloudflare-token": token("cf" + "ut_", URL_SAFE, 40),
    "heroku-token": token("HR" + "KU-", URL_SAFE, 60),
    "alibaba-access-key": token("LT" + "AI", ALNUM, 20),
    "databricks-token": token("da" + "pi", LOWER_HEX, 32),
    "vault-token": token("hv" + "s.", URL_SAFE, 90),
    "terraform-token": dotted(("", ALNUM, 14), ("atlas" + "v1.", ALNUM, 60)),
    "fly-token": token("fm" + "2_", ALNUM, 80),
    "netlify-token": token("nf" + "p_", ALNUM, 36),
    "supabase-key": token("sb_sec" + "ret_", URL_SAFE, 31),
    "supabase-token": token("sb" + "p_", LOWER_HEX, 40),
    "planetscale-token": token("pscale" + "_tkn_", URL_SAFE, 43),
    "tailscale-key": token("tskey" + "-auth-", ALNUM, 34),
    "doppler-token": token("dp" + ".pt.", ALNUM, 43),
    "github-token": token("gh" + "p_", ALNUM, 36),
    "github-fine-grained": token("github" + "_pat_", ALNUM, 82),
    "gitlab-token": token("gl" + "pat-", URL_SAFE, 20),
    "atlassian-token": token("AT" + "BB", ALNUM, 32),
    "anthropic-key": token("sk-" + "ant-api03-", URL_SAFE, 95),
    "openai-key": token("sk-" + "proj-", URL_SAFE, 120),
    "openrouter-key": token("sk-" + "or-v1-", LOWER_HEX, 64),
    "huggingface-token": token("h" + "f_", ALNUM, 34),
    "replicate-token": token("r" + "8_", ALNUM, 37),
    "groq-key": token("gs" + "k_", ALNUM, 52),
    "xai-key": token("xa" + "i-", ALNUM, 80),
    "perplexity-key": token("pp" + "lx-", ALNUM, 48),
    "nvidia-key": token("nva" + "pi-", URL_SAFE, 64),
    "langsmith-key": token("lsv2" + "_pt_", LOWER_HEX, 32),
    "stripe-key": token("sk_" + "live_", ALNUM, 24),
    "square-token": token("EA" + "AA", URL_SAFE, 60),
    "paypal-braintree-token": token("access_token" + "$production$abcdefgh12345678$", LOWER_HEX, 32),
    "shopify-token": token("shp" + "at_", LOWER_HEX, 32),
    "slack-token": token("xo" + "xb-1234567890-", ALNUM, 24),
    "discord-token": dotted(("MT", ALNUM, 24), ("", ALNUM, 6), ("", ALNUM, 38)),
    "twilio-key": token("S" + "K", LOWER_HEX, 32),
    "sendgrid-key": dotted(("S" + "G.", ALNUM, 22), ("", ALNUM, 43)),
    "mailgun-key": token("ke" + "y-", LOWER_HEX, 32),
    "mailchimp-key": token("", LOWER_HEX, 32, "-us" + "12"),
    "telegram-token": lambda rng: Example("", chars(rng, "123456789", 8) + ":A" + chars(rng, URL_SAFE, 34)),
    "npm-token": token("np" + "m_", ALNUM, 36),
    "pypi-token": token("py" + "pi-AgEIcHlwaS5vcmc", URL_SAFE, 120),
    "crates-token": token("ci" + "o", ALNUM, 32),
    "rubygems-key": token("ruby" + "gems_", LOWER_HEX, 48),
    "dockerhub-token": token("dckr" + "_pat_", URL_SAFE, 27),
    "nuget-key": token("oy" + "2", string.ascii_lowercase + string.digits, 43),
    "linear-notion-token": token("lin" + "_api_", ALNUM, 40),
    "service-token": token("crs" + "r_", LOWER_HEX, 64),
    "figma-token": token("fi" + "gd_", URL_SAFE, 40),
    "postman-key": token("PM" + "AK-", LOWER_HEX, 59),
    "sentry-token": token("sntry" + "s_", ALNUM, 80),
    "grafana-token": token("gl" + "sa_", ALNUM, 41),
    "new-relic-key": token("NR" + "AK-", UPPER, 27),
    "airtable-token": dotted(("pa" + "t", ALNUM, 14), ("", LOWER_HEX, 64)),
    "age-key": token("AGE-SECRET" + "-KEY-1", UPPER, 58),
    "jwt": dotted(("ey" + "J", ALNUM, 33), ("ey" + "J", ALNUM, 60), ("", URL_SAFE, 43)),
    "azure-client-secret": lambda rng: Example("", f"{chars(rng, ALNUM, 3)}8Q~{chars(rng, ALNUM, 34)}"),
    "high-entropy": token("", ALNUM, 64),
}

SURROUNDED: dict[str, Maker] = {
    "aws-secret-key": within("aws_secret_access" + "_key = ", BASE64, 40),
    "azure-storage-key": within("AccountName=store;Account" + "Key=", BASE64, 86, "=="),
    "azure-sas": within("https://store.blob.core.windows.net/box?sv=2022&" + "sig=", ALNUM, 43, "%3D"),
    "slack-webhook": within("https://hooks." + "slack.com/services/", ALNUM, 30),
    "discord-webhook": lambda rng: Example(
        "https://discord.com/api/web" + "hooks/", "123456789012345678/" + chars(rng, URL_SAFE, 68)
    ),
    "teams-webhook": within("https://corp.web" + "hook.office.com/webhookb2/", ALNUM, 80),
    "authorization-header": within("Author" + "ization: Bearer ", URL_SAFE, 24),
    "cookie": within("Cook" + "ie: theme=dark; sid=", ALNUM, 26),
    "url-password": within("postgres" + "://svc:", ALNUM, 12, "@db.internal:5432/app"),
    "netrc": within("machine git.corp.net login bot pass" + "word ", ALNUM, 14),
    "short-flag": within("sshpass" + " -p ", ALNUM, 12, " ssh box"),
    "cli-flag": within("deploy --pass" + "word ", ALNUM, 10),
    "env-assignment": within("export DB_PASS" + "WORD=", ALNUM, 10),
    "url-query": within("https://api.corp.net/v1?api" + "_key=", ALNUM, 20),
    "password-form": within("CREATE USER app IDENTIFIED " + "BY '", ALNUM, 14, "'"),
    "spoken-password": within("the pass" + "word for staging is ", ALNUM, 12),
    "config-field": within("client" + "_secret: ", ALNUM, 24),
}

QUOTED: dict[str, Maker] = {
    "json-field": within('{"pass' + 'word": "', ALNUM + " !#%", 14, '", "port": 5432}'),
    "gcp-service-account": within('{"type": "service_account", "private_key' + '_id": "', LOWER_HEX, 40, '"}'),
}


def key_block(rng: random.Random) -> Example:
    """A private key of four lines."""
    lines = [chars(rng, BASE64, 64) for _ in range(3)] + [chars(rng, BASE64, 20) + "=="]
    label = "RSA PRIVATE" + " KEY"
    return Example("", "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----"]))


BLOCKS: dict[str, Maker] = {
    "private-key": key_block,
    "private": lambda rng: Example("", f"<private>{chars(rng, ALNUM, 12)}\n{chars(rng, ALNUM, 12)}</private>"),
}

ALL: dict[str, Maker] = {**TOKENS, **SURROUNDED, **QUOTED, **BLOCKS}


def example(kind: str, seed: int = 0) -> Example:
    """The example of ``kind`` number ``seed``, the same on every run."""
    return ALL[kind](random.Random(f"{kind}/{seed}"))
