"""E-mail addresses and public IPv4 addresses in text."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache

from rekal.scrub.regex import Regex
from rekal.scrub.secrets.kind import Span
from rekal.scrub.secrets.placeholder import word_set

_BESIDE = Regex(r"[A-Za-z0-9._%+\-]@[^\W_]")
_LOCAL = Regex(r"[A-Za-z0-9][A-Za-z0-9._%+\-]{0,63}\Z")
# In a URL a login and its host look like an address.
_LOGIN = Regex(r"://[^\s/@]*\Z")
_DOMAIN = Regex(r"(?:[^\W_](?:[\w\-]{0,61}[^\W_])?\.){1,6}(?P<top>[A-Za-z]{2,24})(?![A-Za-z0-9_\-(])")
_NOBODY = Regex(
    r"(?:git|hg|svn|root|no-?reply|do-?not-?reply|user(?:name)?|you|me|someone|name|foo|bar|info|support|hello|security|"
    r"contact|admin|test|dependabot.*|github-actions.*|.*\[bot\]|.*noreply.*)\Z",
    re.IGNORECASE,
)
_NOWHERE = Regex(
    r"(?:.+\.)?(?:example(?:\.\w+)?|test(?:\.com)?|localhost|invalid|local|internal|localdomain|domain\.com|email\.com|"
    r"noreply\.github\.com|users\.noreply\.github\.com|foo\.com|bar\.com|acme\.\w+|company\.com|iam\.gserviceaccount\.com)\Z",
    re.IGNORECASE,
)
# ``icon@2x.png``, ``pkg@main.js``: what follows the @ is a file, not a domain.
_FILE_ENDINGS = word_set("""
    png jpg jpeg gif svg webp ico js ts jsx tsx mjs cjs css scss less py rb go rs java kt c h cpp
    hpp cs php sh md txt json yml yaml toml xml html htm lock log map vue service timer socket
    target mount
""")
_IP = Regex(r"(?<![\w.\-])(?:\d{1,3}\.){3}\d{1,3}(?![\w\-]|\.\d)")
_PRIVATE = Regex(r"(?:0|10|127|169\.254|192\.168|172\.(?:1[6-9]|2\d|3[01])|192\.0\.2|198\.51\.100|203\.0\.113)\.")
_WELL_KNOWN = frozenset(("8.8.8.8", "8.8.4.4", "1.1.1.1", "1.0.0.1", "9.9.9.9", "255.255.255.255"))


def find_emails(text: str) -> Iterator[Span]:
    """Yield the addresses of people: not those of robots, remotes (``git@host``) or examples."""
    at = text.find("@")
    while at >= 0:
        beside = text[max(0, at - 1) : at + 2]
        local = _LOCAL.search(text[max(0, at - 64) : at]) if _BESIDE.match(beside) else None
        domain = _DOMAIN.match(text, at + 1) if local else None
        if local and domain and domain["top"].lower() not in _FILE_ENDINGS:
            start = at - len(local[0])
            if start and text[start - 1] == "\\" and text[start] in "nrtbf":
                start += 1
            if (
                start < at
                and not _LOGIN.search(text[max(0, start - 80) : start])
                and not _NOBODY.match(text[start:at])
                and not _NOWHERE.match(domain[0])
            ):
                yield start, domain.end()
        at = text.find("@", at + 1)


_SPELLED = Regex(
    r"(?P<local>[A-Za-z0-9][A-Za-z0-9._+\-]{0,63})(?:[ ]?[(\[]at[)\]][ ]?|%40|\\+u0040)"
    r"(?P<domain>[A-Za-z0-9][A-Za-z0-9\-]{0,62}(?:(?:\.|[ ]?[(\[]dot[)\]][ ]?)[A-Za-z0-9\-]{2,63}){1,4})"
)
_IPV6 = Regex(r"(?<![\w:.])2[0-9a-fA-F]{3}(?::[0-9a-fA-F]{0,4}){2,7}(?![\w:])")


def may_spell_emails(text: str) -> bool:
    """True if ``text`` has a sign of what :func:`find_spelled_emails` looks for."""
    # One character is found eight times faster than two or more.
    return (
        ("(" in text and "(at)" in text)
        or ("[" in text and "[at]" in text)
        or ("%" in text and "%40" in text)
        or ("\\" in text and "u0040" in text)
    )


def find_spelled_emails(text: str) -> Iterator[Span]:
    """Addresses of people in which the @ is spelled otherwise: ``(at)``, ``%40``."""
    for match in _SPELLED.finditer(text):
        if not _NOBODY.match(match["local"]) and not _NOWHERE.match(match["domain"]):
            yield match.span()


def find_public_ipv6(text: str) -> Iterator[Span]:
    """IPv6 addresses of the public range, those of documentation left out."""
    for match in _IPV6.finditer(text) if "2" in text and ":" in text else ():
        if not match[0].lower().startswith("2001:db8") and match[0].count(":") >= 3:
            yield match.span()


def find_public_ips(text: str) -> Iterator[Span]:
    """IPv4 addresses outside the private, loopback and documentation ranges."""
    for match in _IP.finditer(text):
        address = match[0]
        octets = [int(octet) for octet in address.split(".")]
        public = octets[0] < 224 and not _PRIVATE.match(address) and address not in _WELL_KNOWN
        if max(octets) <= 255 and public:
            yield match.span()


@lru_cache(maxsize=1024)
def name_pseudonym(salt: str, name: str) -> str:
    """Six hexadecimal characters that stand for ``name`` within the store of ``salt``."""
    digest = hashlib.blake2b(name.casefold().encode("utf-8", "replace"), digest_size=3, salt=_salt(salt))
    return digest.hexdigest()


def _salt(salt: str) -> bytes:
    return hashlib.blake2b(salt.encode("utf-8", "replace"), digest_size=16).digest()
