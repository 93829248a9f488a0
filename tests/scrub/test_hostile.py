"""No text costs more than its length: four times a repetitive text takes about four times the time."""

from __future__ import annotations

import time

import pytest

from rekal.scrub import Rules, Scrubber
from tests.scrub.examples import example

RULES = Rules(homes=("/home/zelda", "/root"), username="zelda", salt="s", ip="redact")
SIZE = 15_000
# Four times the text: linear is 4, quadratic 16; below the floor the clock's own steps decide.
MOST = 7.0
FLOOR = 0.004
TRIES = 3


UNITS = {
    "password=": "password=",
    "quoted passwords": '"password":\'',
    "escaped passwords": '\\"password\\":\\"',
    "passwords in prose": "password is ",
    "words that begin names": "passtokenkeyauth",
    "jwt": "ey" + "J",
    "jwt parts": "ey" + "Jaaaaaaaaaaaaa.",
    "anthropic": "sk-" + "ant-",
    "github": "gh" + "p_",
    "tokens": example("github-token").text + " ",
    "tokens glued": example("github-token").text,
    "curl": "curl -u ",
    "curl user": "curl -u a:",
    "curl cookies": "curl -b a=b12345678;",
    "mysql": "mysql -p",
    "docker": "docker login -p ",
    "key blocks": "-----BEGIN",
    "headers of key blocks": "-----BEGIN RSA PRIVATE" + " KEY-----\nabcdefghijkl\n",
    "schemes": "://",
    "logins": "://a:b@",
    "addresses": "a.b@c.de ",
    "at signs": "a@",
    "ip addresses": "1.2.3.4 ",
    "assignments": "a=",
    "double quotes": '"',
    "single quotes": "'",
    "backslashes": "\\",
    "escaped quotes": '\\"',
    "line breaks": "\n",
    "escaped line breaks": "\\n",
    "one long run": "Ab1x",
    "base64": "Ab1+/c2D",
    "lines of token characters": "A1b2C3d4E5F6g7H8\n",
    "beginnings of markers": "[redacted:",
    "markers": "[redacted:jwt]",
    "findings and markers": f"[redacted:jwt]{example('github-token').text} a.b@c.de ",
    "private": "<private>",
    "private blocks": "<private></private>",
    "ends of private": "</private>",
    "homes": "/home/",
    "names of homes": "/home/quentin/",
    "dashed homes": "-home-",
    "root": "/root/",
    "escaped homes": "%2Fhome%2F",
    "cookies": "cookie: a=b12345678;",
    "authorization": "Authorization: Bearer ",
    "netrc": "machine a login b password ",
    "not ASCII": "é",
    "lone surrogates": "\ud83d",
}


def cost(text: str) -> float:
    """Processor time of one scrubbing, in seconds."""
    scrubber = Scrubber(RULES)  # a new one: it remembers what it scrubbed
    began = time.process_time()
    scrubber.text(text)
    return time.process_time() - began


@pytest.mark.parametrize("name", UNITS)
def test_cost_grows_with_length_only(name: str) -> None:
    text = UNITS[name] * (SIZE // len(UNITS[name]))
    ratios: list[float] = []
    while not ratios or (min(ratios) > MOST and len(ratios) < TRIES):
        ratios.append(cost(4 * text) / max(cost(text), FLOOR))
    assert min(ratios) <= MOST
