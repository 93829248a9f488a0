"""Analysis of text: what becomes a term, and that a question finds what was written."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekal.embed.english_words import read_english_words
from rekal.index import text as text_module
from rekal.index.freshness import analysis_id
from rekal.index.text import TermFinder, document_terms, query_terms, query_words, stem_word


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("foo_bar2", ["foo_bar2", "foo", "bar2", "bar"]),
        ("E0432", ["e0432"]),
        ("0x1F", ["0x1f"]),
        ("0xFfEe", ["0xffee"]),
        ("--no-verify", ["--no-verify", "no-verify", "no", "verifi"]),
        ("src/a/b.py", ["src/a/b.py", "a/b.py", "src", "a", "b.py", "b", "py"]),
        ("./src/a.py:12", ["src/a.py", "src", "a.py", "a", "py", "12"]),
        (r"C:\Users\x.py", ["c", "users/x.py", "user", "x.py", "x", "py"]),
        ("HTTP 502", ["http", "502"]),
        ("v1.2.3", ["v1.2.3", "1.2.3", "v1", "2", "3"]),
        ("getUserName", ["getusername", "get", "user", "name"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("__init__", ["__init__", "init"]),
        (".env", [".env", "env"]),
        ("std::vec::Vec", ["std::vec::vec", "std", "vec"]),
        ("C++ and c#", ["c++", "c", "and", "c#", "c"]),
        ("user's don't l’été", ["user", "dont", "l", "été", "ete"]),
        ("Café", ["café", "cafe"]),
        ("Straße", ["strass"]),
        ("ｆｕｌｌ　ｗｉｄｔｈ", ["full", "width"]),
        ("to be or not to be", ["to", "be", "or", "not", "to", "be"]),
        ("running tests", ["run", "test"]),
        ("हिन्दी", ["हिन्दी"]),
        ("🚀 👍🏽 🇩🇪", ["🚀", "👍", "🇩🇪"]),
        ("日本語", ["日", "本", "語", "日本", "本語"]),
        ("中文E0432", ["中", "文", "中文", "e0432"]),
        ("… -- / ' \"", []),
        ("", []),
    ],
)
def test_terms_of_a_document(text: str, expected: list[str]) -> None:
    assert document_terms(text) == expected


def test_a_question_in_a_dense_script_asks_for_bigrams_or_its_one_character() -> None:
    assert query_terms("中文分词") == ["中文", "文分", "分词"]
    assert query_terms("中") == ["中"]
    assert query_terms("한국어") == ["한국", "국어"]


def test_query_words_keep_what_was_typed_beside_its_terms() -> None:
    assert query_words('why "src/a.py" ?') == [
        ("why", ("whi",)),
        ('"src/a.py"', ("src/a.py", "src", "a.py", "a", "py")),
    ]


def test_repetition_counts_in_documents_and_not_in_questions() -> None:
    assert document_terms("cache cache") == ["cach", "cach"]
    assert query_terms("cache cache") == ["cach"]


@pytest.mark.parametrize("word", ["naïve", "e0432", "a" * 25])
def test_only_plain_words_of_sane_length_are_stemmed(word: str) -> None:
    assert stem_word(word) == word


def test_the_analysis_names_its_stemmer() -> None:
    assert "snowball-" in analysis_id()


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=80))
def test_any_text_finds_itself(text: str) -> None:
    assert set(query_terms(text)) <= set(document_terms(text))


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=80))
def test_terms_are_short_clean_and_survive_their_own_analysis(text: str) -> None:
    for term in document_terms(text):
        assert term
        assert len(term) <= 240
        assert not any(ch.isspace() for ch in term)


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet="aBz09__-./\\@:'`+#(,", min_size=1, max_size=14))
def test_plain_names_have_the_terms_that_the_whole_scan_finds(chunk: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        short = text_module._analyse(chunk, singles=True)
        patch.setattr(text_module, "_PLAIN", re.compile("(?!)"))
        assert text_module._analyse(chunk, singles=True) == short


@settings(deadline=None, max_examples=100)
@given(st.text(alphabet=st.characters(categories=["Lu", "Ll", "Lo", "Nd"]), min_size=1, max_size=40))
def test_no_word_of_letters_or_digits_is_ever_lost(word: str) -> None:
    assert document_terms(word)


@pytest.mark.parametrize("word", ["Running", "tests", "API", "getName", "x", "don't", "naïve", "E0432", "a" * 30])
def test_punctuation_around_a_word_changes_nothing(word: str) -> None:
    for dressed in (f"({word}),", f'"{word}"', f"`{word}`.", f"/{word}/", f"={word}=", f"**{word}**:"):
        assert document_terms(dressed) == document_terms(word), dressed


_ODD_WORDS = r"""getUserName a/./b src\io.py don't --dry-run v1.20 utf8 été naïve 队列服务 foo_bar.baz a_bc C++ x-y
    l'été sky skies dying tied lying cry cries 0xFFee node's .gitignore a::b E0432 gently ugly early only news innings
    by 12.5% HTTPServer""".split()  # noqa: SIM905 - a list of words reads as one


def test_a_finder_finds_every_wanted_term_of_a_word() -> None:
    words = random.Random(5).sample(sorted(read_english_words()), 2500)
    for word in [*words, *_ODD_WORDS]:
        terms = document_terms(word)
        for term in terms:
            assert set(TermFinder([term]).find_terms(f"so {word}, no")) == {term}, (word, term)


@given(st.lists(st.sampled_from([*_ODD_WORDS, "retry", "the", "worker"]), max_size=12).map(" ".join))
def test_a_finder_finds_nothing_else(text: str) -> None:
    wanted = ["retri", "die", "été", "user", "--dry-run", "foo_bar", "1.20", "队列"]
    assert list(TermFinder(wanted).find_terms(text)) == [term for term in document_terms(text) if term in wanted]
