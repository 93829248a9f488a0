"""Where a quoted string ends when the text around it is JSON-escaped none, once or several times."""

from __future__ import annotations

_LONGEST = 8192


def string_end(text: str, start: int, quote: str, level: int) -> int:
    """End of the content of a string whose content begins at ``start``, or -1 when it is not closed nearby.

    ``level`` is the number of backslashes before the opening quote: 0 plain, 1 escaped once, 3 twice. The closing
    quote has as many, plus whole escaped backslashes of the content (2 * (level + 1) each); any other number of
    backslashes makes it a quote inside the string.
    """
    at = start
    limit = min(len(text), start + _LONGEST)
    while (at := text.find(quote, at, limit)) >= 0:
        slashes = 0
        while at - slashes > start and text[at - slashes - 1] == "\\":
            slashes += 1
        if slashes >= level and (slashes - level) % (2 * (level + 1)) == 0:
            return at - level
        at += 1
    return -1
