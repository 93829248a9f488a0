"""BEAM: long chats with probing questions: is one with an exchanged anchor told apart, and one nobody can answer?"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from devrecall import HEAD
from passages import Passages, lowest_ratio, slot_swap
from rows import Row, measure
from stores import Store
from vectors import VectorCache

from rekal.recall.question import read_question

FACTUAL = (
    "information_extraction",
    "knowledge_update",
    "multi_session_reasoning",
    "temporal_reasoning",
    "contradiction_resolution",
)
SEED = 20


def messages(chat: Any) -> Iterator[str]:
    """Texts of all messages, however batches and turns are nested."""
    if isinstance(chat, dict) and "content" in chat:
        yield str(chat["content"])
    elif isinstance(chat, dict):
        yield from messages(chat.get("turns", []))
    else:
        for part in chat:
            yield from messages(part)


class Chat:
    """A chat as a store, its batches as sessions, and as passages."""

    def __init__(self, chat: Any, vectors: VectorCache) -> None:
        batches = [texts for batch in chat if (texts := [text for text in messages(batch) if text.strip()])]
        turns = [text for texts in batches for text in texts]
        session = [number for number, texts in enumerate(batches) for _ in texts]
        self.store = Store(turns, session, vectors([text[:HEAD] for text in turns]))
        self.passages = Passages(["\n\n".join(messages(chat))])
        self._vectors = vectors

    def measured(self, row: Row, text: str) -> Row:
        question = read_question(text)
        nothing = np.zeros(self.store.sessions, np.bool_)
        measure(row, self.store, question, self._vectors([text])[0], [], [], nothing)
        row.ratio = lowest_ratio(self.passages, question)
        return row


def rows(folder: Path, vectors: VectorCache) -> list[Row]:
    """Factual questions (kind answerable with an anchor, plain without), each of the first with one anchor exchanged
    (kind slot), and those that the chat does not answer (kind abstention, part its type).
    """
    rng = random.Random(SEED)
    found = []
    for path in sorted(folder.glob("*.json.gz")):
        record = json.loads(gzip.decompress(path.read_bytes()))
        chat = Chat(record["chat"], vectors)
        coding = "coding" if "coding" in str(record["topic"]).casefold() or path.name.startswith("500K") else "other"
        for category in (*FACTUAL, "abstention"):
            for number, probe in enumerate(record["q"].get(category, [])):
                text, row = probe["question"], Row(id="", group=path.name, kind="plain", part=coding)
                row.id = f"{path.name.split('.')[0]}:{category}:{number}"
                if category == "abstention":
                    row.kind, row.part = "abstention", f"{coding}:{probe['abstention_type']}"
                elif swapped := slot_swap(chat.passages, read_question(text), rng):
                    row.kind = "answerable"
                    other = Row(id=f"{row.id}:slot", group=path.name, kind="slot", part=coding)
                    found.append(chat.measured(other, swapped))
                found.append(chat.measured(row, text))
    return found
