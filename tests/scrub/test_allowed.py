"""What looks like a secret and is none, and what the user's own rules add or leave."""

from __future__ import annotations

import json
import random
import re

import pytest

from rekal.errors import ConfigError
from rekal.scrub import Rules, Scrubber
from tests.scrub.examples import ALNUM, BASE64, LOWER_HEX, chars, example

RNG = random.Random(7)
SCRUBBER = Scrubber(Rules())

HARMLESS = [
    "commit " + chars(RNG, LOWER_HEX, 40),
    "sha256:" + chars(RNG, LOWER_HEX, 64),
    "0b7e6a52-7d0f-4f0e-9a51-5f3fbb8f9a11",
    "01HV7Z2K8Q4N6M3T5R9W1X0YCD",
    '"integrity": "sha512-' + chars(RNG, BASE64, 86) + '=="',
    "data:image/png;base64," + chars(RNG, BASE64, 160),
    '"encrypted_content": "gAAAAA' + chars(RNG, ALNUM, 180) + '"',
    '"signature": "' + chars(RNG, BASE64, 120) + '"',
    "toolu_01" + chars(RNG, ALNUM, 32),
    "user.password = newPassword1",
    "password: 8",
    "https://bot:$TOKEN@git.fabrikam.io/x",
    "password = os.environ['DB_PASSWORD']",
    "API_KEY=${API_KEY}",
    "API_KEY=$API_KEY",
    "API_KEY=<your-api-key>",
    "api_key: your-api-key-here-123",
    "TOKEN=xxxxxxxxxxxx",
    'secret: "************"',
    "token: process.env.GITHUB_TOKEN",
    "token = get_token(user1)",
    "password: str",
    "password: string;",
    'password: "Password must have 8 characters"',
    "const passwordInputV2 = useRef(null)",
    "max_tokens: 4096",
    '"total_tokens": 123456, "output_tokens": "98765"',
    "next_page_token = 'abcd1234efgh5678'",
    "--token-limit 4000",
    "the token is passed on, the secret stays, the key fits",
    "src/components/UserAuthenticationTokenProvider2Factory.tsx",
    "test_scrubber_replaces_2_tokens_in_1_line_when_asked_to",
    "https://user@github.com/org/repo",
    "http://localhost:8080/path?token=",
    "postgres://user:password@localhost/db",
    "Bearer token authentication",
    "Authorization: Bearer <token>",
    "task-skipping-the-disk-check-before-risk-assessment",
    "AKIA" + "IOSFODNN7" + "EXAMPLE",
    "mkdir -p build && cp -u a b",
    "docker run -p 8080:80 image",
    "password is at least 8 characters",
    "the password is sha256-hashed and the passphrase is utf8",
    "password is stored in config2.yml",
    "set password to user_name_2",
    "the password for it is process.env.PW2",
    "git branch -b 'sid=Zx81kLmq9w'",
    "[redacted:github-token]",
    "DB_PASSWORD=[redacted:env-assignment]",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_stays(text: str) -> None:
    assert SCRUBBER.text(text) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("DB_PASSWORD=hunter2", "hunter2"),
        ("mysql -u root -phunter2 app", "hunter2"),
        ('password = "correct horse battery staple"', "correct horse battery staple"),
        ("password: hunter2", "hunter2"),
        ("{'password': 'it\\'s me'}", "it\\'s me"),
        ('{"a": "{\\"password\\": \\"pa\\\\\\"ss\\"}"}', 'pa\\\\\\"ss'),
        ("curl -u admin:hunter22 https://x.corp.net", "hunter22"),
        ("--password=hunter2", "hunter2"),
        ('if password === "hunter2":', "hunter2"),
        ("password: 90210", "90210"),
        ("secret_key_base: 7d3a9c7be1d24856af00b1c2d3e4f506", "7d3a9c7be1d24856af00b1c2d3e4f506"),
        ("redis://:s3cr3tpw@cache:6379/0", "s3cr3tpw"),
        ("\\nDB_PASSWORD=hunter2\\nX=1", "hunter2"),
        ("the password is hunter2-Tr0ub4dor.", "hunter2-Tr0ub4dor"),
        ("the password for the box is now: `hunter2!` ok", "hunter2!"),
        ("I set the passphrase to horse-battery9, then", "horse-battery9"),
        ("the password: hunter2x", "hunter2x"),
        ("pw = hunter2x", "hunter2x"),
        ("curl -U admin:hunter22 https://x.corp.net", "hunter22"),
        ("curl -sS -b 'sid=Zx81kLmq9w' https://x.corp.net", "Zx81kLmq9w"),
        ("curl --cookie sid=Zx81kLmq9w https://x.corp.net", "Zx81kLmq9w"),
    ],
)
def test_short_passwords_go(text: str, value: str) -> None:
    scrubbed = SCRUBBER.text(text)
    before, _, after = text.partition(value)
    assert scrubbed.startswith(before + "[redacted:")
    assert scrubbed.endswith("]" + after)


@pytest.mark.parametrize("text", ["API_SECRET={} end", '{{"client_secret": "{}"}}', "token: {}\nnext"])
def test_long_value_goes_whole(text: str) -> None:
    value = chars(RNG, BASE64, 1500)
    scrubbed = SCRUBBER.text(text.format(value))
    assert re.sub(r"\[redacted:[a-z-]+\]", "{}", scrubbed) == text.replace("{{", "{").replace("}}", "}")


def test_key_block_with_a_short_first_line() -> None:
    lines = [chars(RNG, BASE64, size) for size in (3, 64, 40)]
    label = "PGP PRIVATE" + " KEY BLOCK"
    block = "\n".join([f"-----BEGIN {label}-----", "Version: 1", "", *lines, "=ab1d", f"-----END {label}-----"])
    assert SCRUBBER.text(f"a\n{block}\nb") == "a\n[redacted:private-key]\nb"


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_number_in_json_becomes_a_string(depth: int) -> None:
    text = json.dumps({"password": 90210, "port": 90210})
    for _ in range(depth):
        text = json.dumps([text])
    scrubbed = SCRUBBER.text(text)
    assert SCRUBBER.text(scrubbed) == scrubbed
    for _ in range(depth):
        (scrubbed,) = json.loads(scrubbed)
    assert json.loads(scrubbed) == {"password": "[redacted:json-field]", "port": 90210}


def test_allowed_values_stay() -> None:
    made = example("github-token")
    allowing = Scrubber(Rules(allow=(made.secret[:8] + ".*",)))
    assert allowing.text(made.text) == made.text
    assert made.secret not in SCRUBBER.text(made.text)


def test_custom_patterns_are_redacted() -> None:
    scrubber = Scrubber(Rules(custom=(r"ACME-\d{6}", r"badge (?P<secret>\w+)", r"z*")))
    assert scrubber.text("ACME-123456 and badge blue7") == "[redacted:custom] and badge [redacted:custom]"
    assert scrubber.text("[redacted:custom]") == "[redacted:custom]"


@pytest.mark.parametrize("key", ["custom", "allow"])
def test_invalid_pattern_is_a_configuration_error(key: str) -> None:
    with pytest.raises(ConfigError, match=rf"scrub\.{key} has an invalid regular expression '\('"):
        Scrubber(Rules(custom=("(",)) if key == "custom" else Rules(allow=("(",)))


def test_lone_surrogates_and_nul_are_replaced() -> None:
    assert SCRUBBER.text("a\ud83db\x00") == "a\ufffdb\ufffd"
    assert SCRUBBER.text("a longer text \ud83d here") == "a longer text \ufffd here"
