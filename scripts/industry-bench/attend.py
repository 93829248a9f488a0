"""Fitting the attention that tells whom evidence is about.

Only answerable questions are needed: the likelihood of "about the one asked" on them is the likelihood of "about the
other" on the same questions with the names exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from rekal.recall.claims import OWNERSHIP, RELEVANCE, Claims
from rekal.recall.gate import Attention

Floats = npt.NDArray[np.float64]

PENALTY = 4e-4  # per squared weight, of the mean loss
STEPS = 300
NOWHERE = -1e9
# The loss has more than one valley: begin where what fits counts and who says "I" means it.
START = {"cosine": 6.0, "window_covered": 6.0, "says:myself": 1.0, "says:other": -1.0, "says:nobody": 1.0}


class Batch(msgspec.Struct, frozen=True):
    """Claims of N questions padded to one length P: ``[N, P, R]``, ``[N, P, O]`` and NOWHERE in ``[N, P]`` where there
    is no claim. Ownership is signed: positive where the one asked speaks.
    """

    relevance: Floats
    ownership: Floats
    padding: Floats


def batch(questions: Sequence[Claims]) -> Batch:
    """ValueError unless each sentence is said by the one asked and heard by another, or the other way round."""
    if any((one.says == one.hears).any() for one in questions):
        raise ValueError("attention is learnt from talk of two people")
    size = (len(questions), max(len(one.says) for one in questions))
    found = Batch(np.zeros((*size, len(RELEVANCE))), np.zeros((*size, len(OWNERSHIP))), np.full(size, NOWHERE))
    for at, one in enumerate(questions):
        mine = np.where(one.says, 1.0, -1.0)
        found.relevance[at, : len(mine)] = one.relevance
        found.ownership[at, : len(mine)] = one.ownership * mine[:, None]
        found.padding[at, : len(mine)] = 0
    return found


def _total(logarithms: Floats) -> Floats:
    total: Floats = np.logaddexp.reduce(logarithms, axis=1)
    return total


def loss(weights: Floats, data: Batch) -> tuple[float, Floats]:
    """Mean -log probability of "about the one asked" with the penalty, and its gradient."""
    strength = data.relevance @ weights[: len(RELEVANCE)] + data.padding
    owned = data.ownership @ weights[len(RELEVANCE) :]
    mine, theirs = strength - np.logaddexp(0, -owned), strength - np.logaddexp(0, owned)
    for_, against = _total(mine), _total(theirs)
    odds = for_ - against
    slope = -1 / (1 + np.exp(np.clip(odds, -60, 60))) / len(odds)
    share, other = np.exp(mine - for_[:, None]), np.exp(theirs - against[:, None])
    chance = 1 / (1 + np.exp(-np.clip(owned, -60, 60)))
    by_strength = (share - other) * slope[:, None]
    by_owner = (share * (1 - chance) + other * chance) * slope[:, None]
    gradient = [np.einsum("np,npf->f", by_strength, data.relevance), np.einsum("np,npf->f", by_owner, data.ownership)]
    penalty = PENALTY * float(weights @ weights)
    return float(np.logaddexp(0, -odds).mean()) + penalty, np.concatenate(gradient) + 2 * PENALTY * weights


def fit_attention(questions: Sequence[Claims], offset: float) -> Attention:
    """From the claims of answerable questions that name one of two people."""
    names = (*RELEVANCE, *(f"says:{name}" for name in OWNERSHIP))
    start = np.array([START.get(name, 0.0) for name in names])
    data = batch([one for one in questions if len(one.says)])
    found = minimize(loss, start, args=(data,), jac=True, method="L-BFGS-B", options={"maxiter": STEPS}).x
    weights = [round(float(value), 4) for value in found]
    relevance, ownership = weights[: len(RELEVANCE)], weights[len(RELEVANCE) :]
    return Attention(dict(zip(RELEVANCE, relevance, strict=True)), dict(zip(OWNERSHIP, ownership, strict=True)), offset)
