"""Tokens cut in two by the border between one turn and the next, as streamed answers can leave them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rekal.scrub.regex import Regex
from rekal.scrub.secrets import KINDS

if TYPE_CHECKING:
    from rekal.scrub.scrubber import Scrubber

_PREFIXED = frozenset(kind.name for kind in KINDS if kind.by_prefix)
_BODY = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.="
_HEAD = Regex(r"\s*(?P<head>[A-Za-z0-9_\-.=]{8,})")
# Words have no digits and at most one capital inside (JavaScript). After a token that is whole, a word is a word.
_SCRAMBLED = Regex(r"[0-9]|[a-z][A-Z].*[a-z][A-Z]")
# Longer than any token: what lies further from the border belongs to none that crosses it.
_REACH = 1024


def without_split_tokens(scrubber: Scrubber, texts: Sequence[str]) -> list[str]:
    """``texts`` with both parts of every token redacted that ends one text and goes on at the start of the next.

    Only tokens with a telling prefix are known by their halves.
    """
    out = list(texts)
    for after in range(1, len(out)):
        before, text = out[after - 1].rstrip(), out[after]
        head = _HEAD.match(text)
        if head and before:
            near = before[-_REACH:]
            tail = near[len(near.rstrip(_BODY)) :]
            kind, left, right = _crossing(scrubber, tail, head["head"][:_REACH]) if tail else ("", 0, 0)
            if left:
                out[after - 1] = f"{before[:-left]}[redacted:{kind}]"
                out[after] = f"[redacted:{kind}]{text[head.start('head') + right :]}"
    return out


def _crossing(scrubber: Scrubber, tail: str, head: str) -> tuple[str, int, int]:
    """The kind of the token that crosses from ``tail`` to ``head`` and how many characters of each are its; or none."""
    for kind, start, end in scrubber.find(tail + head):
        if kind in _PREFIXED and start < len(tail) < end:
            unfinished = _SCRAMBLED.search(tail) and not scrubber.find(tail)
            if unfinished or _SCRAMBLED.search(head):
                return kind, len(tail) - start, end - len(tail)
    return "", 0, 0
