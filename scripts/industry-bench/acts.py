"""Count what the reflexes of acts would propose in recorded transcripts: reverts, deleted branches, abandoned work.

    python scripts/industry-bench/acts.py --data FOLDER --transcripts FOLDER

The transcripts that the set of decisions names are laid out in a scratch home and captured by `rekal` as a user's own.
Their repositories are not at hand, so reverts, deleted branches and trailers are counted where the agents' commands
make them. Prints and writes ``runs/acts.json``: counts, and for abandoned work where each would be cited, no text.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.fixture_home import lay_out
from rekal.memory.abandoned import find_abandoned
from rekal.memory.reflexes import find_trailers
from rekal.model import Session
from rekal.store import queries
from rekal.store.ledger import open_ledger

HERE = Path(__file__).parent
_REVERT = re.compile(r"\bgit revert\b(?! --(abort|continue|skip))")
_DELETE = re.compile(r"\bgit branch (-D|--delete --force|-d)\b")


def capture_transcripts(names: set[str], transcripts: Path, base: Path) -> list[Session]:
    """The sessions of the transcripts ``names``, captured in a repository below ``base``."""
    chosen, home, root = base / "chosen", base / "home", base / "work"
    for name in names:
        (chosen / name).parent.mkdir(parents=True, exist_ok=True)
        (chosen / name).symlink_to(transcripts / name)
    root.mkdir()
    env = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home), "XDG_DATA_HOME": str(home / "data")}
    identity = ("-c", "user.name=Bench", "-c", "user.email=bench@example.com")
    git_calls: tuple[tuple[str, ...], ...] = (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "start"))
    for words in git_calls:
        subprocess.run(["git", *identity, *words], cwd=root, env=env, check=True, timeout=60)
    lay_out(chosen, home, root)
    calls: tuple[tuple[str, ...], ...] = (("init",), ("checkpoint", "--since", "20y"))
    for words in calls:
        subprocess.run([sys.executable, "-P", "-m", "rekal", *words], cwd=root, env=env, check=True, timeout=1800)
    with open_ledger(root / ".rekal" / "data.db", read_only=True) as ledger:
        ids = [str(row[0]) for row in ledger.con.execute("SELECT id FROM sessions ORDER BY id").fetchall()]
        return [one for name in ids if (one := queries.read_session(ledger.con, name)) is not None]


def count_acts(sessions: Sequence[Session]) -> dict[str, Any]:
    """Commands that the reflexes of acts answer to, and abandoned work with the turns it is read from."""
    commands = [call.command for one in sessions for call in one.tool_calls if call.command]
    return {
        "sessions": len(sessions),
        "commands": len(commands),
        "reverts": sum(bool(_REVERT.search(command)) for command in commands),
        "commands that delete branches": sum(bool(_DELETE.search(command)) for command in commands),
        "trailers": sum(len(find_trailers(command)) for command in commands),
        "abandoned": [f"{one.native_id}#{found.turn_seq}" for one in sessions for found in find_abandoned(one)],
    }


def main() -> int:
    """Count and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with decisions/decisions.jsonl")
    parser.add_argument("--transcripts", type=Path, required=True, help="folder with the transcripts that it names")
    options = parser.parse_args()
    rows = (options.data / "decisions" / "decisions.jsonl").read_text("utf-8").splitlines()
    labelled = [json.loads(line) for line in rows]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        sessions = capture_transcripts({row["file"] for row in labelled}, options.transcripts, Path(folder))
    found = {"labelled": sum(row["label"] != "none" for row in labelled), **count_acts(sessions)}
    print(json.dumps(found, indent=1))
    (HERE / "runs/acts.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
