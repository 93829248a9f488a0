"""Personal data in text: e-mail and IP addresses, telephone numbers, bank accounts, cards and the like."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache

from rekal.plain_text import lazy_pattern
from rekal.scrub.secrets.kind import Span
from rekal.scrub.secrets.named import word_set

# E-mail addresses and public IPv4 addresses in text.

_BESIDE = lazy_pattern(r"[A-Za-z0-9._%+\-]@[^\W_]")
_LOCAL = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._%+\-]{0,63}\Z")
# In a URL a login and its host look like an address.
_LOGIN = lazy_pattern(r"://[^\s/@]*\Z")
_DOMAIN = lazy_pattern(r"(?:[^\W_](?:[\w\-]{0,61}[^\W_])?\.){1,6}(?P<top>[A-Za-z]{2,24})(?![A-Za-z0-9_\-(])")
_NOBODY = lazy_pattern(
    r"(?:git|hg|svn|root|no-?reply|do-?not-?reply|user(?:name)?|you|me|someone|name|foo|bar|info|support|hello|security|"
    r"contact|admin|test|dependabot.*|github-actions.*|.*\[bot\]|.*noreply.*)\Z",
    re.IGNORECASE,
)
_NOWHERE = lazy_pattern(
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
_IP = lazy_pattern(r"(?<![\w.\-])(?:\d{1,3}\.){3}\d{1,3}(?![\w\-]|\.\d)")
_PRIVATE = lazy_pattern(
    r"(?:0|10|127|169\.254|192\.168|172\.(?:1[6-9]|2\d|3[01])|192\.0\.2|198\.51\.100|203\.0\.113)\."
)
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


_SPELLED = lazy_pattern(
    r"(?P<local>[A-Za-z0-9][A-Za-z0-9._+\-]{0,63})(?:[ ]?[(\[]at[)\]][ ]?|%40|\\+u0040)"
    r"(?P<domain>[A-Za-z0-9][A-Za-z0-9\-]{0,62}(?:(?:\.|[ ]?[(\[]dot[)\]][ ]?)[A-Za-z0-9\-]{2,63}){1,4})"
)
_IPV6 = lazy_pattern(r"(?<![\w:.])2[0-9a-fA-F]{3}(?::[0-9a-fA-F]{0,4}){2,7}(?![\w:])")


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


# Telephone numbers, bank accounts, cards, hardware addresses and social security numbers in text.
#
# They are found by their outline: digits, signs and letters of a text are translated to one letter a class, and the
# outline ("four digits, a blank, four digits") is then a literal, which is found a hundred times faster than a pattern.

Found = tuple[str, int, int]

_DIGITS = bytes(
    ord("d" if chr(c).isdigit() else "s" if chr(c) in " -" else "p" if chr(c) == "+" else ".") for c in range(256)
)
_HEXES = bytes(ord("h" if chr(c) in "0123456789abcdefABCDEF" else "s" if chr(c) in ":-" else ".") for c in range(256))
_MAC = b"hhshhshhshhshhshh"
_GROUPS = b"ddddsdddd"
_SSN = b"dddsddsdddd"
_FIFTEEN = b"d" * 15

# A telephone number with its plus; all others are longer.
SHORTEST_NUMBER = 11

_CARD = lazy_pattern(r"(?<![\w.\-])\d(?:[ -]?\d){14,15}(?![\w\-]|\.\d)")
# Visa, Mastercard, American Express, Discover, JCB.
_ISSUER = lazy_pattern(r"4|5[1-5]|2[2-7]|3[47]|35|6011|65")
_IBAN = lazy_pattern(r"(?<!\w)[A-Z]{2}\d\d(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)")
_IBAN_LENGTHS = {
    "AT": 20, "BE": 16, "CH": 21, "CZ": 24, "DE": 22, "DK": 18, "ES": 24, "FI": 18, "FR": 27, "GB": 22, "GR": 27,
    "HU": 28, "IE": 22, "IT": 27, "LU": 20, "NL": 18, "NO": 15, "PL": 28, "PT": 25, "RO": 24, "SE": 24, "SK": 24,
    "TR": 26,
}  # fmt: skip
_PHONE = lazy_pattern(r"\+(?!\d{4}-\d\d)\d{1,3}(?:[ .\-/]{0,2}\(?\d{1,4}\)?)(?:[ .\-/]?\d{2,8}){1,5}(?![\w:]|\.\d)")
_CALLED = lazy_pattern(r"(?i)(?:tel|phone|telephone|mobile|cell|fax|call|whatsapp|telefon|handy)\b[\s:.=\"']{0,4}\Z")
_SOCIAL = lazy_pattern(r"(?i)(?:ssn|social security)[^\n]{0,24}\Z")


def find_numbers(text: str, ascii_text: str) -> Iterator[Found]:
    """Yield (kind, start, end) of personal numbers; all but telephone numbers carry a check or stand in a context."""
    raw = ascii_text.encode("ascii")
    digits = raw.translate(_DIGITS)
    if b"d" not in digits and ":" not in text and "-" not in text:
        return
    for start in _outline_positions(digits, b"pd") if "+" in text else ():
        match = _PHONE.match(text, start)
        if match and _is_phone(text, start, match[0]):
            yield "phone", *match.span()
    for outline in (_GROUPS, _FIFTEEN):
        for at in _outline_positions(digits, outline):
            yield from _accounts(text, at)
    for start in _outline_positions(digits, _SSN):
        if _SOCIAL.search(text[max(0, start - 40) : start]) and not text[start + 11 : start + 12].strip(" .,;)\n"):
            yield "ssn", start, start + 11
    signed = ":" in text or "-" in text
    for start in _outline_positions(raw.translate(_HEXES), _MAC) if signed else ():
        address = text[start : start + 17]
        outside = text[max(0, start - 1) : start] + text[start + 17 : start + 18]
        # All in one notation, no part of something longer, and not one of the addresses that mean "none" or "all".
        whole = not outside.strip(" \t\r\n\"'`,;()<>[]=/\\") or not outside
        if whole and len({address[i] for i in (2, 5, 8, 11, 14)}) == 1 and len(set(address.lower())) > 3:
            yield "mac", start, start + 17


def _outline_positions(raw: bytes, outline: bytes) -> Iterator[int]:
    at = raw.find(outline)
    while at >= 0:
        yield at
        at = raw.find(outline, at + len(outline))


def _is_phone(text: str, start: int, found: str) -> bool:
    count = sum(map(str.isdigit, found))
    if not 10 <= count <= 15 or (start and text[start - 1].isalnum()):
        return False
    if _CALLED.search(text[max(0, start - 16) : start]):
        return True
    # A plus at the start of a line is a diff's; digits in one piece are any number.
    at_line = start == 0 or text[start - 1] in "\n\\" or text[start - 2 : start] in ("\\n",)
    return not at_line and sum(found.count(sign) for sign in " -.(/") >= 2


def _accounts(text: str, at: int) -> Iterator[Found]:
    """A card or an account with groups of digits at ``at``, or with one long group from a few characters before."""
    for start in range(at, max(-1, at - 6), -1):
        iban = _IBAN.match(text, start)
        if iban and _is_iban(iban[0]):
            yield "iban", *iban.span()
            return
    card = _CARD.match(text, at)
    if card and _is_card("".join(filter(str.isdigit, card[0]))):
        yield "card", *card.span()


def _is_iban(found: str) -> bool:
    plain = found.replace(" ", "")
    if _IBAN_LENGTHS.get(plain[:2]) != len(plain):
        return False
    number = "".join(str(int(ch, 36)) for ch in plain[4:] + plain[:4])
    return int(number) % 97 == 1


def _is_card(digits: str) -> bool:
    amex = digits.startswith(("34", "37"))
    if not _ISSUER.match(digits) or len(digits) != (15 if amex else 16) or len(set(digits)) < 5:
        return False
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 * (value > 9)
    return total % 10 == 0
