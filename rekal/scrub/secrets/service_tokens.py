"""Tokens of services that a prefix gives away and that need no code of their own: one row a shape.

A row is ``prefix body least``: the literal prefix, the class of the characters after it and how many there are at the
least. One kind serves all rows, because every kind costs each text some time.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

from rekal.scrub.secrets.kind import (
    Check,
    Hay,
    Kind,
    Span,
    by_pattern,
    by_prefix,
    has_digit,
    looks_drawn,
    looks_mixed,
    shared_part,
)

_BODIES = {
    "alnum": "[A-Za-z0-9]",
    "url": r"[A-Za-z0-9_\-]",
    "base64": "[A-Za-z0-9+/=]",
    "hex": "[a-f0-9]",
    "uuid": r"[a-f0-9\-]",
    "lower": "[a-z0-9]",
    "upper": "[A-Z0-9]",
    "dotted": r"[A-Za-z0-9_\-.]",
}

# Sorted by service. A prefix of two or three letters needs a long body, or words and identifiers would match.
_ROWS = """
AQE base64 80                 # Adyen
STS. dotted 60                # Alibaba
amp_ alnum 36                 # Amplitude
p8e- alnum 32                 # Adobe
apify_api_ alnum 30           # Apify
AKCp alnum 60                 # Artifactory
cmVmdGtuOj alnum 40           # Artifactory, reference tokens
ABSK base64 60                # AWS Bedrock
bedrock-api-key- base64 60    # AWS Bedrock, short-lived
IQoJb3JpZ2lu base64 60        # AWS session
FwoGZXIvYXdz base64 60        # AWS session
FQoGZXIvYXdz base64 60        # AWS session
bce-v3/ALTAK- alnum 20        # Baidu
bb_live_ url 24               # Browserbase
bkua_ alnum 32                # Buildkite
bkat_ alnum 32                # Buildkite
csk- lower 40                 # Cerebras
CCIPAT_ url 40                # CircleCI
CCIPRJ_ url 40                # CircleCI
CLOJARS_ hex 60               # Clojars
CCDB1_ url 40                 # CockroachDB
ak_ url 20                    # Composio
CFPAT- url 40                 # Contentful
ctx7sk- uuid 32               # Context7
key_ hex 60                   # Cursor
crsr_ hex 60                  # Cursor
dose hex 32                   # Databricks OAuth
dtn_ hex 60                   # Daytona
sl. url 100                   # Dropbox
sl.u. url 100                 # Dropbox
duffel_live_ url 40           # Duffel
duffel_test_ url 40           # Duffel
e2b_ hex 40                   # E2B
EZAK alnum 50                 # EasyPost
EZTK alnum 50                 # EasyPost
EAA alnum 90                  # Facebook
figor_ url 36                 # Figma
fw_ alnum 22                  # Fireworks
FLWSECK- url 30               # Flutterwave
FLWSECK_TEST- url 30          # Flutterwave
fio-u- url 60                 # Frame.io
AQ.Ab8 url 40                 # Gemini
GOOG1E upper 50               # Google Cloud Storage
gloas- hex 60                 # GitLab OAuth application
live_ url 28                # GoCardless, Lob, Mollie
test_ hex 35                  # Lob
eyJrIjoi base64 60            # Grafana
signkey-prod- hex 32          # Inngest
signkey-test- hex 32          # Inngest
signkey-branch- hex 32        # Inngest
ico- alnum 32                 # Infracost
dG9rOj base64 40              # Intercom
s-s4t2ud- hex 60              # Intra 42
s-s4t2af- hex 60              # Intra 42
jina_ alnum 50                # Jina
pk_ hex 34                    # Klaviyo
sdk- uuid 36                  # LaunchDarkly
api- uuid 36                  # LaunchDarkly
mob- uuid 36                  # LaunchDarkly
WPL_AP1. base64 12            # LinkedIn
linode_ hex 60                # Linode
pylf_v1_ url 40               # Logfire
mdb_sa_sk_ url 36             # MongoDB Atlas
napi_ lower 56                # Neon
hcaik_ lower 56               # Honeycomb
hcxik_ lower 56               # Honeycomb
hcamk_ lower 56               # Honeycomb
hcbik_ lower 56               # Honeycomb
pat-na1- uuid 36              # HubSpot
pat-eu1- uuid 36              # HubSpot
pat-ap1- uuid 36              # HubSpot
nyk_v0_ url 60                # Nylas
ops_eyJ base64 100            # 1Password
packagist_uut_ hex 60         # Packagist
packagist_out_ hex 60         # Packagist
packagist_ort_ hex 60         # Packagist
pdl_live_apikey_ url 40       # Paddle
pdl_sdbx_apikey_ url 40       # Paddle
pcsk_ url 50                  # Pinecone
access-production- uuid 36    # Plaid
access-sandbox- uuid 36       # Plaid
access-development- uuid 36   # Plaid
PMAT- upper 26                # Postman
phx_ alnum 40                 # PostHog
phc_ alnum 40                 # PostHog
pnu_ lower 36                 # Prefect
pnb_ lower 36                 # Prefect
sec-c- base64 40              # PubNub
pul- hex 40                   # Pulumi
rzp_live_ alnum 14            # Razorpay
rzp_test_ alnum 14            # Razorpay
rdme_ lower 60                # ReadMe
rnd_ alnum 28                 # Render
RGAPI- uuid 36                # Riot
rootly_ hex 60                # Rootly
rpa_ alnum 40                 # RunPod
SCW upper 17                  # Scaleway
xkeysib- url 60               # Brevo
xsmtpsib- url 60              # Brevo
sntryi_ hex 60                # Sentry
sm_aat_ alnum 16              # SettleMint
shippo_live_ hex 40           # Shippo
shippo_test_ hex 40           # Shippo
snyk_sat. dotted 40           # Snyk
squ_ hex 40                   # SonarQube
sqp_ hex 40                   # SonarQube
sqa_ hex 40                   # SonarQube
sgp_ url 40                   # Sourcegraph
slk_ hex 60                   # Sourcegraph
spl_ alnum 36                 # Spacelift
spacelift_ url 40             # Spacelift
sbp_oauth_ hex 40             # Supabase
sk_org_live_ alnum 24         # Stripe
secret- alnum 40              # Statsig
tvly- url 30                  # Tavily
tgp_v1_ url 40                # Together
tr_dev_ alnum 20              # Trigger.dev
tr_prod_ alnum 20             # Trigger.dev
tr_stg_ alnum 20              # Trigger.dev
tr_pat_ alnum 36              # Trigger.dev
tfp_ url 50                   # Typeform
vcp_ alnum 50                 # Vercel
vck_ alnum 50                 # Vercel
vci_ alnum 50                 # Vercel
vca_ alnum 50                 # Vercel
vercel_blob_rw_ url 40        # Vercel
pa- url 43                    # Voyage
ark- uuid 36                  # Volcengine
waka_ uuid 36                 # WakaTime
ws- hex 60                    # Webflow
AQVN url 35                   # Yandex
y0_ url 50                    # Yandex
zpka_ url 40                  # Zuplo
sk_sbox_ lower 26             # Checkout
sk_ alnum 24                  # Checkout, ElevenLabs, Svix
re_ url 30                    # Resend
django-insecure- url 40       # Django
"""


def _rows() -> dict[str, tuple[str, int]]:
    rows = (line.partition("#")[0].split() for line in _ROWS.strip().splitlines())
    return {prefix: (_BODIES[body], int(least)) for prefix, body, least in rows}


def _check_of(prefix: str, least: int) -> Check:
    # A long prefix suffices. After a short one the body has a digit, or a part longer than any word.
    return bool if len(prefix) > 5 else looks_drawn


def _by_rows() -> Kind:
    """The kind of all rows: each is searched only in texts that have its prefix."""
    kinds = {
        prefix: by_prefix(
            "service-token",
            prefix.replace(".", r"\."),
            (prefix,),
            least=least,
            body=body,
            check=_check_of(prefix, least),
        )
        for prefix, (body, least) in _rows().items()
    }

    parts = [(shared_part(prefix), kind) for prefix, kind in kinds.items()]

    def find(text: str, hay: Hay) -> Iterator[Span]:
        absent = hay.absent
        for part, kind in parts:
            if part not in absent:
                yield from kind.find(text, hay)

    return Kind("service-token", tuple(kinds), find, in_run=True, by_prefix=True)


# An equals sign may stand before: of an assignment. That of base64 in front of a token is not told from it.
_NOT_BEFORE = r"(?:(?<![A-Za-z0-9_\-./+])|(?<=\\[nrtbf]))"
_PART = r"[A-Za-z0-9_\-]"

# Shapes that no prefix alone gives away: hints, the pattern that begins at a hint, and a check of the whole match.
_SHAPES: tuple[tuple[tuple[str, ...], str, Check], ...] = (
    (("oauth:",), r"oauth:[a-z0-9]{30}(?!\w)", has_digit),
    (("dt0",), r"dt0[a-z]\d\d\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}", has_digit),
    (("00D",), r"00D[A-Za-z0-9]{12,15}![A-Za-z0-9_.]{60,}", has_digit),
    (("t1.",), r"t1\.[A-Za-z0-9_\-]{40,}\.[A-Za-z0-9_\-]{60,}", has_digit),
    (("sk-helicone-",), r"sk-helicone-[a-z0-9]{7}(?:-[a-z0-9]{7}){3}", bool),
    (("A3-",), r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{5,6}-){3,4}[A-Z0-9]{5,6}(?![\w\-])", has_digit),
    (("pk_",), r"pk_\d{6,12}_[A-Z0-9]{32}(?!\w)", has_digit),
    (("sk.",), r"sk\.eyJ[A-Za-z0-9_\-]{20,}\.[A-Za-z0-9_\-]{20,}", has_digit),
    (("s.",), r"s\.[A-Za-z0-9]{24}(?![\w.(])", looks_mixed),
    (("ak-", "as-"), r"a[ks]-[A-Za-z0-9]{22}(?![\w\-])", looks_mixed),
    (("y_", "u+"), r"(?:y_|u\+)[A-Za-z0-9_+\-]{18}(?![\w+\-])", looks_mixed),
    (("su",), r"su[A-Za-z0-9]{12}:[A-Za-z0-9]{64}(?!\w)", looks_mixed),
    (("sk",), r"sk[A-Za-z0-9]{150,}(?!\w)", looks_mixed),
    (("BSA",), r"BSA[A-Za-z0-9_\-]{27,28}(?![A-Za-z0-9_\-+/=])", looks_mixed),
    (("AAAA",), r"AAAA[A-Za-z0-9_\-]{7}:APA91b[A-Za-z0-9_\-]{100,}", looks_mixed),
    (("AAAAAAAAAAAAAAAAAAAA",), r"A{20,}[A-Za-z0-9%]{50,}", looks_mixed),
    (("eyJ",), rf"eyJ{_PART}{{10,}}\.{_PART}{{0,700}}\.{_PART}{{12,}}\.{_PART}{{8,}}\.{_PART}{{16,}}", looks_mixed),
    # Stored forms of passwords: bcrypt, crypt and scrypt. Of argon2 the parameters may stay.
    (("$2a$", "$2b$", "$2y$"), r"\$2[aby]\$\d\d\$[A-Za-z0-9./]{53}", bool),
    (("$5$", "$6$", "$y$"), r"\$[56y]\$(?:[A-Za-z0-9./=]{1,24}\$){1,2}[A-Za-z0-9./]{43,86}", bool),
    (("$s2$", "$scrypt$"), r"\$s(?:2|crypt)\$[^\s\"']{40,}", bool),
)
_ARGON = r"p=\d+(?P<secret>\$[A-Za-z0-9+/]{10,}(?:\$[A-Za-z0-9+/]{20,})?)"


def _is_private(token: str) -> bool:
    """True if the base64 ``token``, the beginning of a PEM block, says that the block is private."""
    head = token[: len(token[:64]) // 4 * 4]
    return b"PRIVATE" in base64.b64decode(head, validate=False)


KINDS = (
    _by_rows(),
    by_prefix(
        "private-key",
        "LS0tLS1CRUdJTi",
        ("LS0tLS1CRUdJTi",),
        least=40,
        body="[A-Za-z0-9+/=]",
        check=_is_private,
    ),
    *(
        by_pattern("service-token", _NOT_BEFORE + pattern, hints, check=check, in_run=True)
        for hints, pattern, check in _SHAPES
    ),
    by_pattern("service-token", _ARGON, ("p=",), in_run=True),
    by_pattern("service-token", r"(?<=\d{13})\|[A-Za-z0-9_\-]{27}(?![\w\-])", ("|",), check=looks_mixed, in_run=True),
    by_pattern("service-token", r"(?<=[0-9a-f]{36})NRAL(?!\w)", ("NRAL",), in_run=True, back=36),
)
