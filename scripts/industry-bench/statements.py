"""Score the reflex that proposes memories from what people say, on labelled turns of real transcripts.

    python scripts/industry-bench/statements.py --data FOLDER --transcripts FOLDER

Prints and writes ``runs/statements.json``. The set's own reader finds a turn by its line. A proposal is right when its
turn is labelled a decision, a dead end or a preference; "labelled" counts those that agents said too.
"""

from __future__ import annotations

import argparse
import json
import runpy
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from rekal.memory.reflexes import find_statements

HERE = Path(__file__).parent


def read_turns(folder: Path, transcripts: Path, names: set[str]) -> dict[tuple[str, int], str]:
    """Texts of people's turns by file and line."""
    rows = runpy.run_path(str(folder / "transcripts.py"))["rows"]
    found: dict[tuple[str, int], str] = {}
    for name in sorted(names):
        for row in rows(str(transcripts / name)):
            if row["role"] != "assistant":
                found.setdefault((name, row["line"]), row["text"])
    return found


def measure(folder: Path, transcripts: Path) -> dict[str, Any]:
    """Precision, and proposals by labelled statement."""
    labelled = [json.loads(line) for line in (folder / "decisions.jsonl").read_text("utf-8").splitlines()]
    turns = read_turns(folder, transcripts, {row["file"] for row in labelled})
    asked = [row for row in labelled if row["selection"] == "human_turns"]
    proposed = [row for row in asked if find_statements(turns[row["file"], row["line"]])]
    labels = Counter(row["label"] for row in proposed)
    right = len(proposed) - labels["none"]
    wanted = sum(row["label"] != "none" for row in labelled)
    return {
        "turns of people": len(asked),
        "labelled decisions, dead ends and preferences": wanted,
        "proposals": len(proposed),
        "precision": round(right / max(1, len(proposed)), 3),
        "proposals by labelled": round(len(proposed) / wanted, 3),
        "recall among people's turns": round(right / sum(row["label"] != "none" for row in asked), 3),
        "labels of proposals": dict(sorted(labels.items())),
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with decisions/decisions.jsonl")
    parser.add_argument("--transcripts", type=Path, required=True, help="folder with the transcripts that it names")
    options = parser.parse_args()
    found = measure(options.data / "decisions", options.transcripts)
    print(json.dumps(found, indent=1))
    (HERE / "runs/statements.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
