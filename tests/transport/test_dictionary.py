"""The packaged dictionary is the one that its script trains, and it earns its place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from rekal.wire.frames import LEVEL, load_dictionary, read_frames
from rekal.wire.limits import Tally
from rekal.wire.segment import encode_segments
from tests.transport import wire_records as wire

ROOT = Path(__file__).resolve().parents[2]


def test_it_has_at_most_thirty_two_kilobytes() -> None:
    assert len(load_dictionary().as_bytes()) <= 32 << 10


def test_it_saves_a_tenth_of_a_small_commit() -> None:
    (segment,) = encode_segments(wire.COMMIT, together=0)
    payloads = [frame.payload for frame in read_frames(segment.data, range(1, 8), Tally())]
    plain = zstandard.ZstdCompressor(level=LEVEL, write_content_size=False)

    without = sum(min(len(plain.compress(payload)), len(payload)) for payload in payloads)

    assert len(segment.data) < 0.9 * without


@pytest.mark.soak
@pytest.mark.skipif(zstandard.ZSTD_VERSION != (1, 5, 7), reason="another zstd trains another dictionary")
def test_training_again_gives_the_same_bytes() -> None:
    script = ROOT / "scripts" / "train_dictionary.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check"], cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, check=False
    )
    assert done.returncode == 0
