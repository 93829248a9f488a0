"""Whole recalls of the shipped program on devrecall: what they cost, and what they print.

    python scripts/industry-bench/printed.py --data FOLDER [--cache FOLDER] [--every 8]

Each repository becomes a store on disk with a real index and vectors; every eighth question is asked of it in this
process, with the weights that are shipped. Those were trained on these repositories: the verdicts only show that the
program does what the benchmark measures, the cost is what it is. Prints and writes ``runs/printed.json``.
"""

from __future__ import annotations

import argparse
import io
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from devrecall import COMMIT_SIDE, read
from vectors import VectorCache

from rekal.cli.output import print_record
from rekal.cli.verbs.recall import answer_lines
from rekal.embed.base import Embedder, Vectors
from rekal.embed.open import open_local
from rekal.ids import derive
from rekal.index.build import update_index
from rekal.index.dense import Dense, Meaning
from rekal.index.filters import NO_FILTERS
from rekal.index.reader import IndexReader, open_index
from rekal.index.vectors import VectorFile, embed_missing, path_for
from rekal.recall.recall import Options, answer_question
from rekal.store.database import insert_rows
from rekal.store.layout import Layout
from rekal.store.ledger import open_ledger

STRICTNESS = Options().strictness
TOKENS_A_WORD = 1.35


class Asked(msgspec.Struct, frozen=True):
    """One question: wanted and given verdict, milliseconds of processor and of wall clock, tokens printed."""

    wanted: str
    verdict: str
    found: bool
    cpu_ms: float
    wall_ms: float
    tokens: float


class Cached:
    """The default model behind the benchmark's cache of vectors, for texts that are stored."""

    def __init__(self, cache: VectorCache, model: Embedder) -> None:
        self._cache, self.model_id, self.dim = cache, model.model_id, model.dim

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._cache(texts)

    def embed_query(self, text: str) -> Vectors:
        row: Vectors = self._cache([text])[0]
        return row

    def close(self) -> None:
        """Nothing is open."""


Rows = list[tuple[object, ...]]


def session_rows(one: dict[str, Any], session: str, pos: int) -> tuple[Rows, Rows, Rows]:
    """Rows of a session, of its turns and of the calls by which it edited files."""
    at = datetime.fromisoformat(one["started_at"])
    who = ("developer", "developer@example.com", "local", None, ".", None, one["title"])
    head = (session, one["agent"], one["session_id"], None, None, "human", None, None, None, *who, at, at, pos)
    turns: Rows = [
        (session, turn["seq"], derive("turn", session, str(turn["seq"])), turn["role"], turn["text"], at, at, None, pos)
        for turn in one["turns"]
    ]
    calls: Rows = [
        (session, seq, derive("call", session, str(seq)), 0, "Edit", path, None, "ok", None, at, pos)
        for seq, path in enumerate(one["files"])
    ]
    return [head], turns, calls


def write_store(layout: Layout, sessions: Sequence[dict[str, Any]]) -> dict[str, str]:
    """A data.db of a repository's sessions, indexed; their native ids by ours."""
    layout.create()
    native = {derive("session", one["session_id"]): one for one in sessions}
    with open_ledger(layout.data, read_only=False, create=True) as ledger, ledger.transaction():
        made = [session_rows(one, session, ledger.pos) for session, one in native.items()]
        for table, rows in zip(("sessions", "turns", "tool_calls"), zip(*made, strict=True), strict=True):
            insert_rows(ledger.con, table, [row for some in rows for row in some])
    with open_ledger(layout.data, read_only=True) as ledger:
        update_index(ledger, layout.index)
    layout.vectors.mkdir()
    return {session: one["session_id"] for session, one in native.items()}


def ask(reader: IndexReader, meaning: Meaning, native: dict[str, str], query: dict[str, Any]) -> Asked:
    printed = io.StringIO()
    cpu, wall = time.process_time(), time.perf_counter()
    answer = answer_question(reader, query["text"], NO_FILTERS, Options(strictness=STRICTNESS), meaning)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    with redirect_stdout(printed):
        print_record(answer, False, lambda shown: answer_lines(shown, explain=False))
    gold = set(query.get("gold") or [])
    found = any(native[hit.session_id] in gold for hit in answer.sessions)
    tokens = len(printed.getvalue().split()) * TOKENS_A_WORD
    return Asked(query["label"], answer.verdict, found, cpu * 1000, wall * 1000, tokens)


def spread(values: Sequence[float]) -> dict[str, float]:
    if not values:
        return {}
    return {"mean": round(float(np.mean(values)), 1)} | {
        f"p{at}": round(float(np.quantile(values, at / 100)), 1) for at in (50, 95)
    }


def summary(asked: Sequence[Asked]) -> dict[str, Any]:
    """Cost of all; what was printed by what was wanted."""
    found: dict[str, Any] = {"questions": len(asked)}
    found["cpu_ms"] = spread([one.cpu_ms for one in asked])
    found["wall_ms"] = spread([one.wall_ms for one in asked])
    for wanted in ("INJECT", "SILENCE"):
        mine = [one for one in asked if one.wanted == wanted]
        verdicts = {v: sum(one.verdict == v for one in mine) for v in ("INJECT", "KNOWLEDGE", "SILENCE")}
        found[f"want {wanted}"] = {"verdicts": verdicts, "tokens_printed": spread([one.tokens for one in mine])}
    shown = [one for one in asked if one.wanted == one.verdict == "INJECT"]
    found["gold_among_shown"] = round(float(np.mean([one.found for one in shown])), 4) if shown else None
    return found


def wanted(query: dict[str, Any]) -> bool:
    """The commit-side questions with usable gold, and what is to be silenced in a whole store."""
    if query["store"] != "full":
        return False
    if query["label"] == "SILENCE":
        return True
    return query["kind"] in COMMIT_SIDE and not query["ambiguous"] and bool(query["gold_grade"] >= 2)


def measure(data: Path, cache: Path, every: int, tell: Callable[[str], None] = print) -> dict[str, Any]:
    sessions, queries = read(data / "sessions.jsonl.zst"), read(data / "queries.jsonl.zst")
    vectors, model = VectorCache(cache / "minilm.sqlite"), open_local()
    asked: list[Asked] = []
    for repository in sorted({one["repo"] for one in sessions}):
        picked = [query for query in queries if query["repo"] == repository and wanted(query)][::every]
        with tempfile.TemporaryDirectory() as folder:
            layout = Layout(Path(folder) / ".rekal")
            native = write_store(layout, [one for one in sessions if one["repo"] == repository and one["turns"]])
            embed_missing(layout.index, layout.vectors, Cached(vectors, model))
            with open_index(layout.index) as reader:
                meaning = Meaning(Dense(reader, VectorFile(path_for(layout.vectors, model.model_id))), lambda: model)
                warm = "what was decided about retries"  # fills the caches
                answer_question(reader, warm, NO_FILTERS, Options(), meaning)
                asked += [ask(reader, meaning, native, query) for query in picked]
        tell(f"  {repository}: {len(picked)} questions")
    model.close()
    return summary(asked)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True, help="folder with devrecall/")
    parser.add_argument("--cache", type=Path, default=Path("/tmp/rekal-bench"), help="vectors")
    parser.add_argument("--every", type=int, default=8, help="ask every n-th question")
    given = parser.parse_args()
    text = json.dumps(measure(given.data / "devrecall", given.cache, given.every), indent=1, sort_keys=True)
    (Path(__file__).parent / "runs/printed.json").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
