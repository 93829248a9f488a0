"""The gate's models: which rows train them, how they are fitted with groups held apart, and what they say of a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

import msgspec
import numpy as np
from attend import fit_attention
from fit import Floats, fit_logistic
from rows import Row

from rekal.recall.claims import Claims
from rekal.recall.gate import Attention, Gate, Logistic
from rekal.recall.scores import PRESENCE, PRESENCE_LEXICAL

Arm = Literal["dense", "lexical"]

PRESENCE_PENALTY, ANCHOR_PENALTY = 0.001, 0.01
# Questions of other stores. Swaps are about belonging and teach presence nothing; chatter is silenced beforehand.
ABSENT = ("kept", "mapped", "off_domain", "sibling", "uncaptured")
# Half of what a store is asked is answerable in training; in use most of it is. The offsets move a probability of one
# half to where a question has to be clearly worse than a typical answerable one before it is silenced. Presence of
# questions that name a person has one chosen inside the tuning groups, see :func:`tune`.
PRESENCE_OFFSET, CONSISTENCY_OFFSET, ANCHOR_OFFSET = 1.25, 1.0, 3.5
OFFSETS = (0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 3.0)
# What the choice of an offset is to leave of silence on questions of another conversation, names exchanged for its own.
LEAST_MAPPED = 0.50
CUTS = 101
DRAWS, SEED = 1000, 20
SAFETY = 0.8
SURE = Logistic((), (), (), (), 30.0)  # for a gate the set has no questions for


def present_of(row: Row, arm: Arm) -> dict[str, float]:
    return row.present if arm == "dense" else row.lexical


def person_of(row: Row, arm: Arm) -> Claims | None:
    packed = row.person if arm == "dense" else row.person_lexical
    return None if packed is None else packed.claims()


def _shifted(model: Logistic, offset: float) -> Logistic:
    return Logistic(model.features, model.mean, model.scale, model.weight, round(model.bias + offset, 6))


def _absent_or_not(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if not row.thin and row.present and (row.kind == "answerable" or row.kind in ABSENT)]


def fit_presence(rows: Iterable[Row], arm: Arm, offset: float = PRESENCE_OFFSET) -> Logistic:
    """Answerable questions against questions of other stores."""
    used = _absent_or_not(rows)
    values = [present_of(row, arm) for row in used]
    features = PRESENCE if arm == "dense" else PRESENCE_LEXICAL
    model = fit_logistic(features, values, [row.kind == "answerable" for row in used], PRESENCE_PENALTY)
    return _shifted(model, offset)


def fit_consistency(rows: Iterable[Row], arm: Arm) -> Attention:
    """Answerable questions that name a person; that the names could be exchanged is in the likelihood."""
    found = [person_of(row, arm) for row in rows if row.kind == "answerable"]
    return fit_attention([one for one in found if one is not None], CONSISTENCY_OFFSET)


def fit_anchors(rows: Iterable[Row]) -> Logistic:
    """Answerable questions with an identifier, name or number against the same with that exchanged."""
    used = [(row, row.ratio) for row in rows if row.kind in ("answerable", "swap", "slot")]
    pairs = [(row, ratio) for row, ratio in used if ratio is not None]
    model = fit_logistic(
        ("ratio",), [{"ratio": ratio} for _, ratio in pairs], [r.kind == "answerable" for r, _ in pairs], ANCHOR_PENALTY
    )
    return _shifted(model, ANCHOR_OFFSET)


def support(gate: Gate, row: Row, arm: Arm) -> float:
    """What the shipped code says of a row; a thin question has none."""
    return 0.0 if row.thin else gate.judge(present_of(row, arm), person_of(row, arm), row.ratio).total


def supports(gate: Gate, rows: Sequence[Row], arm: Arm) -> Floats:
    return np.array([support(gate, row, arm) for row in rows])


def with_quantiles(gate: Gate, answerable: Floats) -> Gate:
    """The gate with the distribution of support over answerable questions."""
    values = tuple(round(float(v), 6) for v in np.quantile(answerable, np.linspace(0, 1, CUTS)))
    return Gate(gate.presence, gate.consistency, gate.anchors, values)


def home(row: Row) -> str:
    """The group a question comes from; the rest of its ``group`` is the store it was asked of."""
    return row.group.split(">")[0]


def folds(rows: Sequence[Row]) -> Iterator[tuple[list[Row], list[int]]]:
    """For each group the rows that have nothing to do with it, and where its own rows stand."""
    for group in sorted({part for row in rows for part in row.group.split(">")}):
        mine = [at for at, row in enumerate(rows) if home(row) == group]
        yield [row for row in rows if group not in row.group.split(">")], mine


def out_of_fold(rows: Sequence[Row], fit: Callable[[list[Row]], Gate], arm: Arm) -> Floats:
    """Support of each row by a gate that has seen no row of its group (nor of the store it was asked of)."""
    values = np.zeros(len(rows))
    for seen, mine in folds(rows):
        values[mine] = supports(fit(seen), [rows[i] for i in mine], arm)
    return values


def safe_cut(score: Floats, groups: Sequence[str], recall: float) -> float:
    """The cut that lets ``recall`` of the scores pass in ``SAFETY`` of all draws of groups: others are not these."""
    rng = np.random.default_rng(SEED)
    names = sorted(set(groups))
    members = {name: score[np.array([group == name for group in groups])] for name in names}
    drawn = [
        np.quantile(np.concatenate([members[name] for name in rng.choice(names, len(names))]), 1 - recall)
        for _ in range(DRAWS)
    ]
    return float(np.quantile(drawn, 1 - SAFETY))


class Tuned(msgspec.Struct, frozen=True):
    """What is chosen for questions that name a person: the offset of presence, and the cut."""

    offset: float
    cut: float


def tune(rows: Sequence[Row], arm: Arm, recall: float, bit: int) -> Tuned:
    """Choose by ``rows`` alone, out of fold in them; the cut by the answerable ones of the set with this ``bit``.

    Of the offsets the one that silences most exchanged names at its :func:`safe_cut`; silence on questions of another
    conversation below ``LEAST_MAPPED`` counts against it.
    """
    present, belongs = np.zeros(len(rows)), np.zeros(len(rows))
    for seen, mine in folds(rows):
        presence, consistency = fit_presence(seen, arm, 0.0), fit_consistency(seen, arm)
        present[mine] = [presence.log_odds(present_of(rows[i], arm)) for i in mine]
        belongs[mine] = supports(Gate(SURE, consistency, SURE, ()), [rows[i] for i in mine], arm)
    kinds = np.array([row.kind for row in rows])
    positive = [at for at, row in enumerate(rows) if row.kind == "answerable" and row.sets & bit]
    groups = [rows[at].group for at in positive]
    found: list[tuple[float, Tuned]] = []
    for offset in OFFSETS:
        score = belongs / (1 + np.exp(-(present + offset)))
        cut = safe_cut(score[positive], groups, recall)
        swap, mapped = (float((score[kinds == kind] < cut).mean()) for kind in ("swap", "mapped"))
        found.append((swap - max(0.0, LEAST_MAPPED - mapped), Tuned(offset, cut)))
    return max(found, key=lambda one: one[0])[1]
