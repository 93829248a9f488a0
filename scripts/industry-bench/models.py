"""The gate's models: which rows train them, how they are fitted with groups held apart, and what they say of a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np
from fit import Floats, fit_logistic
from rows import Row

from rekal.recall.evidence import PRESENCE, PRESENCE_LEXICAL
from rekal.recall.gate import Gate, Logistic, judge
from rekal.recall.ownership import CONSISTENCY

Arm = Literal["dense", "lexical"]

PRESENCE_PENALTY, CONSISTENCY_PENALTY, ANCHOR_PENALTY = 0.001, 0.02, 0.01
# Questions of other stores. Swaps are about belonging and teach presence nothing; chatter is silenced beforehand.
ABSENT = ("kept", "mapped", "off_domain", "sibling", "uncaptured")
# Half of what a store is asked is answerable in training; in use most of it is. The offsets move a probability of one
# half to where a question has to be clearly worse than a typical answerable one before it is silenced.
PRESENCE_OFFSET, CONSISTENCY_OFFSET, ANCHOR_OFFSET = 1.25, 1.0, 3.5
CUTS = 101


def present_of(row: Row, arm: Arm) -> dict[str, float]:
    return row.present if arm == "dense" else row.lexical


def person_of(row: Row, arm: Arm) -> dict[str, float] | None:
    return row.person if arm == "dense" else row.person_lexical


def _shifted(model: Logistic, offset: float) -> Logistic:
    return Logistic(model.features, model.mean, model.scale, model.weight, round(model.bias + offset, 6))


def _absent_or_not(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if not row.thin and row.present and (row.kind == "answerable" or row.kind in ABSENT)]


def fit_presence(rows: Iterable[Row], arm: Arm) -> Logistic:
    """Answerable questions against questions of other stores."""
    used = _absent_or_not(rows)
    values = [present_of(row, arm) for row in used]
    features = PRESENCE if arm == "dense" else PRESENCE_LEXICAL
    model = fit_logistic(features, values, [row.kind == "answerable" for row in used], PRESENCE_PENALTY)
    return _shifted(model, PRESENCE_OFFSET)


def fit_consistency(rows: Iterable[Row], arm: Arm) -> Logistic:
    """Answerable questions that name a person against the same with the names exchanged."""
    used = [(row, person_of(row, arm)) for row in rows if row.kind in ("answerable", "swap")]
    pairs = [(row, values) for row, values in used if values is not None]
    model = fit_logistic(
        CONSISTENCY, [v for _, v in pairs], [r.kind == "answerable" for r, _ in pairs], CONSISTENCY_PENALTY
    )
    return _shifted(model, CONSISTENCY_OFFSET)


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
    return 0.0 if row.thin else judge(gate, present_of(row, arm), person_of(row, arm), row.ratio).total


def supports(gate: Gate, rows: Sequence[Row], arm: Arm) -> Floats:
    return np.array([support(gate, row, arm) for row in rows])


def with_quantiles(gate: Gate, answerable: Floats) -> Gate:
    """The gate with the distribution of support over answerable questions."""
    values = tuple(round(float(v), 6) for v in np.quantile(answerable, np.linspace(0, 1, CUTS)))
    return Gate(gate.presence, gate.consistency, gate.anchors, values)


def out_of_fold(rows: Sequence[Row], fit: Callable[[list[Row]], Gate], arm: Arm) -> Floats:
    """Support of each row by a gate that has seen no row of its group (nor of the store it was asked of)."""
    values = np.zeros(len(rows))
    groups = sorted({part for row in rows for part in row.group.split(">")})
    for group in groups:
        gate = fit([row for row in rows if group not in row.group.split(">")])
        mine = [i for i, row in enumerate(rows) if row.group.split(">")[0] == group]
        values[mine] = supports(gate, [rows[i] for i in mine], arm)
    return values
