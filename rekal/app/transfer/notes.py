"""basic-memory's folder of Markdown notes: a note is an entity, its list items observations and relations."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rekal.app.transfer.items import Incoming, Item
from rekal.config import decode_yaml
from rekal.memory.events import Observe, Relate, SetEntity
from rekal.memory.graph import entity_id, relation_id

_FRONT = re.compile(r"\A\ufeff?---\r?\n(.*?)\r?\n---\r?\n", re.S)
_OBSERVATION = re.compile(r"^\s*[-*] \[([^\]\n]{1,60})\] (.+)$")
_RELATION = re.compile(r"^\s*[-*] ([^\[\n]{1,80}?)\s*\[\[([^\]\n]{1,200})\]\]")
_LARGEST = 1 << 20


def is_notes_folder(path: Path) -> bool:
    """True if a folder has Markdown notes with front matter."""
    return any(_is_note(_note_read(note)) for note in _notes(path)[:50])


def _notes(path: Path) -> list[Path]:
    """The Markdown files below a folder; hidden folders belong to other programs."""
    found = sorted(path.rglob("*.md"))
    return [note for note in found if not any(part.startswith(".") for part in note.relative_to(path).parts)]


def _is_note(text: str) -> bool:
    front = _FRONT.match(text)
    return front is not None and {"title", "type"} <= set(_note_front_matter(front[1]))


def read_notes(path: Path) -> Incoming:
    """Read all notes below a folder. Prose that is no list item stays where it is, and the report says so."""
    items: list[Item] = []
    relations: list[Item] = []
    problems: list[str] = []
    prose = 0
    for note in _notes(path):
        text = _note_read(note)
        if not _is_note(text):
            problems.append(f"{note.relative_to(path)} is no note of basic-memory")
            continue
        front = _FRONT.match(text)
        head = _note_front_matter(front[1]) if front else {}
        name = str(head.get("title") or note.stem)
        at = datetime.fromtimestamp(note.stat().st_mtime, UTC)
        made_of = SetEntity(name=name, type=str(head.get("type") or "note"))
        items.append(Item(entity_id(name), "entity", made_of, at, "entities"))
        for line in text[front.end() if front else 0 :].splitlines():
            if found := _OBSERVATION.match(line):
                said = Observe(text=found[2].strip(), kind=found[1])
                items.append(Item(entity_id(name), "observe", said, at, "observations"))
            elif found := _RELATION.match(line):
                kind = found[1].strip() or "relates_to"
                made = Relate(source=name, target=found[2], type=kind)
                relations.append(Item(relation_id(name, found[2], kind), "relate", made, at, "relations"))
            elif line.strip() and not line.startswith("#"):
                prose += 1
    if prose:
        problems.append(f"{prose} lines of prose have no place in a graph; they stay in their files")
    return Incoming("basic-memory", (*items, *relations), tuple(problems))


def _note_front_matter(text: str) -> dict[str, Any]:
    try:
        found = decode_yaml(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _note_read(note: Path) -> str:
    try:
        return note.read_text("utf-8", "replace") if note.stat().st_size <= _LARGEST else ""
    except OSError:
        return ""
