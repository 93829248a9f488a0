"""How a call wants its answer to look: colour, pager, times. Read before every verb, so it imports next to nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import NamedTuple

from rekal.errors import UsageError

_COLORS = ("auto", "always", "never")


class Look(NamedTuple):
    """Colour ``auto``, ``always`` or ``never``; a pager or none; times in UTC or in the user's zone."""

    color: str = "auto"
    pager: bool = True
    utc: bool = False


_PLAIN = Look()
LOOK: ContextVar[Look] = ContextVar("LOOK", default=_PLAIN)


def take_look_options(words: Sequence[str]) -> list[str]:
    """Take ``--color[=WHEN]``, ``--no-color``, ``--no-pager`` and ``--utc`` out of a call, wherever they stand.

    UsageError for another WHEN. Words behind ``--`` are left alone.
    """
    look, rest = Look(), list(words)
    end = rest.index("--") if "--" in rest else len(rest)
    kept: list[str] = []
    for word in rest[:end]:
        name, mark, value = word.partition("=")
        if name == "--color":
            # As in git: `--color` alone is always, and the next word is not its value.
            value = value if mark else "always"
            if value not in _COLORS:
                raise UsageError(f"--color={value} is none of {', '.join(_COLORS)}", "write --color=never")
            look = look._replace(color=value)
        elif word == "--no-color":
            look = look._replace(color="never")
        elif word == "--no-pager":
            look = look._replace(pager=False)
        elif word == "--utc":
            look = look._replace(utc=True)
        else:
            kept.append(word)
    LOOK.set(look)
    return [*kept, *rest[end:]]
