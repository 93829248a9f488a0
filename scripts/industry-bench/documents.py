"""LoCoMo as documents: each conversation is a JSON file of messages with their senders, ingested and asked by command.

    python scripts/industry-bench/documents.py --data FOLDER --to STORES [--every 4] [--strictness 0.2]

Ingests and embeds what STORES lacks, then asks ``rekal recall --json`` in this process as it would run in the daemon.
Prints shares of verdicts of the answerable and of the adversarial questions, and how often the right session is among
the first five shown.
"""

from __future__ import annotations

import argparse
import io
import json
import os
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
from command import settings
from disk_stores import new_repository
from locomo import CATEGORIES, evidence, left_out, talk_turns

from rekal.app.resources import kept_between_commands
from rekal.cli.main import run_command_line


def write_messages(record: dict[str, Any], path: Path) -> None:
    """Write a conversation as an array of messages, one thread a session."""
    messages = []
    for turn, session, at in talk_turns(record["conversation"]):
        caption = f" [photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
        said = {"id": turn["dia_id"], "from": turn["speaker"], "text": turn["text"] + caption}
        messages.append({**said, "ts": at.isoformat(), "thread": f"session {session + 1}"})
    path.write_text(json.dumps(messages), encoding="utf-8")


def run_quietly(*args: str) -> str:
    printed = io.StringIO()
    with redirect_stdout(printed):
        run_command_line(args)
    return printed.getvalue()


def build(records: list[dict[str, Any]], folder: Path) -> None:
    """Make a repository a conversation, with its documents ingested and embedded."""
    for record in records:
        store = folder / record["sample_id"]
        if not (store / ".rekal/documents").exists():
            new_repository(store)
            os.chdir(store)
            run_quietly("init", "--backfill", "0")
            write_messages(record, store / "talk.json")
            run_quietly("ingest", "talk.json")
        os.chdir(store)
        run_quietly("embed")  # makes what is missing


def ask(folder: Path, record: dict[str, Any], question: dict[str, Any], options: list[str]) -> dict[str, Any]:
    """Ask one question; the sessions shown are named by the messages' ids, ``D<session>:<turn>``."""
    os.chdir(folder / record["sample_id"])
    answer = json.loads(run_quietly("recall", "--json", *options, "--", question["question"]).splitlines()[-1])
    shown = [row["place"].split(":")[0] for row in answer.get("documents") or ()]
    return {"verdict": answer["verdict"], "reason": answer["reason"], "shown": list(dict.fromkeys(shown))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--strictness", type=float)
    parser.add_argument("--recall", default="", help="options of rekal recall, as one word")
    chosen = parser.parse_args()
    data, folder = chosen.data.resolve(), chosen.to.resolve()
    records = json.loads((data / "locomo/locomo10.json").read_text())
    audit = json.loads((data / "locomo/locomo-audit-errors.json").read_text())
    faulty = left_out(audit, 0)
    answerable, adversarial = [], []
    with settings(chosen.strictness, keywords=False), kept_between_commands():
        build(records, folder)
        for number, record in enumerate(records):
            ids = {turn["dia_id"]: at for at, (turn, _, _) in enumerate(talk_turns(record["conversation"]))}
            sessions = [session for _, session, _ in talk_turns(record["conversation"])]
            for at, question in list(enumerate(record["qa"]))[:: chosen.every]:
                if (number, at) in faulty:
                    continue
                found = ask(folder, record, question, chosen.recall.split())
                if CATEGORIES[question["category"]] == "adversarial":
                    adversarial.append(found["verdict"] == "SILENCE")
                    continue
                gold = {f"D{sessions[turn] + 1}" for turn in evidence(question, ids)}
                if gold:
                    answerable.append((found["verdict"] == "INJECT", bool(gold & set(found["shown"][:5]))))
    inject, within = np.mean(np.array(answerable, float), axis=0)
    print(f"answerable {len(answerable)}: INJECT {inject:.3f}, right session among five {within:.3f}")
    print(f"adversarial {len(adversarial)}: SILENCE {np.mean(adversarial):.3f}")


if __name__ == "__main__":
    main()
