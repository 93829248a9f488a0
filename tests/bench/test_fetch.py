"""Fetching: the table of sources, and what is kept of what arrives. Only files of this machine are opened."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import sys
from pathlib import Path

import duckdb
import pytest

BENCH = Path(__file__).parents[2] / "scripts/industry-bench"
sys.path.insert(0, str(BENCH))

import fetch  # noqa: E402
from beam import messages  # noqa: E402
from fetch import SOURCES, Source, Unfit, check, unpack  # noqa: E402
from longmemeval import FILES  # noqa: E402

TALK = [{"sample_id": "conv-1", "conversation": {"speaker_a": "A"}, "qa": [{"question": "?"}]}]


def source(path: Path, **more: object) -> Source:
    data = path.read_bytes()
    kept: dict[str, object] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    return Source("locomo10.json", path.as_uri(), "locomo", **(kept | more))  # type: ignore[arg-type]


@pytest.fixture
def published(tmp_path: Path) -> Path:
    path = tmp_path / "published.json"
    path.write_text(json.dumps(TALK))
    return path


def test_the_table_is_pinned_and_named_as_the_sets_read_it() -> None:
    for name, files in SOURCES.items():
        for one in files:
            assert one.url.startswith("https://")
            assert one.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", one.sha256)
            # What no sha256 holds is held by its revision.
            assert one.sha256 or re.search(r"/[0-9a-f]{40}/", one.url), f"{name}: {one.file}"
    assert {one.file for one in SOURCES["longmemeval"]} == {files[0] for files in FILES.values()}
    assert {one.file for one in SOURCES["locomo"]} == {"locomo10.json", "locomo-audit-errors.json"}


@pytest.mark.shared
@pytest.mark.parametrize("one", SOURCES["locomo"], ids=lambda one: str(one.file))
def test_the_files_measured_are_those_of_the_table(one: Source) -> None:
    path = Path(__file__).parents[3] / "shared/data/locomo" / one.file
    if not path.exists():
        pytest.skip(f"no {path}")
    check(path, one)


def test_a_file_is_fetched_once(published: Path, tmp_path: Path) -> None:
    wanted, folder = source(published), tmp_path / "to/locomo"
    assert fetch.fetch(wanted, folder).endswith(f"{wanted.size} bytes")
    assert (folder / "locomo10.json").read_bytes() == published.read_bytes()
    published.unlink()
    assert fetch.fetch(wanted, folder).endswith("already there")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"size": 5}, "has more than the 5 bytes expected"),
        ({"size": 5000}, "not the 5000 of"),
        ({"sha256": "0" * 64}, "has sha256"),
        ({"shape": "audit"}, "does not have the shape of audit"),
        ({"shape": "longmemeval"}, "does not have the shape of longmemeval"),
        ({"shape": "beam"}, "does not have the shape of beam"),
    ],
)
def test_what_is_something_else_does_not_stay(
    more: dict[str, object], said: str, published: Path, tmp_path: Path
) -> None:
    plain = source(published)
    shape = more.pop("shape", "locomo")
    wanted = Source(plain.file, plain.url, shape, **({"size": plain.size, "sha256": plain.sha256} | more))  # type: ignore[arg-type]
    with pytest.raises(Unfit, match=re.escape(said)):
        fetch.fetch(wanted, tmp_path / "to")
    assert list((tmp_path / "to").iterdir()) == []


def test_no_list_is_no_longmemeval(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("<html>")
    with pytest.raises(Unfit, match="does not have the shape of longmemeval"):
        check(path, Source("a.json", path.as_uri(), "longmemeval"))


CHATS = """
SELECT * FROM (VALUES
    ('2', {'category': 'Coding'},
        [[{'role': 'user', 'content': 'set RETRIES'}], [{'role': 'assistant', 'content': 'done'}]],
        '{''abstention'': [{''question'': ''why?''}]}'),
    ('3', {'category': 'Math'}, [[{'role': 'user', 'content': 'x'}]], '{''abstention'': ['),
    ('9', {'category': 'Math'}, [[{'role': 'user', 'content': 'y'}]], '{}')
) AS chats(conversation_id, conversation_seed, chat, probing_questions)
"""


def parquet(path: Path) -> None:
    """Three chats, columns as published; the questions of the second are cut off."""
    with duckdb.connect() as db:
        db.execute(f"COPY ({CHATS}) TO '{path}' (FORMAT parquet)")


def test_beam_becomes_what_its_normaliser_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parquet(tmp_path / "p")
    wanted = Source("500K.parquet", (tmp_path / "p").as_uri(), "beam", only=("2", "3"))
    told = fetch.fetch(wanted, tmp_path / "beam")
    assert told.endswith("1 chats unpacked")
    assert "chat 3 left out" in capsys.readouterr().err
    assert [path.name for path in sorted((tmp_path / "beam").glob("*.json.gz"))] == ["500K_2.json.gz"]
    record = json.loads(gzip.decompress((tmp_path / "beam/500K_2.json.gz").read_bytes()))
    assert [list(messages(batch)) for batch in record["chat"]] == [["set RETRIES"], ["done"]]
    assert (record["topic"]["category"], record["q"]["abstention"][0]["question"]) == ("Coding", "why?")
    assert unpack(tmp_path / "beam/500K.parquet") == 2


def test_one_failure_does_not_keep_the_rest_away(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = Source("gone.json", (tmp_path / "gone.json").as_uri(), "audit")
    monkeypatch.setattr(fetch, "SOURCES", {"locomo": (gone, source(published))})
    monkeypatch.setattr(sys, "argv", ["fetch.py", "locomo", "--to", str(tmp_path / "to")])
    with pytest.raises(SystemExit) as ended:
        fetch.main()
    assert ended.value.code == 1
    assert "gone.json of locomo:" in capsys.readouterr().err
    assert (tmp_path / "to/locomo/locomo10.json").exists()
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--only", "locomo10.json"])
    with pytest.raises(SystemExit) as ended:
        fetch.main()
    assert ended.value.code == 0
