"""What documents cost: reading text, a folder of which nothing changed, and a large mailbox in little memory.

    python -m benchmarks.bench_documents [--runs 3] [--mailbox-mib 1024]

Prints medians of the processor time of ``rekal ingest`` as a process of its own (vectors are made later, by the
worker), megabytes of text a second, and the most memory that the process held. Budgets: 5 MB/s, 2 s for 10,000 files
that did not change, 300 MB for a mailbox of a gigabyte.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

WORDS = [
    f"{a}{b}{c}" for a in ("ba", "ko", "ri", "ten", "qua", "los") for b in ("mi", "ra", "do", "lu") for c in "nsta"
]
FILES = 10_000


def ingest(folder: Path, home: Path, *args: str) -> tuple[float, int]:
    """Run ``rekal ingest``; its processor time in seconds and its peak of memory in bytes."""
    env = os.environ | {"HOME": str(home), "REKAL_DATA_HOME": str(home / "data"), "REKAL_EMBED_ENGINE": "off"}
    code = (
        "import resource, sys; from rekal.cli.main import run_command_line; "
        "code = run_command_line(sys.argv[1:]); used = resource.getrusage(resource.RUSAGE_SELF); "
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr); sys.exit(code)"
    )
    words = [sys.executable, "-c", code, "ingest", "--personal", *args, str(folder)]
    done = subprocess.run(words, cwd=home, env=env, capture_output=True, text=True, check=False)
    seconds, peak = done.stderr.split()[-2:]
    print("  ", done.stdout.splitlines()[0])
    return float(seconds), int(peak) * (1 if sys.platform == "darwin" else 1024)


def write_sentences(rng: random.Random, length: int) -> str:
    """Text of about ``length`` characters, in sentences and paragraphs."""
    parts: list[str] = []
    size = 0
    while size < length:
        sentence = " ".join(rng.choices(WORDS, k=rng.randint(6, 18))).capitalize() + "."
        parts.append(sentence + ("\n\n" if rng.random() < 0.15 else " "))
        size += len(sentence) + 1
    return "".join(parts)


def write_mailbox(path: Path, mebibytes: int) -> None:
    """A mailbox of which half is text and half attachments."""
    rng = random.Random(5)
    attachment = "\n".join("QUJD" * 19 for _ in range(600))
    with path.open("w", encoding="utf-8") as file:
        number = 0
        while file.tell() < mebibytes << 20:
            number += 1
            body = write_sentences(rng, 40_000) if number % 50 == 0 else write_sentences(rng, 2_000)
            file.write(
                f"From a@example.org Mon May 11 09:12:00 2026\nFrom: Ada <a@example.org>\nSubject: Topic {number}\n"
                f"Date: Mon, 11 May 2026 09:12:00 +0200\nMessage-ID: <m{number}@example.org>\nMIME-Version: 1.0\n"
                f'Content-Type: multipart/mixed; boundary="b"\n\n--b\nContent-Type: text/plain\n\n{body}\n'
                f"--b\nContent-Type: application/octet-stream\nContent-Transfer-Encoding: base64\n\n"
                f"{attachment if number % 12 == 0 else 'QUJD'}\n--b--\n\n"
            )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--mailbox-mib", type=int, default=1024)
    chosen = parser.parse_args()
    rng = random.Random(4)
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        text, many = root / "text", root / "many"
        text.mkdir()
        many.mkdir()
        for number in range(40):
            (text / f"{number}.md").write_text(write_sentences(rng, 500_000), encoding="utf-8")
        size = sum(path.stat().st_size for path in text.iterdir())
        first = []
        for _ in range(chosen.runs):
            shutil.rmtree(root / "home", ignore_errors=True)
            (root / "home").mkdir()
            first.append(ingest(text, root / "home")[0])
        print(f"text: {size / 1e6 / statistics.median(first):.1f} MB/s ({size / 1e6:.0f} MB)")
        for number in range(FILES):
            (many / f"{number}.md").write_text(f"# Note {number}\n\n{write_sentences(rng, 300)}\n", encoding="utf-8")
        ingest(many, root / "home")
        again = statistics.median(ingest(many, root / "home")[0] for _ in range(chosen.runs))
        print(f"{FILES} files, nothing changed: {again:.2f} s")
        write_mailbox(root / "in.mbox", chosen.mailbox_mib)
        seconds, peak = ingest(root / "in.mbox", root / "home")
        print(f"mailbox of {chosen.mailbox_mib} MiB: {seconds:.0f} s, at most {peak / 1e6:.0f} MB of memory")


if __name__ == "__main__":
    main()
