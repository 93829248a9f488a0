"""Cutting text into chunks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rekal.documents.chunks import CHUNK_LENGTH, cut_chunks, split_text
from rekal.documents.document_records import DocumentItem


@given(st.text(alphabet="ab .\n", max_size=6000))
def test_no_word_is_lost_and_none_is_too_long(text: str) -> None:
    pieces = list(split_text(text))
    assert all(0 < len(piece) <= CHUNK_LENGTH for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


def test_text_is_cut_where_it_breaks() -> None:
    sentence = "The quay floods at spring tide. "
    pieces = list(split_text(sentence * 100))
    assert all(piece.endswith(".") for piece in pieces)


def test_neighbours_of_one_place_are_joined() -> None:
    items = [DocumentItem("one", "#a"), DocumentItem("two", "#a"), DocumentItem("three", "#b")]
    assert [(chunk.text, chunk.place) for chunk in cut_chunks(items)] == [("one\n\ntwo", "#a"), ("three", "#b")]


def test_messages_are_not_joined() -> None:
    items = [DocumentItem("Ada: one", "1", whole=True), DocumentItem("Ben: two", "2", whole=True)]
    assert [chunk.text for chunk in cut_chunks(items)] == ["Ada: one", "Ben: two"]
