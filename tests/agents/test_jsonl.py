"""The line reader against every damage seen in the field."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekal.agents.contract import Resume
from rekal.agents.formats import jsonl
from rekal.agents.formats.jsonl import LineReader, clean_text, clean_tree, hash_prefix
from rekal.errors import SourceError


def read(path: Path, data: bytes, resume: Resume | None = None) -> tuple[list[dict[str, object]], LineReader]:
    path.write_bytes(data)
    reader = LineReader(path, resume)
    return [record for _, record in reader], reader


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


@pytest.mark.parametrize(
    ("data", "records", "skipped"),
    [
        pytest.param(b'{"a":1}\n{"a":2}\n', [{"a": 1}, {"a": 2}], 0, id="plain"),
        pytest.param(b'{"a":1}\r\n\r\n\n{"a":2}\r\n', [{"a": 1}, {"a": 2}], 0, id="crlf and blank lines"),
        pytest.param(b'\xef\xbb\xbf{"a":1}\n', [{"a": 1}], 0, id="byte order mark"),
        pytest.param(b'{"a":1}{"a":2}\n{"a":3}\n', [{"a": 1}, {"a": 2}, {"a": 3}], 0, id="glued"),
        pytest.param(b'{"t":"hel{"a":2}\n{"a":3}\n', [{"a": 2}, {"a": 3}], 9, id="truncated in a string, then whole"),
        pytest.param(b'{"t":{"n":1},{"a":2}\n', [{"a": 2}], 13, id="truncated after a comma, then whole"),
        pytest.param(b'{"t":"x\\{"a":2}\n', [{"a": 2}], 8, id="truncated in an escape, then whole"),
        pytest.param(b'{"t":"hel\n{"a":3}\n', [{"a": 3}], 10, id="truncated, next record on its own line"),
        pytest.param(b"\0" * 9 + b'{"a":1}\n' + b"\0" * 4 + b"\n", [{"a": 1}], 13, id="nul runs"),
        pytest.param(
            b'{"a":"x\ny\n\nz","b":1}\n{"a":3}\n', [{"a": "x\ny\n\nz", "b": 1}, {"a": 3}], 0, id="raw newlines"
        ),
        pytest.param(b'{"a":"x\ny"}{"b":1}\n', [{"a": "x\ny"}, {"b": 1}], 0, id="raw newline, then glued"),
        pytest.param(b'{\n  "a": {\n    "b": 1\n  }\n}\n', [{"a": {"b": 1}}], 0, id="indented"),
        pytest.param(
            b'{"a": [\n1\n,\n"x"\n,\n{}\n,\n {"b":1}\n]\n}\n', [{"a": [1, "x", {}, {"b": 1}]}], 0, id="one value a line"
        ),
        pytest.param(b'nonsense\n{"a":1}\n[1,2]\n7\n', [{"a": 1}], 15, id="no record at all"),
        pytest.param(b'{"a":"\\ud83d"}\n', [{"a": "\ufffd"}], 0, id="lone surrogate"),
        pytest.param(b'{"\\udc00":["\\ud83d\\ude00"]}\n', [{"\ufffd": ["\U0001f600"]}], 0, id="surrogate in a key"),
        pytest.param(b'{"a":"\xff"}\n', [{"a": "\ufffd"}], 0, id="not UTF-8"),
        pytest.param('{"a":"\u2028\x85"}\n'.encode(), [{"a": "\u2028\x85"}], 0, id="unicode line separators"),
        pytest.param(b'{"a":1}', [{"a": 1}], 0, id="whole last line without newline"),
    ],
)
def test_damage(path: Path, data: bytes, records: list[object], skipped: int) -> None:
    found, reader = read(path, data)
    assert found == records
    assert reader.skipped_bytes == skipped
    assert reader.offset == len(data)


@pytest.mark.parametrize("tail", [b'{"a":', b'{"a":"x', b"\0\0", b'{"a":2}{"b', b'{"a":"x\n', b'{"a":"x\ny'])
def test_unfinished_last_line_waits(path: Path, tail: bytes) -> None:
    _, reader = read(path, b'{"a":1}\n' + tail)
    assert reader.offset == 8
    assert reader.skipped_bytes == 0


def test_unfinished_line_is_read_once_it_is_finished(path: Path) -> None:
    whole = b'{"a":1}\n{"b":"two\nlines"}\n{"c":3}\n'
    for cut in range(len(whole) + 1):
        first, reader = read(path, whole[:cut])
        resume = Resume(reader.offset, hash_prefix(path, reader.offset))
        second, reader = read(path, whole, resume)
        assert first + second == [{"a": 1}, {"b": "two\nlines"}, {"c": 3}]
        assert reader.skipped_bytes == 0
        assert not reader.restarted


def test_offsets_are_those_of_the_lines(path: Path) -> None:
    path.write_bytes(b'{"a":1}\n{"b":2}{"c":"x\ny"}\n{"d":4}\n')
    assert [offset for offset, _ in LineReader(path)] == [0, 8, 8, 27]


def test_replaced_and_truncated_files_are_read_again(path: Path) -> None:
    _, reader = read(path, b'{"a":1}\n{"a":2}\n')
    resume = Resume(reader.offset, hash_prefix(path, reader.offset))
    for other in (b'{"a":9}\n{"a":2}\n{"a":3}\n', b'{"a":1}\n'):
        found, reader = read(path, other, resume)
        assert reader.restarted
        assert len(found) == other.count(b"\n")


def test_fingerprint_tells_how_far_the_file_was_read(path: Path) -> None:
    path.write_bytes(b'{"a":1}\n{"a":2}\n')
    reader = LineReader(path, Resume(8, hash_prefix(path, 8, 16)))
    assert (reader.start, reader.seen, reader.restarted) == (8, 16, False)
    assert hash_prefix(path, 8, 8) == hash_prefix(path, 8)


def test_oversize_line_costs_only_itself(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "MAX_LINE", 64)
    fat = b'{"a":"' + b"x" * 100 + b'"}\n'
    found, reader = read(path, b'{"a":1}\n' + fat + b'{"open":"\n' + fat + b'{"a":2}\n')
    assert found == [{"a": 1}, {"a": 2}]
    assert reader.skipped_bytes == 2 * len(fat) + len(b'{"open":"\n')
    _, reader = read(path, b'{"a":1}\n' + fat[:-1])
    assert reader.offset == 8


def test_deep_nesting_costs_only_its_line(path: Path) -> None:
    found, reader = read(path, b'{"a":' + b"[" * 200_000 + b'\n{"a":2}\n')
    assert found == [{"a": 2}]
    assert reader.skipped_bytes == 200_006


def test_missing_file_is_a_source_error(path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        list(LineReader(path))
    with pytest.raises(SourceError, match="cannot be read"):
        LineReader(path, Resume(3, "x"))


def test_clean() -> None:
    assert clean_text("plain \u2028 text") == "plain \u2028 text"
    assert clean_text("a\0b\ud83d") == "ab\ufffd"
    assert clean_text("\ud83d\ude00") == "\U0001f600"
    assert clean_tree([{"\udc00": ("kept",)}, 1, None]) == [{"\ufffd": ("kept",)}, 1, None]


def _records(codec: str | None) -> st.SearchStrategy[list[dict[str, str | int]]]:
    letters = st.text(st.characters(exclude_characters="\0", codec=codec), max_size=20)
    return st.lists(st.dictionaries(letters, letters | st.integers(), max_size=4), max_size=8)


@settings(deadline=None, max_examples=60)
@given(given=st.tuples(_records(None), st.just(True)) | st.tuples(_records("utf-8"), st.just(False)))
def test_every_record_comes_back(tmp_path_factory: pytest.TempPathFactory, given: tuple[list[object], bool]) -> None:
    """A lone surrogate can only come escaped: no text with a raw one is UTF-8."""
    records, ascii_only = given
    path = tmp_path_factory.getbasetemp() / "back.jsonl"
    data = "".join(json.dumps(record, ensure_ascii=ascii_only) + "\n" for record in records)
    found, reader = read(path, data.encode())
    assert found == clean_tree(records)
    assert reader.skipped_bytes == 0


@settings(deadline=None, max_examples=150)
@given(data=st.lists(st.sampled_from([b'{"a":1}', b'{"a":"', b'"}', b"\n", b"\0", b"{", b"\xff", b"x", b"[", b"\\"])))
def test_any_bytes_are_read(tmp_path_factory: pytest.TempPathFactory, data: list[bytes]) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    whole = b"".join(data)
    _, reader = read(path, whole)
    assert 0 <= reader.offset <= len(whole)
    assert reader.skipped_bytes <= 3 * len(whole)


def test_noise_is_given_up_and_the_next_line_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []
    decode = jsonl._TOLERANT.raw_decode

    def counted(text: str, position: int) -> tuple[object, int]:
        tries.append(position)
        return decode(text, position)

    monkeypatch.setattr(jsonl, "_NOISE_BUDGET", 10_000)
    monkeypatch.setattr(jsonl._TOLERANT, "raw_decode", counted)
    noise = '{"a" 1 ' * 5_000
    path = tmp_path / "one.jsonl"
    path.write_text(f'{noise}\n{{"type": "user"}}\n')
    reader = jsonl.LineReader(path)
    assert [record for _, record in reader] == [{"type": "user"}]
    assert reader.skipped_bytes == len(noise) + 1
    assert len(tries) < 100
