"""OpenCode's JSON trees and exports, mutated records, and counts over recordings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekal.agents.contract import Source
from rekal.agents.opencode.adapter import ADAPTER
from rekal.errors import SourceError
from tests.agents.adapter_checks import JUNK, SHARED, check_golden, counts, mutations, shared_file
from tests.agents.opencode_store_maker import (
    T0,
    Store,
    as_source,
    export,
    lines,
    only,
    parsed,
    said,
    sources,
    tree_session,
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "home/.local/share/opencode/opencode.db")


def test_every_channel_and_the_named_database_are_read(tmp_path: Path, store: Store) -> None:
    store.session("ses_1")
    Store(store.path.with_name("opencode-dev.db")).session("ses_2")
    Store(store.path.with_name("mine.db")).session("ses_3")
    elsewhere = Store(tmp_path / "other/opencode.db")
    elsewhere.session("ses_4")

    def found(**env: str) -> list[str]:
        return sorted(source.key.split("#")[1] for source in sources(tmp_path, **env))

    assert found() == ["ses_1", "ses_2"]
    assert found(OPENCODE_DB=":memory:") == ["ses_1", "ses_2"]
    assert found(OPENCODE_DB="mine.db") == ["ses_1", "ses_2", "ses_3"]
    assert found(OPENCODE_DB=str(elsewhere.path)) == ["ses_1", "ses_2", "ses_4"]
    assert found(XDG_DATA_HOME=str(tmp_path / "nothing")) == []


def test_a_session_of_the_json_tree(tmp_path: Path, store: Store) -> None:
    file = tree_session(store.path.parent, "ses_t")
    transcript = only(tmp_path)
    assert lines(transcript) == [("human", "from the tree"), ("assistant", "Read.")]
    assert (transcript.native_id, transcript.title, transcript.cwds) == ("ses_t", "Tree", ("/w/app",))
    (before,) = sources(tmp_path)
    extra = store.path.parent / "storage/part/ses_t_m2/prt_3.json"
    extra.write_text(json.dumps({"id": "prt_3", "messageID": "ses_t_m2", **said("More.")}), encoding="utf-8")
    (after,) = sources(tmp_path)
    assert before.path == file and (before.size, before.mtime_ns) != (after.size, after.mtime_ns)
    assert [turn.content for turn in parsed(after).transcripts[0].turns] == ["from the tree", "Read.", "More."]


def test_the_oldest_layout_keeps_its_sessions_below_the_project(tmp_path: Path) -> None:
    base = tmp_path / "home/.local/share/opencode/project/w-app/storage/session"
    files: dict[str, object] = {
        "info/ses_o.json": {"id": "ses_o", "title": "Old", "time": {"created": T0}},
        "message/ses_o/m1.json": {"id": "m1", "role": "user", "time": {"created": T0 + 1}},
        "message/ses_o/m2.json": {
            "id": "m2", "role": "assistant", "time": {"created": T0 + 2, "completed": T0 + 3},
            "path": {"cwd": "/w/app"}, "parts": [said("Inline answer.")],
        },
        "part/ses_o/m1/p1.json": {"id": "p1", **said("old question")},
    }  # fmt: skip
    for name, value in files.items():
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text(json.dumps(value), encoding="utf-8")
    transcript = only(tmp_path)
    assert lines(transcript) == [("human", "old question"), ("assistant", "Inline answer.")]
    assert transcript.cwds == ("/w/app",)


def test_the_database_wins_over_the_tree_unless_it_is_empty_there(tmp_path: Path, store: Store) -> None:
    for sid in ("ses_1", "ses_2"):
        tree_session(store.path.parent, sid)
        store.session(sid)
    store.message("ses_1", "m1", "user", said("from the database"))
    assert sorted(parsed(source).transcripts[0].turns[0].content for source in sources(tmp_path)) == [
        "from the database",
        "from the tree",
    ]


def test_one_broken_file_costs_itself(tmp_path: Path) -> None:
    data = tmp_path / "home/.local/share/opencode"
    tree_session(data, "ses_t")
    (data / "storage/part/ses_t_m2/prt_2.json").write_text('{"type":"text","te')
    (source,) = sources(tmp_path)
    result = parsed(source)
    assert lines(result.transcripts[0]) == [("human", "from the tree")] and result.skipped_bytes == 18


def test_an_export_is_read_and_recognised(tmp_path: Path) -> None:
    path = export(tmp_path / "export.json")
    assert ADAPTER.sniff(path.read_bytes())
    (transcript,) = parsed(as_source(path)).transcripts
    assert lines(transcript) == [("human", "exported"), ("assistant", "Yes.")] and len(transcript.calls) == 1
    path.write_text(path.read_text()[:-40], encoding="utf-8")
    with pytest.raises(SourceError):
        parsed(as_source(path))


@settings(max_examples=80, deadline=None)
@given(change=mutations())
def test_mutated_records_raise_source_error_at_worst(tmp_path_factory: pytest.TempPathFactory, change: Any) -> None:
    path = export(tmp_path_factory.mktemp("x") / "export.json")
    value = change(json.loads(path.read_text()))
    path.write_text(json.dumps(value), encoding="utf-8")
    try:
        result = parsed(as_source(path))
    except SourceError:
        return
    for transcript in result.transcripts:
        assert all(turn.content.strip() for turn in transcript.turns)
        assert all(-1 <= call.turn < len(transcript.turns) for call in transcript.calls)


@settings(max_examples=40, deadline=None)
@given(change=mutations(), name=st.sampled_from(["session", "message", "part"]))
def test_a_mutated_tree_raises_source_error_at_worst(
    tmp_path_factory: pytest.TempPathFactory, change: Any, name: str
) -> None:
    home = tmp_path_factory.mktemp("home")
    data = home / "home/.local/share/opencode"
    tree_session(data, "ses_t")
    for file in sorted((data / "storage" / name).rglob("*.json")):
        file.write_text(json.dumps(change(json.loads(file.read_text()))), encoding="utf-8")
    for source in sources(home):
        try:
            parsed(source)
        except SourceError as error:
            assert str(data) in str(error)


def shared_sources() -> Iterator[Source]:
    root = SHARED / "fixtures/opencode"
    for path in sorted((root / "export").glob("*.json")):
        yield as_source(path)
    for path in sorted(root.rglob("*.db")):
        yield as_source(path)
    for path in sorted(root.rglob("storage_*/session/*/*.json")):
        yield as_source(path)


@pytest.mark.shared
def test_counts_over_the_shared_recordings(tmp_path: Path) -> None:
    root = shared_file("fixtures/opencode")
    found = {str(source.path.relative_to(root)): counts(ADAPTER, source, tmp_path) for source in shared_sources()}
    check_golden("opencode", found)


@pytest.mark.shared
def test_no_file_of_another_agent_is_claimed() -> None:
    root = shared_file("fixtures")
    claimed = [
        str(path.relative_to(root))
        for path in sorted(root.rglob("*"))
        if path.is_file() and ADAPTER.sniff(path.read_bytes()[:65536])
    ]
    assert claimed and all(name.startswith("opencode/") for name in claimed)


@pytest.mark.parametrize("junk", JUNK)
def test_junk_is_not_claimed(junk: bytes) -> None:
    assert not ADAPTER.sniff(junk)
