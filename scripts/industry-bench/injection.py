"""Measure how often a prompt is given something unasked on repositories of devrecall, by keywords or with vectors.

    PYTHONPATH=. python scripts/industry-bench/injection.py --data FOLDER [--most 400] [--vectors] [--repository NAME]

Off-domain prompts and chat want silence, answerable ones do not. Prints and writes ``runs/injection.json`` (shares)
and ``runs/injection.jsonl`` (ids, groups and what the cut looked at, no text).
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from devrecall import COMMIT_SIDE, read
from disk_stores import new_repository
from printed import write_store

from rekal.app.hosts.inject_context import FEWEST_WORDS, STRICTNESS, TOKENS
from rekal.config import Embed
from rekal.embed.base import Embedder
from rekal.embed.open import open_chosen
from rekal.index.dense import Dense, Meaning
from rekal.index.filters import Filters
from rekal.index.reader import open_index
from rekal.index.vectors import VectorFile, embed_missing, find_vectors
from rekal.recall.recall import Options, answer_question

HERE = Path(__file__).parent
_SEED = 5


def group_of(query: dict[str, Any]) -> str:
    """``off-domain``, ``chat``, ``answerable``, or empty for a query that is not asked here."""
    if query["store"] != "full":
        return ""
    if query["label"] != "INJECT":
        return {"off_domain": "off-domain", "chat": "chat"}.get(query.get("neg_group") or "", "")
    fits = query["kind"] in COMMIT_SIDE and not query["ambiguous"] and query["gold_grade"] >= 2
    return "answerable" if fits else ""


def ask_prompts(
    sessions: list[dict[str, Any]], prompts: dict[str, list[dict[str, Any]]], folder: Path, embedder: Embedder | None
) -> list[dict[str, Any]]:
    """Ask every prompt as the hook does it; a row each, with what the cut looked at."""
    layout = new_repository(folder)
    write_store(layout, sessions)
    options = Options(STRICTNESS, TOKENS["prompt"], 3, explain=True)
    rows = []
    if embedder is not None:
        embed_missing(layout.index, layout.vectors, embedder)
    with open_index(layout.index) as reader:
        meaning = None
        if embedder is not None and (path := find_vectors(layout.vectors, embedder.model_id)):
            meaning = Meaning(Dense(reader, VectorFile(path)), lambda: embedder)
        for group, asked in prompts.items():
            for query in asked:
                answer = answer_question(reader, query["text"], Filters(), options, meaning)
                seen = {name: value for name, value in answer.features.items() if isinstance(value, float)}
                given = answer.verdict == "INJECT" and len(query["text"].split()) >= FEWEST_WORDS
                rows.append(
                    {
                        "id": query["qid"], "repo": query["repo"], "group": group, "kind": query["kind"],
                        "words": len(query["text"].split()), "verdict": answer.verdict, "support": answer.support,
                        "uncovered": len(answer.uncovered), "given": given, "features": seen,
                    }
                )  # fmt: skip
    return rows


def share_given(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Number of prompts and the share that was given something, by store and group."""
    shares: dict[str, Any] = {}
    for store in sorted({row["store"] for row in rows}):
        for group in ("off-domain", "chat", "answerable"):
            mine = [row for row in rows if row["store"] == store and row["group"] == group]
            share = round(sum(row["given"] for row in mine) / max(1, len(mine)), 4)
            shares.setdefault(store, {})[group] = {"prompts": len(mine), "given": share}
    return shares


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with devrecall")
    parser.add_argument("--most", type=int, default=400, help="prompts of a group and repository at most")
    parser.add_argument("--repository", action="append", help="else the smallest and the largest")
    parser.add_argument("--vectors", action="store_true", help="with the default model")
    options = parser.parse_args()
    embedder = open_chosen(Embed()) if options.vectors else None
    sessions: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in read(options.data / "devrecall/sessions.jsonl.zst"):
        if one["turns"]:
            sessions[one["repo"]].append(one)
    by_group: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for query in read(options.data / "devrecall/queries.jsonl.zst"):
        if group := group_of(query):
            by_group[query["repo"], group].append(query)
    asked = [name for name in sessions if by_group.get((name, "off-domain"))]
    asked.sort(key=lambda name: sum(len(one["turns"]) for one in sessions[name]))
    rows = []
    for name in options.repository or [asked[0], asked[-1]]:
        draw = random.Random(_SEED)
        prompts = {}
        for group in ("off-domain", "chat", "answerable"):
            found = by_group.get((name, group), [])
            prompts[group] = found if len(found) <= options.most else draw.sample(found, options.most)
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            rows += [
                {**row, "store": name} for row in ask_prompts(sessions[name], prompts, Path(folder) / "store", embedder)
            ]
    shares = share_given(rows)
    print(json.dumps(shares, indent=1))
    stem = "injection-vectors" if options.vectors else "injection"
    (HERE / f"runs/{stem}.json").write_text(json.dumps(shares, indent=1) + "\n", encoding="utf-8")
    (HERE / f"runs/{stem}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
