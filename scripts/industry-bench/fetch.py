"""Download public sets to a folder that the benchmarks take as ``--data``. Nothing else here reaches the network.

    PYTHONPATH=. python scripts/industry-bench/fetch.py locomo|longmemeval|beam [...] --to FOLDER [--only FILE ...]

A file is kept only when its size, its sha256 (where known) and its shape are those expected; one that is there and
passes is not fetched again. BEAM is published as parquet and rewritten as the ``*.json.gz`` that ``beam.py`` reads.
Mind the licences (LoCoMo: CC BY-NC 4.0; BEAM: CC BY-SA 4.0; LongMemEval: MIT) and commit none of it.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import hashlib
import json
import sys
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Literal

import duckdb
import msgspec
from longmemeval import Entry, Unreadable, questions

Shape = Literal["locomo", "audit", "longmemeval", "beam"]
Opener = Callable[[str], AbstractContextManager[IO[bytes]]]

CHUNK = 1 << 20
MOST = 1 << 30  # bytes of a file whose size is not known beforehand


class Source(msgspec.Struct, frozen=True):
    """A file as published. ``size`` in bytes and ``sha256`` are None where nobody has stated them; ``only`` are the
    conversations kept of a BEAM file, all when empty.
    """

    file: str
    url: str
    shape: Shape
    size: int | None = None
    sha256: str | None = None
    only: tuple[str, ...] = ()


_LOCOMO = "https://raw.githubusercontent.com/snap-research/locomo/3eb6f2c585f5e1699204e3c3bdf7adc5c28cb376/data"
_AUDIT = "https://raw.githubusercontent.com/dial481/locomo-audit/main"
_HUB = "https://huggingface.co/datasets"
_LONGMEMEVAL = f"{_HUB}/xiaowu0162/longmemeval-cleaned/resolve/98d7416c24c778c2fee6e6f3006e7a073259d48f"
_BEAM = f"{_HUB}/Mohammadta/BEAM/resolve/3205395e897e7318c7b094ef4e6047b9b82dbb03/data"

SOURCES: dict[str, tuple[Source, ...]] = {
    "locomo": (
        Source(
            "locomo10.json",
            f"{_LOCOMO}/locomo10.json",
            "locomo",
            2_805_274,
            "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4",
        ),
        Source(
            "locomo-audit-errors.json",
            f"{_AUDIT}/errors.json",
            "audit",
            150_552,
            "f298ef46263fada20688a1d672be37d4f488c6da3b19343eea55ae5c1b5fe55e",
        ),
    ),
    "longmemeval": (
        Source(
            "longmemeval_oracle.json",
            f"{_LONGMEMEVAL}/longmemeval_oracle.json",
            "longmemeval",
            15_388_478,
            "821a2034d219ab45846873dd14c14f12cfe7776e73527a483f9dac095d38620c",
        ),
        Source(
            "longmemeval_s_cleaned.json",
            f"{_LONGMEMEVAL}/longmemeval_s_cleaned.json",
            "longmemeval",
            277_383_467,
            "d6f21ea9d60a0d56f34a05b609c79c88a451d2ae03597821ea3d5a9678c3a442",
        ),
    ),
    "beam": (
        Source("100K.parquet", f"{_BEAM}/100K-00000-of-00001.parquet", "beam"),
        # Two coding chats; beam.py takes every chat of this size for one.
        Source("500K.parquet", f"{_BEAM}/500K-00000-of-00001.parquet", "beam", only=("2", "4")),
    ),
}


class Unfit(Exception):
    """What arrived is not what was asked for; one sentence."""


def fetch(source: Source, folder: Path, opener: Opener = urllib.request.urlopen) -> str:
    """Bring one file into ``folder`` and say what was done. OSError when it cannot be had, Unfit when it is something
    else; then nothing of it stays.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / source.file
    told = "already there"
    if path.exists():
        check(path, source)
    else:
        _bring(source, path, opener)
        told = f"{path.stat().st_size} bytes"
    if source.shape == "beam":
        told += f", {unpack(path, source.only)} chats unpacked"
    return f"{path}: {told}"


def _bring(source: Source, path: Path, opener: Opener) -> None:
    part = path.with_name(f"{path.name}.part")
    try:
        _download(source, part, opener)
        check(part, source)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _download(source: Source, part: Path, opener: Opener) -> None:
    most = MOST if source.size is None else source.size
    got = 0
    with opener(source.url) as answer, part.open("wb") as file:
        while block := answer.read(CHUNK):
            got += len(block)
            if got > most:
                raise Unfit(f"{source.url} has more than the {most} bytes expected.")
            file.write(block)


def check(path: Path, source: Source) -> None:
    """Unfit unless size, sha256 and shape are as they should be."""
    size = path.stat().st_size
    if source.size is not None and size != source.size:
        raise Unfit(f"{path} has {size} bytes, not the {source.size} of {source.url}.")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if source.sha256 is not None and digest != source.sha256:
        raise Unfit(f"{path} has sha256 {digest}, not the {source.sha256} of {source.url}.")
    try:
        SHAPES[source.shape](path)
    except (Unreadable, msgspec.DecodeError, duckdb.Error) as error:
        raise Unfit(f"{path} does not have the shape of {source.shape}: {error}") from error


class Talk(msgspec.Struct):
    """A conversation of LoCoMo, as far as it is read."""

    sample_id: str
    conversation: dict[str, object]
    qa: list[dict[str, object]]


class Fault(msgspec.Struct):
    """An entry of LoCoMo's audit."""

    question_id: str
    error_type: str


def _of_longmemeval(path: Path) -> None:
    for raw in questions(path):
        msgspec.json.decode(raw, type=Entry)


def _of_json(kind: type[msgspec.Struct]) -> Callable[[Path], None]:
    def read(path: Path) -> None:
        msgspec.json.decode(path.read_bytes(), type=list[kind])  # type: ignore[valid-type]

    return read


def _of_parquet(path: Path) -> None:
    with duckdb.connect() as db:
        db.execute(f"SELECT {COLUMNS} FROM read_parquet(?) LIMIT 0", [str(path)])


COLUMNS = "conversation_id, conversation_seed, chat, probing_questions"
SHAPES: dict[Shape, Callable[[Path], None]] = {
    "locomo": _of_json(Talk),
    "audit": _of_json(Fault),
    "longmemeval": _of_longmemeval,
    "beam": _of_parquet,
}


def unpack(path: Path, only: Sequence[str] = ()) -> int:
    """Write each chat of a BEAM file beside it as ``<size>_<number>.json.gz``; how many. The published questions are a
    Python literal. One that cannot be read is told and left out.
    """
    with duckdb.connect() as db:
        rows = db.execute(f"SELECT {COLUMNS} FROM read_parquet(?)", [str(path)]).fetchall()
    written = 0
    for number, topic, chat, probes in rows:
        if only and str(number) not in only:
            continue
        try:
            asked = ast.literal_eval(probes)
        except (ValueError, SyntaxError) as error:
            print(f"{path}: chat {number} left out: its questions are no Python literal: {error}", file=sys.stderr)
            continue
        record = {"split": path.stem, "i": number, "chat": chat, "q": asked, "topic": topic}
        text = json.dumps(record, ensure_ascii=False, default=str)
        path.with_name(f"{path.stem}_{number}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        written += 1
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("sets", nargs="+", choices=sorted(SOURCES))
    parser.add_argument("--to", type=Path, required=True, help="each set gets a folder of its name in it")
    parser.add_argument("--only", nargs="+", default=[], metavar="FILE", help="of a set's files these alone")
    given = parser.parse_args()
    wanted = [(name, source) for name in given.sets for source in SOURCES[name]]
    if unknown := set(given.only) - {source.file for _, source in wanted}:
        parser.error(f"no such file: {', '.join(sorted(unknown))}")
    failed = False
    for name, source in wanted:
        if given.only and source.file not in given.only:
            continue
        try:
            print(fetch(source, given.to / name))
        except (OSError, Unfit) as error:
            failed = True
            print(f"{source.file} of {name}: {error}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
