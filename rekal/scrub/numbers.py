"""Telephone numbers, bank accounts, cards, hardware addresses and social security numbers in text.

They are found by their outline: digits, signs and letters of a text are translated to one letter a class, and the
outline ("four digits, a blank, four digits") is then a literal, which is found a hundred times faster than a pattern.
"""

from __future__ import annotations

from collections.abc import Iterator

from rekal.scrub.regex import Regex

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

_CARD = Regex(r"(?<![\w.\-])\d(?:[ -]?\d){14,15}(?![\w\-]|\.\d)")
# Visa, Mastercard, American Express, Discover, JCB.
_ISSUER = Regex(r"4|5[1-5]|2[2-7]|3[47]|35|6011|65")
_IBAN = Regex(r"(?<!\w)[A-Z]{2}\d\d(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)")
_IBAN_LENGTHS = {
    "AT": 20, "BE": 16, "CH": 21, "CZ": 24, "DE": 22, "DK": 18, "ES": 24, "FI": 18, "FR": 27, "GB": 22, "GR": 27,
    "HU": 28, "IE": 22, "IT": 27, "LU": 20, "NL": 18, "NO": 15, "PL": 28, "PT": 25, "RO": 24, "SE": 24, "SK": 24,
    "TR": 26,
}  # fmt: skip
_PHONE = Regex(r"\+(?!\d{4}-\d\d)\d{1,3}(?:[ .\-/]{0,2}\(?\d{1,4}\)?)(?:[ .\-/]?\d{2,8}){1,5}(?![\w:]|\.\d)")
_CALLED = Regex(r"(?i)(?:tel|phone|telephone|mobile|cell|fax|call|whatsapp|telefon|handy)\b[\s:.=\"']{0,4}\Z")
_SOCIAL = Regex(r"(?i)(?:ssn|social security)[^\n]{0,24}\Z")


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
