"""The user's settings for scrubbing, checked once."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from rekal.errors import ConfigError

EmailRule = Literal["keep", "redact", "pseudonym"]
IpRule = Literal["keep", "redact"]
OutputRule = Literal["none", "errors"]


class Rules(msgspec.Struct, frozen=True):
    """The settings by which one store is scrubbed.

    ``homes`` are the user's own home directories, absolute, in any platform's spelling; ``username`` also names the
    homes that are not listed (``/home/<username>``, ``C:\\Users\\<username>``...). ``salt`` makes pseudonyms differ
    from store to store.

    ``email`` decides about addresses in text: ``redact`` (the default: transcripts quote addresses of people who
    never agreed to be stored), ``pseudonym`` (a stable, salted stand-in) or ``keep``. Addresses that belong to no
    person (``noreply@``, ``git@host``, ``example.org``) always stay. ``ip`` decides about public IPv4 addresses; the
    default is ``keep`` because four-part version numbers look exactly like them. ``custom`` holds regular expressions
    of further secrets (the group ``secret`` when there is one, else the whole match); ``shared`` holds more that
    came with the checkout and run with a limit of time; ``allow`` holds regular expressions: a found value that one of
    them matches in full is left alone. ``tool_output`` says whether the
    excerpt of a failed call is kept.
    """

    homes: tuple[str, ...] = ()
    username: str = ""
    salt: str = ""
    email: EmailRule = "redact"
    ip: IpRule = "keep"
    custom: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    tool_output: OutputRule = "errors"


def compile_patterns(patterns: tuple[str, ...], key: str) -> tuple[re.Pattern[str], ...]:
    """Compile the user's patterns. Raises :class:`ConfigError` naming ``key`` and the first one that is not valid."""
    out = []
    for pattern in patterns:
        try:
            out.append(re.compile(pattern))
        except re.error as error:
            raise ConfigError(
                f"scrub.{key} has an invalid regular expression {pattern!r} ({error})", "correct or remove it"
            ) from error
    return tuple(out)
