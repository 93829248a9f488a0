"""Sets of questions as stores on disk: repositories with a real index and vectors, kept between runs."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from devrecall import COMMIT_SIDE, read
from locomo import talk_turns
from printed import Cached, write_store
from vectors import VectorCache

from rekal.embed.open import open_local
from rekal.index.vectors import embed_missing
from rekal.store.layout import Layout


def new_repository(folder: Path) -> Layout:
    """An empty git repository with the directory of a store."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return Layout(folder / ".rekal", folder / ".git/rekal")


class Sets:
    """devrecall and LoCoMo as sessions and questions, and the vectors of their turns."""

    def __init__(self, data: Path, cache: Path) -> None:
        self.data = data
        self.vectors, self.model = VectorCache(cache / "minilm.sqlite"), open_local()
        self.sessions: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for one in read(data / "devrecall/sessions.jsonl.zst"):
            if one["turns"]:
                self.sessions[one["repo"]].append(one)
        self.queries = read(data / "devrecall/queries.jsonl.zst")
        self.talks = json.loads((data / "locomo/locomo10.json").read_text())

    def make(self, folder: Path, sessions: Sequence[dict[str, Any]]) -> dict[str, str]:
        """A store of these sessions with vectors; session ids by native id."""
        layout = new_repository(folder)
        native = write_store(layout, sessions)
        embed_missing(layout.index, layout.vectors, Cached(self.vectors, self.model))
        ids = {name: session for session, name in native.items()}
        (folder / "ids.json").write_text(json.dumps(ids))
        return ids

    def answerable(self) -> list[dict[str, Any]]:
        """The commit-side questions with usable gold."""
        return answerable_queries(self.queries)

    def negatives(self, group: str) -> list[dict[str, Any]]:
        """Questions that want silence, of one group."""
        return [query for query in self.queries if query.get("neg_group") == group and query["store"] == "full"]


def answerable_queries(queries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The commit-side questions with usable gold among ``queries``."""
    return [
        query
        for query in queries
        if query["store"] == "full"
        and query["label"] == "INJECT"
        and query["kind"] in COMMIT_SIDE
        and not query["ambiguous"]
        and query["gold_grade"] >= 2
    ]


def store_name(repository: str) -> str:
    return repository.replace("/", "--")


def talk_sessions(record: dict[str, Any]) -> list[dict[str, Any]]:
    """A conversation as sessions: every turn begins with its speaker's name, as imported talk has it."""
    people = record["conversation"]["speaker_a"]
    found: list[dict[str, Any]] = []
    for turn, number, at in talk_turns(record["conversation"]):
        if number == len(found):
            head = {"session_id": f"{record['sample_id']}:{number}", "agent": "claude", "started_at": at.isoformat()}
            found.append({**head, "title": None, "files": [], "turns": []})
        caption = f" [photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
        said = {"role": "human" if turn["speaker"] == people else "assistant"}
        said["text"] = f"{turn['speaker']}: {turn['text']}{caption}"
        found[number]["turns"].append({"seq": len(found[number]["turns"]), **said})
    return found


def build(sets: Sets, folder: Path) -> None:
    """All whole stores and all talk stores."""
    for repository, sessions in sorted(sets.sessions.items()):
        sets.make(folder / store_name(repository), sessions)
        print(repository, flush=True)
    for record in sets.talks:
        sets.make(folder / f"talk--{record['sample_id']}", talk_sessions(record))
    sets.make(folder / "talk--ten", [one for record in sets.talks for one in talk_sessions(record)])


def ids_of(store: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((store / "ids.json").read_text())
    return found
