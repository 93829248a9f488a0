"""What no person types: a message that is wholly inside one element, as clients wrap what they add.

Clients bring new names with each version, so names are not listed: an element whose name has a hyphen or an underscore,
or capitals inside, is a client's. Elements of HTML have none of these. A message with any word beside the element is
the person's.
"""

from __future__ import annotations

import re

from rekal.plain_text import lazy_pattern

_WHOLE = lazy_pattern(
    r"\s*<([A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+)\b[^>]*>.*</\1>\s*\Z", re.DOTALL
)


def find_wrapper(text: str) -> str | None:
    """Name of the client's element that the whole of ``text`` is in; None where a person may have typed it."""
    found = _WHOLE.match(text) if text.lstrip()[:1] == "<" else None
    return found[1] if found else None


def name_wrapper(text: str) -> str:
    """Return the word by which drift shows such a message."""
    return f"prompt in <{(find_wrapper(text) or '')[:40]}>"
