"""Fitting and judging yes/no models: logistic regression by Newton steps, and the measures a gate is judged by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from rekal.recall.gate import Logistic

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
STEPS = 60


def fit_logistic(
    features: Sequence[str], rows: Sequence[Mapping[str, float]], wanted: Sequence[bool], penalty: float
) -> Logistic:
    """Ridge logistic regression; both classes weigh the same in all. ``penalty`` is per standardised weight."""
    x = np.array([[row[name] for name in features] for row in rows])
    y = np.array(wanted, np.float64)
    weight = np.where(y == 1, 0.5 / max(1.0, y.sum()), 0.5 / max(1.0, (1 - y).sum()))
    mean, scale = x.mean(axis=0), x.std(axis=0)
    scale[scale < 1e-9] = 1.0
    design = np.c_[(x - mean) / scale, np.ones(len(x))]
    ridge = np.eye(design.shape[1]) * penalty
    ridge[-1, -1] = 1e-9
    beta = np.zeros(design.shape[1])
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-design @ beta))
        gradient = design.T @ (weight * (p - y)) + ridge @ beta
        hessian = (design * (weight * p * (1 - p))[:, None]).T @ design + ridge
        step = np.linalg.solve(hessian, gradient)
        beta -= step
        if np.abs(step).max() < 1e-9:
            break
    rounded = [tuple(round(float(value), 6) for value in values) for values in (mean, scale, beta)]
    return Logistic(tuple(features), rounded[0], rounded[1], rounded[2][:-1], rounded[2][-1])


def auroc(positive: Floats, negative: Floats) -> float:
    """Chance that an answerable question scores above an unanswerable one; ties count half."""
    if not len(positive) or not len(negative):
        return float("nan")
    ordered = np.sort(negative)
    below = np.searchsorted(ordered, positive, side="left")
    not_above = np.searchsorted(ordered, positive, side="right")
    return float((below + not_above).sum() / 2 / len(positive) / len(negative))


def silence_at(positive: Floats, negative: Floats, recall: float) -> float:
    """Share of ``negative`` below the score that ``recall`` of ``positive`` reach."""
    return float((negative < np.quantile(positive, 1 - recall)).mean()) if len(negative) else float("nan")
