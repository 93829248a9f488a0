"""Sentences of the turns that may answer, and what can be read off each of them without a model."""

from __future__ import annotations

import re

import msgspec
import numpy as np
from numpy.typing import NDArray

from rekal.index.bm25 import K1, B

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

EVERYBODY = -1
CANDIDATE_TURNS = 60  # best turns of the whole store; they and their neighbours are read
CANDIDATES = 24  # sentences a side that are worth a vector, and a say

# How the turn of a sentence stands in the store: coverage with its neighbours, cosine, BM25 as a share of the best.
PLACE_FEATURES = ("window_covered", "turn_cosine", "turn_bm25")
SIGNS = ("myself", "other", "asks", "time", "number")

_MYSELF = re.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours)\b", re.I)
_OTHER = re.compile(r"\b(?:you|your|yours|yourself|ya|u)\b", re.I)
_TIME = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december|(?:mon|tues|wednes|thurs"
    r"|fri|satur|sun)day|yesterday|today|tonight|tomorrow|last|next|ago|since|week|weekend|month|year|\d{4}"
    r"|\d{1,2}(?:st|nd|rd|th))s?\b",
    re.I,
)
_NUMBER = re.compile(
    r"\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|dozen|few|couple|several|once|twice)\b", re.I
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


class Sentences(msgspec.Struct, frozen=True):
    """Sentences of candidate turns. Parallel arrays of P: ``turn`` (place, never decreasing), ``session``, ``length``
    in terms, ``speaker`` and ``listener`` (numbers of people, equal where whoever speaks is theirs) and ``owner``
    (:func:`find_owner`). ``signs`` is ``[P, 5]`` by ``SIGNS``, ``standing`` ``[P, 3]`` by
    ``PLACE_FEATURES``, ``tf`` ``[T, P]``: the number of times that each term of the question occurs.
    """

    turn: Ints
    session: Ints
    length: Floats
    speaker: Ints
    listener: Ints
    owner: Ints
    signs: Bools
    standing: Floats
    tf: Floats

    def sides(self, asked: int) -> tuple[Bools, Bools]:
        """Sentences about the one asked, and those about anybody else; one about both is in both."""
        shared = self.owner == EVERYBODY
        return (self.owner == asked) | shared, (self.owner != asked) | shared

    def window_scores(self, idf: Floats, mine: Bools) -> Floats:
        """BM25 by sentence, as a share of the question's idf, of its turn with both neighbours.

        Of each turn only the sentences in ``mine`` count. A window is as long as its whole turns, whoever owns their
        sentences.
        """
        if not len(self.turn):
            return np.zeros(0)
        turns, first, at = np.unique(self.turn, return_index=True, return_inverse=True)
        tf = np.zeros((len(idf), len(turns)))
        np.add.at(tf.T, at[mine], self.tf.T[mine])
        length = np.bincount(at, self.length, minlength=len(turns)).astype(np.float64)
        session = self.session[first]
        adjacent = (np.diff(turns) == 1) & (session[1:] == session[:-1])
        tf, length = _with_neighbours(tf, adjacent), _with_neighbours(length[None, :], adjacent)[0]
        norm = K1 * (1 - B + B * length / max(float(length.mean()), 1e-9))
        scores = (idf[:, None] * tf * (K1 + 1) / (tf + norm)).sum(axis=0) / max(float(idf.sum()), 1e-9)
        by_sentence: Floats = scores[at]
        return by_sentence

    def covered(self, idf: Floats) -> Floats:
        """Share of the question's idf by sentence."""
        share: Floats = (idf[:, None] * (self.tf > 0)).sum(axis=0) / max(float(idf.sum()), 1e-9)
        return share

    def candidates(self, idf: Floats, asked: int) -> Ints:
        """The sentences that have a say, in order: the strongest about the one asked and about others.

        On LoCoMo 24 a side lose nothing against all.
        """
        chosen = np.zeros(len(self.turn), np.bool_)
        share = self.covered(idf)
        nearness = self.standing[:, PLACE_FEATURES.index("turn_cosine")]
        for mine in self.sides(asked):
            strength = np.where(mine, self.window_scores(idf, mine) / 2 + nearness + share / 2, -np.inf)
            best = np.argsort(-strength, kind="stable")[:CANDIDATES]
            chosen[best[np.isfinite(strength[best])]] = True
        return np.flatnonzero(chosen)


def split_sentences(text: str) -> list[str]:
    """The sentences of a turn, in order, none empty."""
    return [piece for piece in _SENTENCE_END.split(text) if piece.strip()]


def read_signs(sentence: str) -> tuple[bool, ...]:
    """Return the signs of a sentence, by ``SIGNS``: pronouns, a question mark, words of time, numbers."""
    shown = (bool(sign.search(sentence)) for sign in (_MYSELF, _OTHER, _TIME, _NUMBER))
    myself, other, *rest = shown
    return (myself, other, sentence.rstrip().endswith("?"), *rest)


def find_owner(sentence: str, speaker: int, listener: int) -> int:
    """Number of the person that a sentence is about, by its pronouns alone; ``EVERYBODY`` for both."""
    myself, other = bool(_MYSELF.search(sentence)), bool(_OTHER.search(sentence))
    if myself and other:
        return listener if speaker == listener else EVERYBODY
    return listener if other else speaker


def _with_neighbours(rows: Floats, adjacent: Bools) -> Floats:
    total = rows.copy()
    total[:, 1:] += rows[:, :-1] * adjacent
    total[:, :-1] += rows[:, 1:] * adjacent
    return total
