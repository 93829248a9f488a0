"""What a run prints. A pass rate never stands alone: beside it are the constant answers and both verdicts' rates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from fit import Bools, Floats, auroc, silence_at
from rows import Row

RECALLS = (0.95, 0.90, 0.80)
DEPTHS = (1, 5, 10, 20)
DRAWS, SEED = 1000, 20


def verdicts(rows: Sequence[Row], inject: Bools) -> dict[str, float]:
    """Confusion counts of answerable against all other ``rows``, and the rates made of them."""
    want = np.array([row.kind == "answerable" for row in rows])
    kept, lost = int((want & inject).sum()), int((want & ~inject).sum())
    wrong, silent = int((~want & inject).sum()), int((~want & ~inject).sum())
    total = kept + lost + wrong + silent
    precision = silent / max(1, silent + lost)
    recall = silent / max(1, silent + wrong)
    return {
        "rows": total,
        "want_inject_inject": kept,
        "want_inject_silence": lost,
        "want_silence_inject": wrong,
        "want_silence_silence": silent,
        "want_inject_pass_rate": kept / max(1, kept + lost),
        "want_silence_pass_rate": recall,
        "balanced_accuracy": (kept / max(1, kept + lost) + recall) / 2,
        "silence_precision": precision,
        "silence_f1": 2 * precision * recall / max(1e-9, precision + recall),
        "pass_rate": (kept + silent) / max(1, total),
        "pass_rate_always_inject": (kept + lost) / max(1, total),
        "pass_rate_always_silence": (wrong + silent) / max(1, total),
    }


def separation(
    rows: Sequence[Row], score: Floats, positives: Sequence[str] = ("answerable",)
) -> dict[str, dict[str, float]]:
    """AUROC and silence at fixed INJECT recalls, by kind of negative."""
    kinds = np.array([row.kind for row in rows])
    positive = score[np.isin(kinds, positives)]
    found = {}
    for kind in sorted(set(kinds) - set(positives) - {"other_kind"}):
        negative = score[kinds == kind]
        found[kind] = {"n": float(len(negative)), "auroc": auroc(positive, negative)}
        found[kind] |= {f"silence@{recall:.2f}": silence_at(positive, negative, recall) for recall in RECALLS}
    return found


def ranks(rows: Sequence[Row]) -> dict[str, float]:
    """Session and turn ranking over rows that have gold; ``all``: the whole of it among the first k."""
    found: dict[str, float] = {"n": len(rows)}
    for what in ("session", "turn"):
        at = np.array([rank for row in rows if (rank := getattr(row, f"{what}_rank")) is not None])
        if len(at):
            found[f"{what}_mrr"] = float((1 / at).mean())
            found |= {f"{what}@{k}": float((at < k + 0.5).mean()) for k in DEPTHS}
        last = np.array([rank for row in rows if (rank := getattr(row, f"{what}_rank_all")) is not None])
        if len(last):
            found |= {f"{what}_all@{k}": float((last < k + 0.5).mean()) for k in DEPTHS}
    return found


def bootstrap(rows: Sequence[Row], inject: Bools) -> dict[str, list[float]]:
    """95 % intervals with whole groups resampled: questions of one conversation are not independent.

    Nothing for rows that all want the same.
    """
    rng = np.random.default_rng(SEED)
    groups = np.array([row.group for row in rows])
    names = np.unique(groups)
    want = np.array([row.kind == "answerable" for row in rows])
    members = {name: np.flatnonzero(groups == name) for name in names}
    drawn = []
    for _ in range(DRAWS):
        at = np.concatenate([members[name] for name in rng.choice(names, len(names))])
        w, i = want[at], inject[at]
        if w.all() or not w.any():  # a small set's draw may miss one side; it has no rate of that
            continue
        drawn.append((i[w].mean(), (~i[~w]).mean(), (w == i).mean()))
    if not drawn:
        return {}
    low, high = np.quantile(np.array(drawn), [0.025, 0.975], axis=0)
    keys = ("want_inject_pass_rate", "want_silence_pass_rate", "pass_rate")
    return {key: [round(float(a), 4), round(float(b), 4)] for key, a, b in zip(keys, low, high, strict=True)}
