"""Write ``rekal/recall/weights.json``: the gate's models, fitted on the development sets.

    python scripts/industry-bench/train.py --data FOLDER [--cache FOLDER]

Presence and anchors of ordinary questions come from devrecall (and BEAM's exchanged anchors); questions that name a
person come from LoCoMo. Negatives are questions of other stores and questions with something exchanged: no verdict of a
benchmark (LoCoMo's adversarial rows, BEAM's abstention) is among them. The distribution of support that the cuts are
taken from is out of fold: no question is scored by a model that has seen its repository or conversation.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec
from models import Arm, fit_anchors, fit_consistency, fit_presence, out_of_fold, tune, with_quantiles
from rows import Row
from sets import load

from rekal.recall.gate import WEIGHTS, Gate, Logistic, Weights, load_weights

CORRECTED = 2  # bit of the row set without faulty questions
INJECT_RECALL = 0.95  # at which the presence offset of questions that name a person is chosen
TRAINED_ON = (
    "devrecall development half (presence, anchors), BEAM factual questions with an anchor exchanged (anchors),"
    " LoCoMo answerable questions (presence and consistency of questions that name a person)"
)


def plain_gate(rows: list[Row], anchors: Logistic, arm: Arm) -> Gate:
    """For questions that name nobody."""

    def fit(seen: list[Row]) -> Gate:
        return Gate(fit_presence(seen, arm), None, anchors, ())

    answerable = [row.kind == "answerable" for row in rows]
    return with_quantiles(fit(rows), out_of_fold(rows, fit, arm)[answerable])


def person_gate(rows: list[Row], anchors: Logistic, arm: Arm) -> Gate:
    """For questions that name a person."""
    offset = tune(rows, arm, INJECT_RECALL, CORRECTED).offset
    print(f"{arm}: presence offset {offset}")

    def fit(seen: list[Row]) -> Gate:
        return Gate(fit_presence(seen, arm, offset), fit_consistency(seen, arm), anchors, ())

    answerable = [row.kind == "answerable" and row.person is not None for row in rows]
    return with_quantiles(fit(rows), out_of_fold(rows, fit, arm)[answerable])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True, help="folder with locomo/, devrecall/ and beam/")
    parser.add_argument("--cache", type=Path, default=Path("/tmp/rekal-bench"), help="vectors and measured rows")
    asked = parser.parse_args()
    code = load("devrecall", asked.data, asked.cache)
    talk = [row for row in load("locomo", asked.data, asked.cache) if row.sets]
    anchors = fit_anchors(code + load("beam", asked.data, asked.cache))
    # The lists of small stores are not fitted here: they stay what they are.
    before = load_weights()
    weights = Weights(
        dense=msgspec.structs.replace(plain_gate(code, anchors, "dense"), small=before.dense.small),
        lexical=msgspec.structs.replace(plain_gate(code, anchors, "lexical"), small=before.lexical.small),
        dense_person=person_gate(talk, anchors, "dense"),
        lexical_person=person_gate(talk, anchors, "lexical"),
        trained_on=TRAINED_ON,
    )
    WEIGHTS.write_bytes(msgspec.json.format(msgspec.json.encode(weights), indent=1) + b"\n")
    for name in ("dense", "lexical", "dense_person", "lexical_person"):
        gate: Gate = getattr(weights, name)
        cuts = ", ".join(f"{share} %: {gate.quantiles[share]:.3f}" for share in (2, 5, 10, 20))
        print(f"{name}: support that answerable questions fall below, {cuts}")


if __name__ == "__main__":
    main()
