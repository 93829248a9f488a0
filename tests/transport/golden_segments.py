"""Segments that every later version must read, and the worked example of ``docs/wire-format.md``.

    python -m tests.transport.golden_segments

writes both anew. That is right for a new format only: a golden segment of a released format never changes.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from rekal.wire.frames import HEADER, Packer, read_frames
from rekal.wire.limits import Tally
from rekal.wire.segment import REWRITE, encode_segments
from tests.transport import wire_records as wire

GOLDEN = Path(__file__).with_name("golden")
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "wire-format.md"
START, END = "<!-- example -->\n", "<!-- end of example -->\n"


def commit() -> bytes:
    """One small commit: a record of each kind."""
    (segment,) = encode_segments(wire.COMMIT)
    return segment.data


def later() -> bytes:
    """What a later version of the same format may write: a new frame type, a new field, a new value."""
    packer = Packer()
    sha, other = b"\x03" + bytes.fromhex(wire.SHA), b"\x03" + bytes.fromhex(wire.OTHER_SHA)
    payload = msgspec.msgpack.encode([2, "", [], [sha, sha], [other, other], [2, 77], ["a new field", None]])
    return HEADER + packer.pack(40, b"a new type").data + packer.pack(REWRITE, payload).data


def example() -> str:
    """The bytes of a segment with one rewrite, taken apart line by line."""
    (segment,) = encode_segments([wire.REWRITE])
    (frame,) = read_frames(segment.data, range(1, 8), Tally())
    data, start = segment.data, len(segment.data) - len(frame.payload)
    fields = [
        (data[:3], "`RKL`"),
        (data[3:4], f"format {data[3]}"),
        (data[4:5], "segment flags: none"),
        (data[5:6], "frame type 5: rewrites"),
        (data[6:7], "frame flags: 1, stored as it is, since zstd makes it no smaller"),
        (data[7:8], f"{data[7]} bytes follow the checksum"),
        (data[8:9], f"{data[8]} bytes uncompressed"),
        (data[9:17], "checksum: BLAKE2b-64 of the 4 bytes before and the payload"),
        (data[start : start + 1], "MessagePack array of 6"),
        (data[start + 1 : start + 2], "1 record"),
        (data[start + 2 : start + 3], "names: no text"),
        (data[start + 3 : start + 4], "names: no lengths"),
        (data[start + 4 : start + 8], "old commits: array of 1, 21 bytes, 03: a hexadecimal hash"),
        (data[start + 8 : start + 28], wire.SHA),
        (data[start + 28 : start + 32], "new commits: the same"),
        (data[start + 32 : start + 52], wire.OTHER_SHA),
        (data[start + 52 :], "how: array of 1, place 0 in the list: amend"),
    ]
    assert b"".join(part for part, _ in fields) == data
    lines = "".join(f"{part.hex():<40}  {meaning}\n" for part, meaning in fields)
    return f"```\n{lines}```\n\nIts name is `{segment.name}`.\n"


def documented() -> str:
    """The example as the document has it."""
    return DOCUMENT.read_text(encoding="utf-8").partition(START)[2].partition(END)[0]


SEGMENTS = {"format-2-commit.rkl": commit, "format-2-later.rkl": later}
EARLIER = {"format-1-commit.rkl", "format-1-later.rkl"}  # read only

if __name__ == "__main__":
    for name, make in SEGMENTS.items():
        (GOLDEN / name).write_bytes(make())
    text = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(text.replace(documented(), example()), encoding="utf-8")
