"""Hidden characters: none is shown, whatever Unicode calls them, and JSON keeps them as escapes."""

from __future__ import annotations

import json
import sys
import unicodedata

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from rekal.plain_text import clean_line, clean_text, escape_hidden, replace_surrogates

# Controls, format characters, surrogates, line and paragraph separators.
HIDDEN = [chr(i) for i in range(sys.maxunicode + 1) if unicodedata.category(chr(i)) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
TEXTS = st.text(st.one_of(st.characters(), st.sampled_from(HIDDEN)))


def test_no_hidden_character_is_left() -> None:
    # A newer Unicode than the list was made from would fail here.
    assert [c for c in HIDDEN if clean_text(c) == c and c not in "\n\t"] == []
    assert [c for c in HIDDEN if clean_line(c) == c and c != "\t"] == []


@given(TEXTS)
def test_a_line_stays_one_line(text: str) -> None:
    assert len(clean_line(f"a{text}b").splitlines()) == 1


@given(TEXTS)
def test_visible_text_is_left_alone(text: str) -> None:
    def visible(value: str) -> str:
        return "".join(c for c in value if c not in HIDDEN and c not in " \u034f" and clean_text(c) == c)

    assert visible(clean_text(text)) == visible(text)


@given(st.text())
def test_json_has_the_same_value_and_nothing_raw(text: str) -> None:
    written = escape_hidden(msgspec.json.encode({"a": text}).decode())
    assert json.loads(written) == {"a": text}
    assert [c for c in written if c in HIDDEN] == []


SURROGATES = st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF, categories=["Cs"])


@given(st.text(st.one_of(st.characters(), SURROGATES)))
def test_no_surrogate_is_left_and_none_is_too_much(text: str) -> None:
    left = replace_surrogates(text)
    left.encode("utf-8")
    assert replace_surrogates(left) == left


def test_what_is_no_byte_and_what_is_no_utf_8_is_one_sign_each() -> None:
    assert replace_surrogates("a\ud800b\udce9c\udfff") == "a\ufffdb\ufffdc\ufffd"
    assert replace_surrogates("\udcc3\udca9") == "é"
