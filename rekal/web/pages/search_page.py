"""Search: the verdict first, then why it is so, then the rows."""

from __future__ import annotations

import contextlib
import shlex

import msgspec

from rekal.app.ask_question import AskedQuestion, ask_question, count_evidence, note_shown
from rekal.app.overview import matched_words
from rekal.recall.answer import Hit
from rekal.recall.silences import describe_silence
from rekal.store.usage_log import add_use
from rekal.web import render
from rekal.web.pages.asked import Asked, PageView, Route
from rekal.web.render import Piece

FILTERS = ("file", "agent", "author", "branch", "since", "until", "commit")
_GATES = {
    "gate.presence": "anything here at all",
    "gate.consistency": "about the person asked for",
    "gate.anchors": "about the names asked for",
}
_LONGEST_QUESTION = 4000  # characters
_EXPLAINED = {
    "turn": "best turn, of the most that is possible",
    "whole": "best session, of the most that is possible",
    "window_coverage": "words of the question in one stretch",
    "session_coverage": "words of the question in one session",
    "unknown": "words of the question that are nowhere here",
    "cosine": "nearest turn by meaning",
    "cosine_top5": "five nearest turns by meaning",
    "cosine_of_best": "best session by meaning",
    "coverage_cosine": "words and meaning together",
}


_OTHERS = {
    "matched": "keyword score of the best turn (logarithm)",
    "terms": "words that carry the question (logarithm)",
    "stranger": "a proper name that is nowhere here",
}


class Bar(msgspec.Struct, frozen=True):
    """A figure between 0 and 1, drawn as a bar."""

    label: str
    value: float


class MarkedRow(msgspec.Struct, frozen=True):
    """One turn shown, its words of the question marked."""

    seq: int
    role: str
    pieces: list[Piece]
    cut: bool


def _search_page(asked: Asked) -> PageView:
    text = asked.word("q")[:_LONGEST_QUESTION]
    chosen = {name: asked.word(name) for name in FILTERS}
    fields: dict[str, object] = {"section": "search", "title": "Search", "q": text, "chosen": chosen, "answer": None}
    if not text and not any(chosen.values()):
        return PageView("search.html", fields)
    app = asked.place.app()
    question = _question(text, chosen)
    answer = ask_question(app, question)
    if not asked.fragment:
        with contextlib.suppress(OSError):  # a store that cannot be written is asked, too
            note_shown(app, answer)
        add_use(app.layout.usage, "recall", answer.verdict, 0)  # a person reads it: no agent's tokens
    below = answer.sessions == [] and answer.verdict == "SILENCE" and bool(text)
    near = ask_question(app, msgspec.structs.replace(question, strictness=0.0)).sessions if below else []
    fields |= {
        "title": render.shorten(text, 60) or "Search",
        "answer": answer,
        "counted": " and ".join(count_evidence(answer)),
        "reason": describe_silence(answer, chosen) if answer.verdict == "SILENCE" else "",
        "gates": [Bar(words, answer.features[name]) for name, words in _GATES.items() if name in answer.features],
        "explained": _OTHERS,
        "cut": answer.features.get("gate.cut"),
        "evidence": [
            Bar(words, answer.features[name]) for name, words in _EXPLAINED.items() if name in answer.features
        ],
        "others": {
            name: value
            for name, value in answer.features.items()
            if name not in _EXPLAINED and not name.startswith("gate.")
        },
        "hits": [(hit, _marked(text, hit)) for hit in answer.sessions],
        "near": [(hit, _marked(text, hit)) for hit in near[:3]],
        "perhaps": answer.perhaps or None,
        "memories": answer.memories or [],
        "documents": [(one, _mark(text, one.text)) for one in answer.documents or ()],
        "command": _spell_command(text, chosen),
    }
    return PageView("search.html", fields)


def _question(text: str, chosen: dict[str, str]) -> AskedQuestion:
    given = {name: value or None for name, value in chosen.items()}
    return AskedQuestion(
        text=text, explain=True, file=given["file"], agent=given["agent"], author=given["author"],
        branch=given["branch"], since=given["since"], until=given["until"], commit=given["commit"],
    )  # fmt: skip


def _marked(question: str, hit: Hit) -> list[MarkedRow]:
    return [MarkedRow(row.seq, row.role, _mark(question, row.text), row.cut) for row in hit.rows]


def _mark(question: str, text: str) -> list[Piece]:
    return render.mark_words(text, matched_words.find_matches(question, text))


def _spell_command(text: str, chosen: dict[str, str]) -> str:
    """The same question on the command line."""
    options = [f"--{name}={value}" for name, value in chosen.items() if value]
    words = ["rekal", "recall", *options, *(["--", text] if text.startswith("-") else [text])]
    return " ".join(shlex.quote(word) for word in words if word)


ROUTES: tuple[Route, ...] = (("GET", "/search", _search_page),)
