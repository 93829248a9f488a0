"""Does the evidence belong to whom and to what was asked?

A question about one person is not answered by the same fact about another one. So the evidence *about* the person
asked is weighed against the evidence about everybody else: nobody wins who is no better than the rest. A name or
number of a question is weighed likewise: the best passage that has it against the best passage at all.

What is about whom is read sentence by sentence: I and my are the speaker, you and your the listener, anything else
the speaker. Half of what is known about a person was said *to* them. A name in a sentence counts for nothing: it is
mostly an address.
"""

from __future__ import annotations

import re

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

EVERYBODY = -1
K1, B = 1.2, 0.75
SHARPNESS = 8.0  # of the soft maximum: the larger, the more only the best sentence counts
CANDIDATE_TURNS = 60  # best turns of the whole store; with their neighbours they are what a margin is read from
CANDIDATES = 24  # sentences a side that are worth a vector
TOP = 5

MARGINS = ("best", "mass", "cosine", "said_best", "said_mass", "balance", "share")
# With two people named ("what did A advise B?") whom a sentence is about says little: such questions weigh otherwise.
CONSISTENCY = (*(f"one_{name}" for name in MARGINS), *(f"two_{name}" for name in MARGINS))

_SELF = re.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours)\b", re.I)
_OTHER = re.compile(r"\b(?:you|your|yours|yourself|ya|u)\b", re.I)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


class Sentences(msgspec.Struct, frozen=True):
    """Sentences of candidate turns. Parallel arrays of P: ``turn`` (place, never decreasing), ``session``, ``length``
    in terms, ``speaker`` and ``owner`` (numbers of people, ``EVERYBODY`` when a sentence is about both). ``tf`` is
    ``[T, P]``: how often each term of the question occurs. ``cosine`` to the question in the first person, NaN for
    a sentence without a vector (see :func:`worth_a_vector`), or None without a model.
    """

    turn: Ints
    session: Ints
    length: Floats
    speaker: Ints
    owner: Ints
    tf: Floats
    cosine: Floats | None = None


def split_sentences(text: str) -> list[str]:
    """The sentences of a turn, in order, none empty."""
    return [piece for piece in _SENTENCE_END.split(text) if piece.strip()]


def about(sentence: str, speaker: int, listener: int) -> int:
    """Whom a sentence is about, by its pronouns."""
    myself, other = bool(_SELF.search(sentence)), bool(_OTHER.search(sentence))
    if myself and other:
        return EVERYBODY
    return listener if other else speaker


def _window_scores(sentences: Sentences, idf: Floats, mine: Bools) -> Floats:
    """By sentence: BM25, as a share of the question's idf, of the turn and its two neighbours, where a turn is made of
    its sentences in ``mine`` only. A window is as long as its whole turns, whoever owns their sentences.
    """
    if not len(sentences.turn):
        return np.zeros(0)
    turns, first, at = np.unique(sentences.turn, return_index=True, return_inverse=True)
    tf = np.zeros((len(idf), len(turns)))
    np.add.at(tf.T, at[mine], sentences.tf.T[mine])
    length = np.bincount(at, sentences.length, minlength=len(turns)).astype(np.float64)
    session = sentences.session[first]
    adjacent = (np.diff(turns) == 1) & (session[1:] == session[:-1])
    tf, length = _with_neighbours(tf, adjacent), _with_neighbours(length[None, :], adjacent)[0]
    norm = K1 * (1 - B + B * length / max(float(length.mean()), 1e-9))
    scores = (idf[:, None] * tf * (K1 + 1) / (tf + norm)).sum(axis=0) / max(float(idf.sum()), 1e-9)
    by_sentence: Floats = scores[at]
    return by_sentence


def _with_neighbours(rows: Floats, adjacent: Bools) -> Floats:
    total = rows.copy()
    total[:, 1:] += rows[:, :-1] * adjacent
    total[:, :-1] += rows[:, 1:] * adjacent
    return total


def _is_about(sentences: Sentences, asked: int) -> tuple[Bools, Bools]:
    """Sentences about the one asked, and those about anybody else; one about both is in both."""
    shared = sentences.owner == EVERYBODY
    return (sentences.owner == asked) | shared, (sentences.owner != asked) | shared


def worth_a_vector(sentences: Sentences, idf: Floats, asked: int, nearness: Floats) -> Ints:
    """The sentences to embed before :func:`margins`: the strongest about the one asked and about others.

    ``nearness`` is by sentence the cosine of its whole turn. On LoCoMo 24 a side lose nothing against embedding all.
    """
    chosen = np.zeros(len(sentences.turn), np.bool_)
    covered = _coverage(sentences, idf)
    for mine in _is_about(sentences, asked):
        strength = np.where(mine, _window_scores(sentences, idf, mine) / 2 + nearness + covered / 2, -np.inf)
        best = np.argsort(-strength, kind="stable")[:CANDIDATES]
        chosen[best[np.isfinite(strength[best])]] = True
    return np.flatnonzero(chosen)


def _coverage(sentences: Sentences, idf: Floats) -> Floats:
    share: Floats = (idf[:, None] * (sentences.tf > 0)).sum(axis=0) / max(float(idf.sum()), 1e-9)
    return share


def _best(scores: Floats) -> float:
    """Mean of the three best: one lucky sentence is not yet evidence."""
    return float(np.sort(scores)[::-1][:3].mean()) if len(scores) else 0.0


def _mass(scores: Floats) -> float:
    """Soft maximum: many good sentences beat one."""
    return float(np.log(np.exp(SHARPNESS * (scores - 1)).sum() + 1e-9) / SHARPNESS)


def margins(sentences: Sentences, idf: Floats, asked: int, named: int) -> dict[str, float]:
    """Evidence about ``asked`` less evidence about everybody else, by the names in ``CONSISTENCY``.

    ``named`` is how many of the store's people the question names.
    """
    cosine = np.zeros(len(sentences.turn)) if sentences.cosine is None else np.nan_to_num(sentences.cosine)
    usable = np.ones(len(cosine), np.bool_) if sentences.cosine is None else ~np.isnan(sentences.cosine)
    owned, others = _is_about(sentences, asked)
    said = sentences.speaker == asked
    sides = []
    for mine, spoken in ((owned, said), (others, ~said)):
        about_them = (_window_scores(sentences, idf, mine) / 2 + cosine)[mine & usable]
        by_them = (_window_scores(sentences, idf, spoken) / 2 + cosine)[spoken & usable]
        near = _best(cosine[mine & usable])
        sides.append((_best(about_them), _mass(about_them), near, _best(by_them), _mass(by_them)))
    values = [a - b for a, b in zip(*sides, strict=True)]
    values += [_balance(sentences, idf, owned, others), _share(sentences, idf, cosine, usable, asked)]
    prefix = "two_" if named > 1 else "one_"
    return {name: values[MARGINS.index(name[4:])] if name.startswith(prefix) else 0.0 for name in CONSISTENCY}


def _balance(sentences: Sentences, idf: Floats, owned: Bools, others: Bools) -> float:
    """Whose words the question's words are, weighed by idf, counts damped."""
    mine = np.log1p(sentences.tf[:, owned].sum(axis=1)) - np.log1p(sentences.tf[:, others].sum(axis=1))
    return float((idf * mine).sum() / max(float(idf.sum()), 1e-9))


def _share(sentences: Sentences, idf: Floats, cosine: Floats, usable: Bools, asked: int) -> float:
    """Of the five best sentences, how much is about the one asked: -0.5 none, 0.5 all."""
    strength = np.where(usable, 0.6 * _coverage(sentences, idf) + 0.4 * cosine, 0)
    best = np.argsort(-strength, kind="stable")[:TOP]
    weight = np.maximum(strength[best], 0) ** 4
    owner = sentences.owner[best]
    mine = np.where(owner == asked, 1.0, np.where(owner == EVERYBODY, 0.5, 0.0))
    total = float(weight.sum())
    return float((weight * mine).sum()) / total - 0.5 if total > 0 else 0.0


def anchored(present: Bools, idf: Floats, own: Bools, has: Bools) -> float | None:
    """Best passage with an anchor ÷ best passage at all, both measured on the rest of the question: 0 to 1.

    ``present`` is ``[T, P]`` (term in passage), ``own`` says which terms are the anchor's, ``has`` which passages
    contain it whole. None when it cannot tell: fewer than two other terms, none of them anywhere, or an anchor that
    no passage has (a commit's new function is not in the talk that led to it; coverage is for that).
    """
    rest = ~own
    if int(rest.sum()) < 2 or not has.any():
        return None
    held = (idf[rest, None] * present[rest]).sum(axis=0)
    best = float(held.max(initial=0.0))
    return float(held[has].max()) / best if best > 0 else None
