"""Records for the codec's tests: a hand-written commit's worth, and strategies for arbitrary ones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import get_args

from hypothesis import strategies as st

from rekal import ids
from rekal.model import (
    Actor,
    Change,
    Checkpoint,
    Edit,
    Evidence,
    FileChange,
    MemoryEvent,
    Outcome,
    Rewrite,
    Role,
    Session,
    SessionRange,
    Tombstone,
    ToolCall,
    Turn,
)
from rekal.wire.columns import ColumnWriter
from rekal.wire.limits import safe_path
from rekal.wire.segment import Record
from rekal.wire.session_parts import SessionPart, wire_hash

START = datetime(2025, 9, 14, 8, 30, 12, 345_000, tzinfo=UTC)
EMAIL = "mara@example.com"
SESSION_ID = ids.session_id("claude", "0d3f9c52-7a41-4a0e-9d5b-2f6f0c1b8e77", EMAIL)
SHA = "9c1185a5c5e9fc54612808977ee8f548b2258d31"
OTHER_SHA = "b6589fc6ab0dc82cf12099d1c2d40ab994e8410c"


def _hash(line: str) -> int:
    found = ids.line_hash(line)
    assert found is not None
    return wire_hash(found)


HEAD = Session(
    id=SESSION_ID,
    agent="claude",
    native_id="0d3f9c52-7a41-4a0e-9d5b-2f6f0c1b8e77",
    author_name="Mara",
    author_email=EMAIL,
    branch="main",
    cwd=".",
    model="claude-sonnet-4-5-20250929",
    title="Keep the retry budget per host",
    started_at=START,
)
PART = SessionPart(
    SESSION_ID,
    (
        Turn(0, ids.derive("turn", "a"), "human", "One dead host eats every retry. Make the budget per host.", START),
        Turn(
            1,
            ids.derive("turn", "b"),
            "assistant",
            "The counter is global. I'll key it by host and leave the public signature alone.",
            START + timedelta(seconds=7),
            "claude-sonnet-4-5-20250929",
        ),
    ),
    (
        ToolCall(0, ids.derive("call", "a"), 1, "Edit", "net/retry.py", None, "ok", None, START + timedelta(seconds=9)),
        ToolCall(
            1,
            ids.derive("call", "b"),
            1,
            "Bash",
            None,
            "python -m pytest tests/test_retry.py -q",
            "error",
            "1 failed, 11 passed",
            START + timedelta(seconds=16, milliseconds=250),
        ),
    ),
    (Edit(0, 0, "net/retry.py", (_hash("self._left: dict[str, int] = {}"), _hash("return self._left[host] > 0"))),),
)
CHECKPOINT = Checkpoint(
    id=ids.checkpoint_id(SHA, EMAIL),
    git_sha=SHA,
    author_email=EMAIL,
    tree_sha=OTHER_SHA,
    parent_sha="356a192b7913b04c54574d18c28d46e6395428ab",
    branch="main",
    subject="Count retries per host",
    committed_at=START + timedelta(minutes=3),
    files=(FileChange("net/retry.py", "M"), FileChange("tests/test_retry.py", "R", "tests/retry_test.py")),
    sessions=(SessionRange(SESSION_ID, 0, 1, "edited"),),
)
EVENT = MemoryEvent(
    id=ids.derive("event", "a"),
    memory_id=ids.derive("memory", "a"),
    kind="assert",
    payload='{"type":"decision","text":"The retry budget is per host."}',
    actor="Mara",
    actor_type="human",
    occurred_at=START + timedelta(minutes=4),
    recorded_at=START + timedelta(minutes=4),
    source=f"{SESSION_ID}#1",
)
REWRITE = Rewrite(SHA, OTHER_SHA, "amend")
TOMBSTONE = Tombstone(ids.content_hash("a pasted password"), "it was a password", "Mara", START + timedelta(hours=1))
COMMIT: tuple[Record, ...] = (HEAD, PART, CHECKPOINT, EVENT, REWRITE, TOMBSTONE)


def column_payload(kind_count: int, columns: Sequence[object]) -> bytes:
    """A payload with these columns as they are, without a writer's checks."""
    writer = ColumnWriter(kind_count)
    writer._columns.extend(columns)
    return writer.payload()


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=80)
names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
id_keys = st.integers(0, (1 << 128) - 1).map(ids.encode)
keys = st.one_of(
    id_keys,
    names,
    st.uuids().map(str),
    st.binary(min_size=4, max_size=40).map(bytes.hex),
)
paths = st.one_of(st.sampled_from(["a.py", "src/b.rs", "x/y z.md"]), names.filter(safe_path))
times = st.one_of(
    st.datetimes(timezones=st.just(UTC)),
    st.datetimes(timezones=st.just(UTC)).map(lambda when: when.replace(microsecond=0)),
)
seqs = st.integers(0, (1 << 31) - 1)
hashes = st.integers(0, (1 << 63) - 1).map(wire_hash)


turns = st.builds(
    Turn,
    seq=seqs,
    uid=keys,
    role=st.sampled_from(get_args(Role)),
    content=texts,
    occurred_at=st.none() | times,
    model=st.none() | names,
)
calls = st.builds(
    ToolCall,
    seq=seqs,
    uid=keys,
    turn_seq=st.integers(-1, 9),
    tool=names,
    path=st.none() | paths,
    command=st.none() | texts,
    outcome=st.none() | st.sampled_from(get_args(Outcome)),
    excerpt=st.none() | texts,
    occurred_at=st.none() | times,
)
edits = st.builds(Edit, seq=seqs, tool_call_seq=seqs, path=paths, line_hashes=st.lists(hashes, max_size=4).map(tuple))


def _several(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(strategy, max_size=5).map(tuple)


parts = st.builds(
    SessionPart, session_id=keys, turns=_several(turns), tool_calls=_several(calls), edits=_several(edits)
)
heads = st.builds(
    Session,
    id=keys,
    agent=names,
    native_id=keys,
    author_name=names,
    author_email=names,
    origin=st.just("local"),
    parent_id=st.none() | keys,
    forked_from=st.none() | keys,
    actor=st.sampled_from(get_args(Actor)),
    agent_type=st.none() | names,
    description=st.none() | texts,
    spawn_depth=st.none() | st.integers(0, 9),
    branch=st.none() | names,
    cwd=st.none() | paths,
    model=st.none() | names,
    title=st.none() | texts,
    started_at=st.none() | times,
    turns=st.just(()),
    tool_calls=st.just(()),
    edits=st.just(()),
)
files = st.builds(FileChange, path=paths, change=st.sampled_from(get_args(Change)), old_path=st.none() | paths)
ranges = st.builds(
    SessionRange, session_id=keys, first_seq=seqs, last_seq=seqs, evidence=st.sampled_from(get_args(Evidence))
)
checkpoints = st.builds(
    Checkpoint,
    id=keys,
    git_sha=keys,
    author_email=names,
    tree_sha=st.none() | keys,
    patch_id=st.none() | keys,
    parent_sha=st.none() | keys,
    branch=st.none() | names,
    subject=st.none() | texts,
    committed_at=st.none() | times,
    origin=st.just("local"),
    files=_several(files),
    sessions=_several(ranges),
)
events = st.builds(
    MemoryEvent,
    id=keys,
    memory_id=keys,
    kind=names,
    payload=texts,
    actor=names,
    actor_type=names,
    occurred_at=times,
    recorded_at=times,
    source=st.none() | texts,
    origin=st.just("local"),
)
rewrites = st.builds(
    Rewrite, old_sha=keys, new_sha=keys, how=st.sampled_from(["amend", "rebase", "squash", "patch-id"])
)
tombstones = st.builds(Tombstone, target=keys, reason=texts, actor=names, recorded_at=times, origin=st.just("local"))
anything: st.SearchStrategy[Record] = st.one_of(parts, heads, checkpoints, events, rewrites, tombstones)
