"""All that an adapter of another distribution imports: nothing else of rekal is promised to stay where it is.

docs/adapters.md explains it with a complete example.
"""

from __future__ import annotations

from rekal.agents.contract import Adapter, Parsed, Resume, Source, Where, refuse_source
from rekal.agents.formats.json_fields import object_at, objects_at, text_at, value_at
from rekal.agents.formats.jsonl import LineReader, Record, clean_text, hash_prefix
from rekal.agents.formats.patches import text_lines
from rekal.agents.formats.repo_paths import concerns_roots
from rekal.agents.formats.sqlite import open_copy
from rekal.agents.formats.timestamps import parse_time
from rekal.errors import SourceBusy, SourceError
from rekal.model import RawCall, RawTurn, Role, Transcript

__all__ = [
    "Adapter",
    "LineReader",
    "Parsed",
    "RawCall",
    "RawTurn",
    "Record",
    "Resume",
    "Role",
    "Source",
    "SourceBusy",
    "SourceError",
    "Transcript",
    "Where",
    "clean_text",
    "concerns_roots",
    "hash_prefix",
    "object_at",
    "objects_at",
    "open_copy",
    "parse_time",
    "refuse_source",
    "text_at",
    "text_lines",
    "value_at",
]
