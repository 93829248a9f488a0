"""Codex files: where they lie, their older and compressed forms, reading in pieces, damage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings

from rekal.agents.codex.adapter import ADAPTER
from rekal.agents.contract import Where
from rekal.agents.formats.repo_paths import is_inside_roots
from rekal.errors import SourceError
from tests.agents.adapter_checks import Change, Counts, check_golden, counts, mutations, shared_file
from tests.agents.codex_log import (
    LONG,
    SESSION,
    answer,
    call,
    event,
    heard,
    meta,
    output,
    prompt,
    write,
)
from tests.agents.pieces import check_pieces, only, read, said, source_of, write_lines


def where(home: Path, *roots: str, **env: str) -> Where:
    return Where(home=home, roots=tuple(Path(root) for root in roots), env=env)


def test_discovery_finds_every_form_once(tmp_path: Path) -> None:
    home = tmp_path / ".codex"
    day = home / "sessions/2026/03/01"
    both = write(day, meta(), name="rollout-b.jsonl")
    both.with_name("rollout-b.jsonl.zst").write_bytes(b"")
    (day / "rollout-c.jsonl.zst").write_bytes(b"")
    write(home / "sessions", meta(), name="rollout-a.json")
    write(home / "archived_sessions", meta(), name="rollout-d.jsonl")
    write(day, meta(), name="notes.jsonl")
    found = [source.path.relative_to(home).as_posix() for source in ADAPTER.discover(where(tmp_path))]
    assert found == [
        "archived_sessions/rollout-d.jsonl",
        "sessions/2026/03/01/rollout-b.jsonl",
        "sessions/2026/03/01/rollout-c.jsonl.zst",
        "sessions/rollout-a.json",
    ]
    assert list(ADAPTER.discover(where(tmp_path / "none", CODEX_HOME=str(home))))
    assert not list(ADAPTER.discover(where(tmp_path / "none")))


def test_a_compressed_rollout_has_the_same_ids(tmp_path: Path) -> None:
    plain = write(tmp_path, *LONG)
    packed = plain.with_name(plain.name + ".zst")
    packed.write_bytes(zstandard.compress(plain.read_bytes()))
    renamed = plain.with_name("rollout-x.jsonl")
    renamed.write_bytes(packed.read_bytes())
    assert read(ADAPTER, packed).transcripts == read(ADAPTER, plain).transcripts
    assert read(ADAPTER, renamed).transcripts == read(ADAPTER, plain).transcripts
    assert read(ADAPTER, packed).offset == 0
    packed.write_bytes(packed.read_bytes()[:4] + b"nonsense")
    with pytest.raises(SourceError, match="decompressed"):
        read(ADAPTER, packed)


def test_the_bare_era(tmp_path: Path) -> None:
    environment = "<environment_context>\n  <cwd>/w/app</cwd>\n</environment_context>"
    path = write_lines(
        tmp_path / "rollout-2025-08-20T10-00-00-x.jsonl",
        [
            {"id": "bare-1", "timestamp": "2025-08-20T10:00:00Z", "instructions": None, "git": {"branch": "dev"}},
            {"record_type": "state"},
            heard(environment)["payload"],
            heard("what is this")["payload"],
            {"type": "reasoning", "summary": []},
            answer("A parser.")[1]["payload"],
        ],
    )
    transcript = only(read(ADAPTER, path))
    assert said(transcript) == [("human", "what is this"), ("assistant", "A parser.")]
    assert (transcript.native_id, transcript.cwds, transcript.branches) == ("bare-1", ("/w/app",), ("dev",))
    check_pieces(ADAPTER, path, tmp_path / "cut")


def test_the_single_document(tmp_path: Path) -> None:
    items = [heard("list files"), call("c", "shell", {"command": ["ls", "-a b"]}), output("c"), answer("One.")[1]]
    document = {
        "session": {"id": "ts-1", "timestamp": "2025-05-02T10:00:00Z", "instructions": ""},
        "items": [one["payload"] for one in items],
    }
    path = tmp_path / "rollout-2025-05-02-ts-1.json"
    path.write_text(json.dumps(document, indent=2), encoding="utf-8")
    transcript = only(read(ADAPTER, path))
    assert said(transcript) == [("human", "list files"), ("assistant", "One.")]
    assert [(one.command, one.outcome) for one in transcript.calls] == [("ls '-a b'", "ok")]
    assert transcript.native_id == "ts-1"
    path.write_text('{"other": 1}', encoding="utf-8")
    with pytest.raises(SourceError):
        read(ADAPTER, path)


def test_drift_and_damage_are_reported_once(tmp_path: Path) -> None:
    path = write(tmp_path, meta(), *prompt(0, "go"), event("brand_new"))
    with path.open("ab") as file:
        file.write(b"not json at all\n")
    first = read(ADAPTER, path)
    assert (first.drift, first.skipped_bytes) == ({"event_msg/brand_new": 1}, len(b"not json at all\n"))
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(event("brand_newer")) + "\n")
    second = read(ADAPTER, path, first)
    assert (second.drift, second.skipped_bytes) == ({"event_msg/brand_newer": 1}, 0)


def test_glued_records_have_ids_of_their_own(tmp_path: Path) -> None:
    path = write(tmp_path, meta(), *prompt(0, "go"))
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(answer("One.")[1]) + json.dumps(answer("Two.")[1]) + "\n")
    turns = only(read(ADAPTER, path)).turns
    assert [turn.content for turn in turns] == ["go", "One.", "Two."]
    assert len({turn.native_id for turn in turns}) == 3


def test_titles_of_the_index(tmp_path: Path) -> None:
    index = [{"id": SESSION, "thread_name": "Old"}, {"id": SESSION, "thread_name": "New"}]
    write_lines(tmp_path / ".codex/session_index.jsonl", index)
    path = write(tmp_path / ".codex/sessions", meta(), *prompt(0, "go"))
    assert only(read(ADAPTER, path, home=tmp_path)).title == "New"


def test_a_neighbouring_repository_is_not_claimed(tmp_path: Path) -> None:
    cwds = only(read(ADAPTER, write(tmp_path, meta(cwd="/w/app2"), *prompt(0, "go")[:1]))).cwds
    assert cwds == ("/w/app2",)
    assert not any(is_inside_roots(cwd, [Path("/w/app")]) for cwd in cwds)


def test_sniffing(tmp_path: Path) -> None:
    plain = write(tmp_path, *LONG).read_bytes()
    assert ADAPTER.sniff(plain)
    assert ADAPTER.sniff(zstandard.compress(plain)[: 64 << 10])
    assert ADAPTER.sniff(b'{"id":"x","timestamp":"2025-08-20T10:00:00Z","instructions":null}\n')
    assert ADAPTER.sniff(b'{\n  "session": {\n    "timestamp": "2025-05-02T10:00:00Z",\n    "id": "x"')
    assert not ADAPTER.sniff(b'{"type":"user","sessionId":"s","uuid":"u","message":{"content":"session_meta"}}\n')
    assert not ADAPTER.sniff(b"\x28\xb5\x2f\xfdnonsense")
    assert not ADAPTER.sniff(b"")


@pytest.mark.parametrize("body", ["[1, 2]\n", '{"a": 1}\n', "plain text\n"])
def test_another_file_is_refused(tmp_path: Path, body: str) -> None:
    path = tmp_path / "rollout-x.jsonl"
    path.write_text(body, encoding="utf-8")
    with pytest.raises(SourceError):
        read(ADAPTER, path)


def test_an_empty_file_gives_nothing(tmp_path: Path) -> None:
    path = tmp_path / "rollout-x.jsonl"
    path.write_bytes(b"")
    assert read(ADAPTER, path).transcripts == ()


def test_a_file_that_went_away_is_refused(tmp_path: Path) -> None:
    source = source_of(ADAPTER, write(tmp_path, meta()))
    source.path.unlink()
    with pytest.raises(SourceError):
        ADAPTER.parse(source, None, where(tmp_path))


@settings(deadline=None, max_examples=60)
@given(change=mutations())
def test_odd_values_never_escape_as_other_errors(tmp_path_factory: pytest.TempPathFactory, change: Change) -> None:
    path = tmp_path_factory.mktemp("odd") / "rollout-x.jsonl"
    records = change(LONG)
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    try:
        read(ADAPTER, path)
    except SourceError:
        return


@pytest.mark.shared
def test_golden_counts() -> None:
    folder = shared_file("fixtures/codex")
    found: dict[str, Counts] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        found[path.relative_to(folder).as_posix()] = counts(ADAPTER, source_of(ADAPTER, path), folder / "none")
    check_golden("codex", found)
