"""Files that are not UTF-8: an edit holds text, so their lines are compared as each encoding that may be theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_ENCODINGS = ("gb18030", "cp932", "euc_jp", "euc_kr", "big5", "cp1252", "latin-1", "cp1251", "koi8-r")
_WIDE = ("utf-16-le", "utf-16-be")


def is_foreign(line: str) -> bool:
    """True if a line, decoded as git's output is, holds bytes that are not UTF-8 text."""
    return "\0" in line or any("\ud800" <= char <= "\udfff" for char in line)


def list_encodings(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the encodings that the lines of a file may have, likeliest first; none when they are UTF-8."""
    if any("\0" in line for line in lines):
        return _WIDE
    return _ENCODINGS if any(map(is_foreign, lines)) else ()


def recode_lines(lines: Sequence[str], encoding: str) -> list[str] | None:
    """Return lines, decoded as git's output is, as text of another encoding; None where a line cannot be that."""
    try:
        return list(_recode(lines, encoding))
    except UnicodeError:
        return None


def _recode(lines: Sequence[str], encoding: str) -> Iterator[str]:
    for line in lines:
        data = line.encode("utf-8", "surrogateescape")
        # Git cuts UTF-16 in the middle of a line's end: its zero byte goes to the next line, or stays in front.
        if encoding == "utf-16-le" and len(data) % 2:
            data = data.removeprefix(b"\0")
        elif encoding == "utf-16-be" and len(data) % 2:
            data = data.removesuffix(b"\0")
        yield data.decode(encoding).removeprefix("\ufeff")
