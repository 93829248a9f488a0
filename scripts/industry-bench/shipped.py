"""Measures of a set on which nothing is fitted: verdicts are those of the weights and the strictness that ship."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from fit import Bools, Floats
from measures import bootstrap, ranks, separation, verdicts
from models import Arm, person_of, present_of
from rows import Row

from rekal.recall.gate import Gate, load_weights
from rekal.recall.readings import SMALL_STORE
from rekal.recall.recall import Options

ARMS: tuple[Arm, ...] = ("dense", "lexical")
STRICTNESS = Options().strictness
WHOLLY_COVERED = 0.99  # as in rekal.recall.recall: in a small store, words that all stand together are presence enough


def shipped_gate(row: Row, arm: Arm) -> Gate:
    return load_weights().gate(dense=arm == "dense", person=person_of(row, arm) is not None)


def support(row: Row, arm: Arm) -> float:
    """As recall gives it, a small store's rule included; a thin question has none."""
    if row.thin:
        return 0.0
    present = present_of(row, arm)
    covered = 0 < row.turns < SMALL_STORE and present["window_coverage"] >= WHOLLY_COVERED
    least = WHOLLY_COVERED if covered else 0.0
    return shipped_gate(row, arm).judge(present, person_of(row, arm), row.ratio, least=least).total


def decided(rows: Sequence[Row], arm: Arm) -> tuple[Floats, Bools]:
    """Support and verdict of every row."""
    score = np.array([support(row, arm) for row in rows])
    inject = [s >= shipped_gate(row, arm).cut(STRICTNESS) and not row.thin for s, row in zip(score, rows, strict=True)]
    return score, np.array(inject, np.bool_)


def windows(rows: Sequence[Row]) -> dict[str, float]:
    """Share of the rows with evidence turns that have any, all of them in a window, by its tokens."""
    found = [row.in_window for row in rows if row.in_window]
    return {key: float(np.mean([one[key] for one in found])) for key in (found[0] if found else ())}


def report(rows: Sequence[Row]) -> tuple[dict[str, Any], dict[str, tuple[Floats, Bools]]]:
    """Ranking and windows of the answerable, then both arms' verdicts, by type of question too."""
    answerable = [row for row in rows if row.kind == "answerable"]
    told: dict[str, Any] = {
        "ranking": ranks(answerable),
        "window": windows(answerable),
        "tuned_on": f"nothing of this set: shipped weights, strictness {STRICTNESS}",
    }
    for part in sorted({row.part for row in answerable}):
        mine = [row for row in answerable if row.part == part]
        told[f"ranking:{part}"], told[f"window:{part}"] = ranks(mine), windows(mine)
    scored = {arm: decided(rows, arm) for arm in ARMS}
    for arm, (score, inject) in scored.items():
        parts = sorted({(row.kind, row.part) for row in rows})
        told[arm] = {
            "verdicts": verdicts(rows, inject),
            "interval_95": bootstrap(rows, inject),
            "separation": separation(rows, score) if answerable else {},
            "inject_rate_by_part": {
                f"{kind}:{part}": float(inject[[(r.kind, r.part) == (kind, part) for r in rows]].mean())
                for kind, part in parts
            },
        }
    return told, {str(arm): found for arm, found in scored.items()}
