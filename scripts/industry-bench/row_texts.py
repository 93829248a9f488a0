"""Rows that ``rekal recall`` prints: narration, very short ones, size of an answer, and evidence among them.

    python scripts/industry-bench/row_texts.py --data FOLDER --stores STORES [--every 4]

STORES are those that ``command.py build`` makes; stores that are not there are left out. The command runs in this
process. Evidence is LoCoMo's, over the questions that get an answer; sizes and rows are of real sessions and of talk.
"""

from __future__ import annotations

import argparse
import io
import json
import os
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from command import settings
from devrecall import read
from disk_stores import answerable_queries, ids_of, store_name
from locomo import CATEGORIES, evidence, left_out, talk_turns

from rekal.app.resources import kept_between_commands
from rekal.cli.main import run_command_line
from rekal.cli.verbs.recall import answer_lines
from rekal.reasons.sentence_kind import is_narration
from rekal.recall.answer import Answer

SHORT = 40  # characters


class Shown(msgspec.Struct, frozen=True):
    """One answer that was printed: its characters, its rows' texts, and whether evidence is among them (None: talk has
    it, code does not).
    """

    characters: int
    rows: list[str]
    evidence: bool | None


def ask(store: Path, text: str, gold: set[tuple[str, int]] | None) -> Shown | None:
    """Ask one question; None where nothing was shown."""
    os.chdir(store)
    printed = io.StringIO()
    with redirect_stdout(printed):
        run_command_line(["recall", "--json", "--", text])
    answer = msgspec.json.decode(printed.getvalue().splitlines()[-1], type=Answer)
    if not answer.sessions:
        return None
    characters = sum(len(line) + 1 for line in answer_lines(answer, explain=False))
    turns = {(hit.session_id, row.seq) for hit in answer.sessions for row in hit.rows}
    rows = [row.text for hit in answer.sessions for row in hit.rows]
    return Shown(characters, rows, None if gold is None else bool(gold & turns))


def ask_talk(data: Path, stores: Path, every: int) -> Iterator[Shown | None]:
    audit = json.loads((data / "locomo/locomo-audit-errors.json").read_text())
    bad = left_out(audit, 0)
    for number, record in enumerate(json.loads((data / "locomo/locomo10.json").read_text())):
        store = stores / f"talk--{record['sample_id']}"
        if not store.exists():
            continue
        ids = ids_of(store)
        numbers: dict[str, int] = {}
        places: list[tuple[str, int]] = []
        for turn, session, _ in talk_turns(record["conversation"]):
            numbers[turn["dia_id"]] = len(places)
            name = ids[f"{record['sample_id']}:{session}"]
            places.append((name, sum(one == name for one, _ in places)))
        for at, question in list(enumerate(record["qa"]))[number % every :: every]:
            gold = {places[one] for one in evidence(question, numbers)}
            if (number, at) not in bad and gold and CATEGORIES[question["category"]] != "adversarial":
                yield ask(store, question["question"], gold)


def ask_code(data: Path, stores: Path, every: int) -> Iterator[Shown | None]:
    queries = answerable_queries(read(data / "devrecall/queries.jsonl.zst"))
    for query in queries[::every]:
        store = stores / store_name(query["repo"])
        if store.exists():
            yield ask(store, query["text"], None)


def summarise(shown: list[Shown]) -> dict[str, Any]:
    rows = [row for one in shown for row in one.rows]
    tokens = [one.characters / 4 for one in shown]
    found: dict[str, Any] = {
        "answers": len(shown),
        "rows": len(rows),
        "narration": round(float(np.mean([is_narration(row) for row in rows])), 3),
        f"at most {SHORT} characters": round(float(np.mean([len(row) <= SHORT for row in rows])), 3),
        "tokens, median": round(float(np.median(tokens))),
        "tokens, 95 %": round(float(np.quantile(tokens, 0.95))),
    }
    with_evidence = [one.evidence for one in shown if one.evidence is not None]
    if with_evidence:
        found["evidence among the rows"] = round(float(np.mean(with_evidence)), 3)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True, help="folder with devrecall/ and locomo/")
    parser.add_argument("--stores", type=Path, required=True, help="folder of the stores")
    parser.add_argument("--every", type=int, default=1, help="ask every n-th question")
    given = parser.parse_args()
    data, stores = given.data.resolve(), given.stores.resolve()
    found = {}
    with settings(None, False), kept_between_commands():
        for name, asked in (("code", ask_code), ("talk", ask_talk)):
            shown = [one for one in asked(data, stores, given.every) if one]
            if shown:
                found[name] = summarise(shown)
    text = json.dumps(found, indent=1)
    (Path(__file__).parent / "runs/row_texts.json").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
