"""devrecall: real coding sessions of several repositories, the commits they led to, questions with gold sessions."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from passages import Passages, lowest_ratio, slot_swap
from rows import Row, measure
from stores import Store
from vectors import VectorCache

from rekal.recall.question import read_question

COMMIT_SIDE = ("subject", "body", "pr_title", "changelog")
HEAD = 300  # characters of a turn that are embedded: as good as all of it, at two fifths of the text
CLEAN = 3  # words: a longer piece of a question found verbatim in its gold makes it a string match
SEED = 20


def read(path: Path) -> list[dict[str, Any]]:
    with path.open("rb") as file:
        data = zstandard.ZstdDecompressor().stream_reader(file).read()
    return [json.loads(line) for line in data.decode().split("\n") if line]


class Repository:
    """The sessions of one repository as a store, those without a turn left out."""

    def __init__(self, sessions: list[dict[str, Any]], vectors: VectorCache) -> None:
        kept = [s for s in sorted(sessions, key=lambda s: str(s["started_at"])) if s["turns"]]
        self.ids = {str(s["session_id"]): number for number, s in enumerate(kept)}
        turns = [(number, turn["text"]) for number, s in enumerate(kept) for turn in s["turns"]]
        texts = [text for _, text in turns]
        heads = vectors([text[:HEAD] for text in texts])
        facets = [" ".join(s["files"]) for s in kept]
        self.store = Store(texts, [number for number, _ in turns], heads, facets)
        self.passages = Passages(["\n\n".join(turn["text"] for turn in s["turns"]) for s in kept])


class DevRecall:
    """All questions asked of a whole repository, as rows."""

    def __init__(self, folder: Path, vectors: VectorCache) -> None:
        self.vectors = vectors
        by_repository: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for session in read(folder / "sessions.jsonl.zst"):
            by_repository[session["repo"]].append(session)
        self.queries = read(folder / "queries.jsonl.zst")
        self.repositories = {name: Repository(found, vectors) for name, found in sorted(by_repository.items())}

    def rows(self) -> list[Row]:
        """Rows of kind answerable, other_kind (INJECT, but no commit-side question), the silence groups, and swap."""
        self.vectors.fill(query["text"] for query in self.queries)
        rng = random.Random(SEED)
        return [row for query in self.queries for row in self._of(query, rng)]

    def _of(self, query: dict[str, Any], rng: random.Random) -> Iterator[Row]:
        if query["store"] != "full":
            return
        inject = query["label"] == "INJECT"
        if inject and (query["ambiguous"] or query["gold_grade"] < 2):
            return
        row = Row(id=query["qid"], group=query["repo"], kind=query.get("neg_group") or "answerable", part=query["kind"])
        if inject:
            row.kind = "answerable" if query["kind"] in COMMIT_SIDE else "other_kind"
            row.part += "" if query["leak"] <= CLEAN else ":leaky"
        yield self._measured(row, query["text"], query.get("gold") or [])
        if row.kind == "answerable":
            swapped = slot_swap(self.repositories[query["repo"]].passages, read_question(query["text"]), rng)
            if swapped is not None:
                yield self._measured(Row(id=f"{row.id}:swap", group=row.group, kind="swap"), swapped, [])

    def _measured(self, row: Row, text: str, gold: list[str]) -> Row:
        repository = self.repositories[row.group]
        question = read_question(text)
        places = [repository.ids[name] for name in gold if name in repository.ids]
        no_dates = np.zeros(repository.store.sessions, np.bool_)
        measure(row, repository.store, question, self.vectors([text])[0], places, [], no_dates)
        row.ratio = lowest_ratio(repository.passages, question)
        if gold and not places:
            row.session_rank = float(np.inf)
        return row
