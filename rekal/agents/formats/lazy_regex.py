"""Regular expressions compiled when first used.

The adapters have seventy, which take 60 ms to compile; a capture that finds nothing new needs three of them.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, AnyStr, Generic, cast


def lazy_pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """An expression that is compiled at its first use, and raises ``re.error`` there when it does not compile."""
    return cast("re.Pattern[AnyStr]", _Later(source, flags))


class _Later(Generic[AnyStr]):
    def __init__(self, source: AnyStr, flags: int) -> None:
        self._source: AnyStr = source
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[AnyStr]:
        return re.compile(self._source, self._flags)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._compiled, name)
        setattr(self, name, found)  # from the second use on it costs what it costs on the pattern itself
        return found
