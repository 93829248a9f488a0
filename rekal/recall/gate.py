"""The verdict: how likely it is that what was found answers what was asked.

Small calibrated models, any of which can silence: *presence* (is anything here at all), *consistency* (does it belong
to the person asked about) and *anchors* (does it belong to the identifiers asked about). Support is the product of
their probabilities. The weights are in ``weights.json``, which
``scripts/industry-bench/train.py`` writes; negatives are questions asked of other stores, and questions whose person or
identifier was exchanged for another of the same store. No benchmark's verdicts are among them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from rekal.recall.claims import Claims

Floats = NDArray[np.float64]

WEIGHTS = Path(__file__).with_name("weights.json")
MOST_SILENCED = 0.2  # of answerable questions, at strictness 1
LEVEL = 130  # turns from which on the size of a store no longer moves the cut
CAREFUL_SHARE = 0.1  # of answerable questions silenced in small stores, at the least
# The same in the smallest ones: at .1 silence on other projects' questions is .92 in stores of 5 turns, at .11 .98.
CAREFUL_SHARES = {5: 0.11}
SPOKEN_SHARE = 0.08  # of those about people known by their labels, at the least
SURE = 30.0  # log-odds nobody argues with


class Logistic(msgspec.Struct, frozen=True):
    """Log-odds = bias + Σ weight · (value − mean) ÷ scale. Parallel tuples by feature."""

    features: tuple[str, ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weight: tuple[float, ...]
    bias: float

    def log_odds(self, values: Mapping[str, float]) -> float:
        """KeyError when a feature is missing: a model never guesses what it was not told."""
        row = np.array([values[name] for name in self.features])
        scaled = (row - np.array(self.mean)) / np.array(self.scale)
        return self.bias + float(scaled @ np.array(self.weight))

    def probability(self, values: Mapping[str, float]) -> float:
        return _probability(self.log_odds(values))


def log_odds(probabilities: Sequence[float]) -> Floats:
    """Log-odds of probabilities, those of nothing and of everything kept finite."""
    inside = np.clip(np.array(probabilities), 1e-9, 1 - 1e-9)
    odds: Floats = np.log(inside / (1 - inside))
    return odds


def _quantile(quantiles: Sequence[float], share: float) -> float:
    return float(np.interp(share * (len(quantiles) - 1), range(len(quantiles)), quantiles))


def _probability(log_odds: float) -> float:
    return 1.0 / (1.0 + float(np.exp(-np.clip(log_odds, -60, 60))))


class Attention(msgspec.Struct, frozen=True):
    """Model of whom the evidence is about. Each claim counts as much as its relevance, exp(Σ weight · value), and is
    about its speaker with a probability of its own, the logistic of Σ weight · value. Weights by ``RELEVANCE`` and
    ``OWNERSHIP``.
    """

    relevance: dict[str, float]
    ownership: dict[str, float]
    offset: float

    def log_odds(self, claims: Claims) -> float:
        """Of all that the claims tell being about the one asked; ``offset`` when there are none."""
        if not len(claims.says):
            return self.offset
        mine, theirs = self._sides(claims)
        return self.offset + float(np.clip(_total(mine) - _total(theirs), -SURE, SURE))

    def weigh_sessions(self, claims: Claims, sessions: int) -> Floats:
        """Weight of what each of ``sessions`` says about the one asked, by number: 1 for the most, its square root for
        the others, 0 where there is nothing.
        """
        totals = np.full(sessions, -np.inf)
        np.logaddexp.at(totals, claims.session, self._sides(claims)[0])
        most = float(totals.max(initial=-np.inf))
        share: Floats = np.exp((totals - most) / 2) if np.isfinite(most) else np.zeros(sessions)
        return share

    def _sides(self, claims: Claims) -> tuple[Floats, Floats]:
        """Logarithms of each claim's weight for the one asked, and for everybody else."""
        weight = claims.relevance @ np.array(list(self.relevance.values()))
        speaker = claims.ownership @ np.array(list(self.ownership.values()))
        said, heard = -np.logaddexp(0, -speaker), -np.logaddexp(0, speaker)  # log-probabilities
        certain = claims.says & claims.hears
        mine = np.where(certain, 0, np.where(claims.says, said, np.where(claims.hears, heard, -np.inf)))
        theirs = np.where(certain, -np.inf, np.where(claims.says, heard, np.where(claims.hears, said, 0)))
        return weight + mine, weight + theirs

    def probability(self, claims: Claims) -> float:
        return _probability(self.log_odds(claims))


def _total(logarithms: Floats) -> float:
    return float(np.logaddexp.reduce(logarithms))


class Support(msgspec.Struct, frozen=True):
    """Probabilities. ``consistency`` and ``anchors`` are 1 when the question names no person, no known identifier."""

    presence: float
    consistency: float = 1.0
    anchors: float = 1.0

    @property
    def total(self) -> float:
        return self.presence * self.consistency * self.anchors


class Gate(msgspec.Struct, frozen=True):
    """One set of models. ``quantiles`` are those of support over answerable questions, from 0 to 100 % in 1 % steps.

    ``consistency`` is None in gates of questions that name no person. ``small`` are such quantiles in stores of that
    many turns, where the same evidence weighs less.
    """

    presence: Logistic
    consistency: Attention | None
    anchors: Logistic
    quantiles: tuple[float, ...]
    small: dict[str, tuple[float, ...]] = {}

    def judge(
        self,
        present: Mapping[str, float],
        person: Claims | None = None,
        anchor_ratio: float | None = None,
        *,
        least: float = 0.0,
    ) -> Support:
        """Support from :func:`rekal.recall.scores.measure_presence`, :func:`rekal.recall.claims.make_claims` and the
        lowest :func:`rekal.recall.consistency.anchored_share`; None for what the question does not have. Presence is
        ``least`` or more.
        """
        belongs = 1.0 if person is None or self.consistency is None else self.consistency.probability(person)
        return Support(
            presence=max(least, self.presence.probability(present)),
            consistency=belongs,
            anchors=1.0 if anchor_ratio is None else self.anchors.probability({"ratio": anchor_ratio}),
        )

    def cut(self, strictness: float, turns: int = LEVEL, *, spoken: bool = False) -> float:
        """Return the support below which recall stays silent in a store of ``turns``.

        Below :data:`LEVEL` turns it is less: between the sizes that were measured its log-odds go straight with the
        logarithm of the size. ``strictness`` 0 to 1 is the price in silenced answerable questions: 0 none, 0.25 one in
        twenty, 0.5 one in ten, 1 one in five of them, as measured in training. ``spoken``: the question is about a
        person whom only labels in the text make one.
        """
        share = MOST_SILENCED * min(1.0, max(0.0, strictness))
        # Where evidence weighs less, a cut that silences one in twenty lets too much pass.
        careful = {n: min(2 * share, max(CAREFUL_SHARES.get(n, CAREFUL_SHARE), share)) for n in map(int, self.small)}
        usual = _quantile(self.quantiles, min(2 * share, max(SPOKEN_SHARE, share)) if spoken else share)
        if turns >= LEVEL or not self.small:
            return usual
        sizes = sorted(careful)
        cuts = [min(usual, _quantile(self.small[str(size)], careful[size])) for size in sizes]
        return _probability(float(np.interp(np.log(max(1, turns)), np.log([*sizes, LEVEL]), log_odds([*cuts, usual]))))


class Weights(msgspec.Struct, frozen=True):
    """Gates with vectors and for keywords alone; for questions that name one of the store's people, and for the rest.

    Talk about people and talk about code differ too much for one set of weights: pooled, silence on another
    project's questions falls from .95 to .86.
    """

    dense: Gate
    lexical: Gate
    dense_person: Gate
    lexical_person: Gate
    trained_on: str

    def gate(self, *, dense: bool, person: bool) -> Gate:
        """The gate for a question, by whether vectors are at hand and whether it names a person of the store."""
        if person:
            return self.dense_person if dense else self.lexical_person
        return self.dense if dense else self.lexical


@cache
def load_weights(path: Path = WEIGHTS) -> Weights:
    """The shipped weights."""
    return msgspec.json.decode(path.read_bytes(), type=Weights)
