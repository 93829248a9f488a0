"""A payload is one MessagePack array of columns: this writes and reads the columns.

Records of one kind are transposed, so that the compressor sees like beside like: all texts in one run, small numbers
together, what is incompressible apart. Strings that repeat go through the payload's table of names and are numbers
afterwards. A reader takes the columns in the order they were written; what is left over was written by a later version.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import msgspec

from rekal.wire import limits
from rekal.wire.limits import MAX_COLUMNS, MAX_ITEMS, MAX_NAME, MAX_SEQ, Damaged, SkipReason, Tally

Value = TypeVar("Value")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_UNITS = (1_000_000, 1_000, 1)
_WIDEST = 1 << 62
_BYTES_AN_ENTRY = 16  # of a byte string: an id, or some line hashes, which cost less each
_BLOBS = (0xC4, 0xC5, 0xC6)  # how a MessagePack byte string begins

_RAWS = msgspec.msgpack.Decoder(list[msgspec.Raw])
_INTS = msgspec.msgpack.Decoder(list[int])
_MAYBE_INTS = msgspec.msgpack.Decoder(list[int | None])
_KEYS = msgspec.msgpack.Decoder(list[bytes | None])
_TEXT = msgspec.msgpack.Decoder(str)
_BLOB = msgspec.msgpack.Decoder(bytes)
_COUNT = msgspec.msgpack.Decoder(int)


def to_micros(when: datetime | None) -> int | None:
    """Microseconds since 1970 of an aware time. Raises ValueError for a naive one."""
    if when is None:
        return None
    if when.tzinfo is None:
        raise ValueError("a time without a zone")
    return (when - _EPOCH) // _MICROSECOND


def to_time(micros: int | None) -> datetime | None:
    """The reverse of :func:`to_micros`. Raises :class:`Damaged` outside the years 1 to 9999."""
    if micros is None:
        return None
    try:
        return _EPOCH + timedelta(microseconds=micros)
    except OverflowError as error:
        raise Damaged(SkipReason.DAMAGED, "a time outside the calendar") from error


def require_all(values: Sequence[Value | None]) -> list[Value]:
    """``values`` where none may be missing. Raises :class:`Damaged` when one is."""
    out = [value for value in values if value is not None]
    if len(out) != len(values):
        raise Damaged(SkipReason.DAMAGED, "a value is missing")
    return out


class ColumnWriter:
    """Collects the columns of one payload, for ``count`` records."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._table: dict[str, int] = {}
        self._columns: list[object] = []

    def ints(self, values: Sequence[int | None], low: int = 0, high: int = MAX_SEQ) -> None:
        """One column of numbers. Raises ValueError outside ``low`` to ``high`` or with too many of them."""
        if len(values) > MAX_ITEMS:
            raise ValueError(f"{len(values)} entries in one column")
        if any(value is not None and not low <= value <= high for value in values):
            raise ValueError(f"a number outside {low} to {high}")
        self._columns.append(values)

    def steps(self, values: Iterable[int]) -> None:
        """Numbers that mostly grow by one, each as its distance from that."""
        out, expected = [], 0
        for value in values:
            if not -1 <= value <= MAX_SEQ:
                raise ValueError(f"place {value} in a session")
            out.append(value - expected)
            expected = value + 1
        self.ints(out, -_WIDEST, _WIDEST)

    def choices(self, values: Iterable[str | None], allowed: Sequence[str | None]) -> None:
        """Values of a closed set, as places in ``allowed``."""
        self.ints([allowed.index(value) for value in values])

    def names(self, values: Iterable[str | None]) -> None:
        """Strings that repeat: 0 for None, else one more than the place in the table."""
        table = self._table
        self.ints(
            [0 if value is None else table.setdefault(limits.clip_name(value), len(table)) + 1 for value in values]
        )

    def texts(self, values: Iterable[str | None]) -> None:
        """Two columns: all texts in one run, and the length of each plus one, 0 for None."""
        cleaned = [None if value is None else limits.clean_wire_text(value) for value in values]
        self._columns.append("".join(text for text in cleaned if text))
        self.ints([0 if text is None else len(text) + 1 for text in cleaned])

    def keys(self, values: Iterable[str | None]) -> None:
        """Ids and hashes: one run of 16 bytes each where all are ids, else one by one."""
        known = list(values)
        if len(known) > MAX_ITEMS:
            raise ValueError(f"{len(known)} entries in one column")
        if all(map(limits.is_id, known)):
            self.blob(b"".join(limits.pack_id(key) for key in known if key))
        else:
            self._columns.append([limits.pack_key(key) for key in known])

    def blob(self, data: bytes) -> None:
        """Bytes as they are."""
        self._columns.append(data)

    def micros(self, values: Sequence[int | None], bases: Sequence[int | None]) -> None:
        """Times: the unit in microseconds, then each as its distance from its base, else from the time before it."""
        known = [value for value in values if value is not None]
        unit = next(unit for unit in _UNITS if all(value % unit == 0 for value in known))
        out: list[int | None] = [unit]
        last = 0
        for value, base in zip(values, bases, strict=True):
            last = last if base is None else base // unit
            out.append(None if value is None else value // unit - last)
            last = last if value is None else value // unit
        self.ints(out, -_WIDEST, _WIDEST)

    def times(self, values: Sequence[datetime | None]) -> None:
        """Times, each as its distance from the one before it."""
        self.micros([to_micros(value) for value in values], [None] * len(values))

    def payload(self) -> bytes:
        """The MessagePack array: count of records, the table of names as text and lengths, then the columns."""
        names = list(self._table)
        table = ["".join(names), [len(name) for name in names]]
        return msgspec.msgpack.encode([self._count, *table, *self._columns])


def _array_length(raw: bytes) -> int:
    first = raw[0] if raw else 0
    if 0x90 <= first <= 0x9F:
        return first & 15
    if first in (0xDC, 0xDD):
        return int.from_bytes(raw[1 : 3 if first == 0xDC else 5], "big")
    raise Damaged(SkipReason.DAMAGED, "a column that is not an array")


def _cut_column(text: str, lengths: Iterable[int | None]) -> list[str | None]:
    out: list[str | None] = []
    at = 0
    for length in lengths:
        if length is None:
            out.append(None)
        else:
            out.append(text[at : at + length])
            at += length
    if at != len(text):
        raise Damaged(SkipReason.DAMAGED, "lengths that do not add up to their text")
    return out


class ColumnReader:
    """Takes the columns of one payload in order. Raises :class:`Damaged` for anything that is not as written."""

    def __init__(self, payload: bytes, tally: Tally) -> None:
        self.tally = tally
        if _array_length(payload) > MAX_COLUMNS:
            raise Damaged(SkipReason.BOMB, "too many columns")
        self._raws = _decode_column(_RAWS, payload)
        self._next = 0
        self.count = _decode_column(_COUNT, self._take())
        if not 0 <= self.count <= MAX_ITEMS:
            raise Damaged(SkipReason.BOMB, "too many records")
        self._table = self._names()

    def _take(self) -> bytes:
        if self._next >= len(self._raws):
            raise Damaged(SkipReason.DAMAGED, "a column is missing")
        self._next += 1
        return memoryview(self._raws[self._next - 1]).tobytes()

    def _list(self, count: int | None) -> bytes:
        # The length is compared before the list of that length comes into being.
        raw = self._take()
        length = _array_length(raw)
        if length > MAX_ITEMS:
            raise Damaged(SkipReason.BOMB, "too many entries in a column")
        if count is not None and length != count:
            raise Damaged(SkipReason.DAMAGED, f"{length} entries instead of {count}")
        self.tally.entries += length
        return raw

    def _names(self) -> list[str]:
        text = limits.clean_wire_text(_decode_column(_TEXT, self._take()))
        lengths = _decode_column(_INTS, self._list(None))
        if lengths and min(lengths) < 0:
            raise Damaged(SkipReason.DAMAGED, "a negative length")
        names = [name for name in _cut_column(text, lengths) if name is not None]
        self.tally.skip(SkipReason.LONG_NAME, sum(len(name) > MAX_NAME for name in names))
        return [limits.clip_name(name) for name in names]

    def ints(self, count: int, low: int = 0, high: int = MAX_SEQ) -> list[int]:
        """A column of ``count`` numbers from ``low`` to ``high``."""
        values = _decode_column(_INTS, self._list(count))
        if values and (min(values) < low or max(values) > high):
            raise Damaged(SkipReason.DAMAGED, f"a number outside {low} to {high}")
        return values

    def maybe_ints(self, count: int, low: int = 0, high: int = MAX_SEQ) -> list[int | None]:
        """A column of ``count`` numbers from ``low`` to ``high`` or None."""
        values = _decode_column(_MAYBE_INTS, self._list(count))
        if any(value is not None and not low <= value <= high for value in values):
            raise Damaged(SkipReason.DAMAGED, f"a number outside {low} to {high}")
        return values

    def steps(self, count: int) -> list[int]:
        """Places in a session, -1 included."""
        out, expected = [], 0
        for step in self.ints(count, -_WIDEST, _WIDEST):
            value = expected + step
            if not -1 <= value <= MAX_SEQ:
                raise Damaged(SkipReason.DAMAGED, f"place {value} in a session")
            out.append(value)
            expected = value + 1
        return out

    def choices(self, count: int, allowed: Sequence[Value]) -> list[Value | None]:
        """Values of a closed set; None, counted, for one that a later version added."""
        places = self.ints(count)
        self.tally.skip(SkipReason.UNKNOWN_VALUE, sum(place >= len(allowed) for place in places))
        return [allowed[place] if place < len(allowed) else None for place in places]

    def names(self, count: int) -> list[str | None]:
        """Strings of the table, or None."""
        table: list[str | None] = [None, *self._table]
        return [table[i] for i in self.ints(count, 0, len(self._table))]

    def texts(self, count: int) -> list[str | None]:
        """Texts, or None."""
        text = limits.clean_wire_text(_decode_column(_TEXT, self._take()))
        return _cut_column(text, [length - 1 if length else None for length in self.ints(count)])

    def keys(self, count: int) -> list[str | None]:
        """Ids and hashes, or None."""
        if self._next < len(self._raws) and memoryview(self._raws[self._next])[0] in _BLOBS:
            return list(limits.unpack_ids(self.blob(16 * count)))
        return [limits.unpack_key(key) for key in _decode_column(_KEYS, self._list(count))]

    def blob(self, size: int) -> bytes:
        """Exactly ``size`` bytes."""
        data = _decode_column(_BLOB, self._take())
        if len(data) != size:
            raise Damaged(SkipReason.DAMAGED, f"{len(data)} bytes instead of {size}")
        self.tally.entries += size // _BYTES_AN_ENTRY
        return data

    def micros(self, count: int, bases: Sequence[int | None]) -> list[int | None]:
        """Times in microseconds since 1970, the reverse of :meth:`ColumnWriter.micros`."""
        unit, *steps = self.maybe_ints(count + 1, -_WIDEST, _WIDEST)
        if unit not in _UNITS:
            raise Damaged(SkipReason.DAMAGED, "an unknown unit of time")
        out: list[int | None] = []
        last = 0
        for step, base in zip(steps, bases, strict=True):
            last = last if base is None else base // unit
            last = last if step is None else last + step
            out.append(None if step is None else last * unit)
        return out

    def times(self, count: int) -> list[datetime | None]:
        """Times, or None."""
        return [to_time(value) for value in self.micros(count, [None] * count)]

    def close(self) -> None:
        """Count the columns that this version does not know."""
        self.tally.skip(SkipReason.UNKNOWN_FIELD, len(self._raws) - self._next)


def _decode_column(decoder: msgspec.msgpack.Decoder[Value], raw: bytes) -> Value:
    try:
        return decoder.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Damaged(SkipReason.DAMAGED, "a column that does not decode") from error
