"""BEAM: long chats with probing questions; here only whether a question whose anchor was exchanged is told apart."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from passages import Passages, lowest_ratio, slot_swap
from rows import Row

from rekal.recall.question import understand

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


def rows(folder: Path) -> list[Row]:
    """Factual questions that have an anchor (kind answerable), and each with one anchor exchanged (kind slot)."""
    rng = random.Random(SEED)
    found = []
    for path in sorted(folder.glob("*.json.gz")):
        record = json.loads(gzip.decompress(path.read_bytes()))
        passages = Passages(["\n\n".join(messages(record["chat"]))])
        coding = "coding" if "coding" in str(record["topic"]).casefold() or path.name.startswith("500K") else "other"
        for category in FACTUAL:
            for number, probe in enumerate(record["q"].get(category, [])):
                name = f"{path.name.split('.')[0]}:{category}:{number}"
                question = understand(probe["question"])
                swapped = slot_swap(passages, question, rng)
                if swapped is None:
                    continue
                ratio, other = lowest_ratio(passages, question), lowest_ratio(passages, understand(swapped))
                found.append(Row(id=name, group=path.name, kind="answerable", part=coding, ratio=ratio))
                found.append(Row(id=f"{name}:slot", group=path.name, kind="slot", part=coding, ratio=other))
    return found
