"""Ask an invented festival's notes, chat and mails: in a scratch folder, with a home of its own.

make demo-documents
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "festival"
QUESTIONS = (
    "why does the main stage stand on the east quay",
    "what did Marta say about the generator",
    "who helps with the clean-up",
    "when does the music end by the permit",
    "how do we rotate the certificates of the ingress",
)


def main() -> None:
    """Run the commands that a newcomer would type, and print them with their output."""
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch) / "home"
        home.mkdir()
        env = os.environ | {"HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "REKAL_EMBED_ENGINE": "off"}
        for args in (("ingest", "--personal", str(EXAMPLE)), *(("recall", question) for question in QUESTIONS)):
            said = " ".join(f'"{word}"' if " " in word else word for word in args).replace(str(EXAMPLE), "festival")
            print(f"$ rekal {said}", flush=True)
            done = subprocess.run([sys.executable, "-m", "rekal", *args], cwd=home, env=env, check=False)
            if done.returncode not in (0, 1):
                sys.exit(done.returncode)
            print(flush=True)


if __name__ == "__main__":
    main()
