"""Cursor's chats of 2023 and 2024: tabs in the database of each workspace, under one key of its ``ItemTable``."""

from __future__ import annotations

from pathlib import Path

from rekal.agents.cursor.text import split_typed, strip_answer
from rekal.agents.formats.json_fields import first_text, load_object, number_at, objects_at, text_at
from rekal.agents.formats.jsonl import Record
from rekal.agents.formats.sqlite import open_copy
from rekal.agents.formats.timestamps import parse_time
from rekal.errors import SourceBusy
from rekal.model import RawTurn, Transcript

_KEY = "workbench.panel.aichat.view.aichat.chatdata"


def read_tabs(path: Path) -> list[Record]:
    """The tabs that have an id and bubbles. Raises SourceError when the database cannot be read."""
    with open_copy(path, ("ItemTable",)) as database:
        row = database.first("SELECT value FROM ItemTable WHERE key = ?", (_KEY,))
    value = load_object(row[0]) if row else None
    return [tab for tab in objects_at(value, "tabs") if text_at(tab, "tabId") and objects_at(tab, "bubbles")]


def tab_revision(tab: Record) -> tuple[int, int]:
    """Bubbles and time of the last message in nanoseconds."""
    moment = number_at(tab, "lastSendTime") or 0
    return len(objects_at(tab, "bubbles")), min(max(moment, 0), 1 << 43) * 1_000_000


def read_tab(path: Path, tab_id: str) -> Transcript:
    """Read one tab. Raises SourceError when it is not there."""
    tab = next((tab for tab in read_tabs(path) if text_at(tab, "tabId") == tab_id), None)
    if tab is None:
        raise SourceBusy(f"{path} no longer holds chat {tab_id}")
    turns = []
    for bubble in objects_at(tab, "bubbles"):
        raw = first_text(bubble, "rawText", "text")
        human = text_at(bubble, "type") == "user"
        words = split_typed(raw or "").words if human else strip_answer(raw)
        if words:
            model = None if human else text_at(bubble, "modelType")
            turns.append(RawTurn("human" if human else "assistant", words, text_at(bubble, "id"), model=model))
    return Transcript(
        agent="cursor",
        native_id=tab_id,
        turns=tuple(turns),
        title=text_at(tab, "chatTitle"),
        started_at=parse_time(number_at(tab, "lastSendTime")),
    )
