"""How fast scrubbing is on the text of real transcripts, on one core.

Usage: ``python -m benchmarks.bench_scrub [DIRECTORY]``; the directory defaults to ``../shared/fixtures``. Prints MB/s
(UTF-8 bytes by processor time, so that other load counts less) and the share of words redacted, for texts as turns
and outputs are (forty characters or more, with a space) and for every string in the files.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rekal.scrub import Rules, Scrubber, count_secrets


def strings(value: Any) -> Iterator[str]:
    """All strings inside a decoded JSON value, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def read(directory: Path) -> list[str]:
    """All strings of the JSON lines files under ``directory``; lines that do not parse are passed over."""
    out: list[str] = []
    for file in sorted(directory.rglob("*.jsonl")):
        for line in file.read_text(encoding="utf-8", errors="replace").split("\n"):
            try:
                out.extend(strings(json.loads(line)))
            except ValueError:
                continue
    return out


def measure(name: str, texts: list[str]) -> None:
    """Print one line of figures."""
    scrubber = Scrubber(Rules(homes=("/home/zelda", "/Users/zelda"), username="zelda", salt="bench"))
    size = sum(len(text.encode("utf-8", "replace")) for text in texts) / 1e6
    began = time.process_time()
    for text in texts:
        scrubber.text(text)
    taken = time.process_time() - began
    share = count_secrets(scrubber, texts).share
    print(f"{name}: {len(texts)} strings, {size:.1f} MB, {size / taken:.1f} MB/s, {share:.4%} of words redacted")


def main() -> None:
    """Measure the directory named on the command line."""
    default = Path(__file__).resolve().parents[2] / "shared" / "fixtures"
    texts = read(Path(sys.argv[1]) if len(sys.argv) > 1 else default)
    measure("texts", [text for text in texts if len(text) >= 40 and " " in text])
    measure("every string", texts)


if __name__ == "__main__":
    main()
