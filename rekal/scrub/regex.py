"""Regular expressions that are compiled at their first use: most texts need few of them, many commands none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property

_Found = re.Match[str] | None


class Regex:
    """A pattern with the methods of :class:`re.Pattern` that scrubbing uses."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._pattern = pattern
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._pattern, self._flags)

    @cached_property
    def match(self) -> Callable[..., _Found]:
        """:meth:`re.Pattern.match`."""
        return self._compiled.match

    @cached_property
    def search(self) -> Callable[..., _Found]:
        """:meth:`re.Pattern.search`."""
        return self._compiled.search

    @cached_property
    def fullmatch(self) -> Callable[..., _Found]:
        """:meth:`re.Pattern.fullmatch`."""
        return self._compiled.fullmatch

    @cached_property
    def finditer(self) -> Callable[..., Iterator[re.Match[str]]]:
        """:meth:`re.Pattern.finditer`."""
        return self._compiled.finditer

    @cached_property
    def findall(self) -> Callable[..., list[str]]:
        """:meth:`re.Pattern.findall`, of a pattern with one group or none."""
        return self._compiled.findall

    @cached_property
    def split(self) -> Callable[..., list[str]]:
        """:meth:`re.Pattern.split`, of a pattern without groups."""
        return self._compiled.split

    @cached_property
    def sub(self) -> Callable[..., str]:
        """:meth:`re.Pattern.sub`."""
        return self._compiled.sub
