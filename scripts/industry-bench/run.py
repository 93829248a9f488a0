"""Score recall's ranking and gate on LoCoMo, devrecall and BEAM, with the groups that are tested held apart, and on
LongMemEval as shipped.

    python scripts/industry-bench/run.py locomo|devrecall|beam|longmemeval|all --data FOLDER [--cache FOLDER] [--fresh]

Prints and writes ``runs/<set>.json`` (measures) and ``runs/<set>.jsonl`` (ids, scores and verdicts by row, no text).
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from fit import Bools, Floats
from longmemeval import FILES, Unreadable, variants
from measures import bootstrap, ranks, separation, verdicts
from models import SURE, Arm, fit_anchors, fit_consistency, fit_presence, home, out_of_fold, supports, tune
from rows import Row
from sets import SetName, load, load_longmemeval
from shipped import report as as_shipped

from rekal.embed.profiles import DEFAULT
from rekal.recall.gate import Gate

HERE = Path(__file__).parent
INJECT_RECALL = 0.95
BUDGETS = (150, 300, 600, 1200, 2400)
ARMS: tuple[Arm, ...] = ("dense", "lexical")
KINDS = {"plain": "answerable"}  # the same where no anchor is asked for
SETS = {"reference-1888": 1, "corrected-1887": 2}  # bits of Row.sets


def data_files(name: SetName, data: Path) -> list[Path]:
    return sorted((data / name).glob("*.zst" if name == "devrecall" else "*.json*"))


def provenance(files: Sequence[Path]) -> dict[str, Any]:
    """What the numbers depend on."""
    return {
        "data_sha256": {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files},
        "model": f"{DEFAULT.name} {DEFAULT.sha256}",
        "packages": {p: importlib.metadata.version(p) for p in ("numpy", "scipy", "PyStemmer", "xllamacpp")},
        "inject_recall_asked": INJECT_RECALL,
    }


def held_out_halves(rows: list[Row], arm: Arm, bit: int) -> tuple[Floats, Bools]:
    """Support and verdict of every row: models, offset and cut come from the five conversations it is not in, offset
    and cut out of fold in them, and the cut from those of the row set with this ``bit``.
    """
    names = sorted({row.group for row in rows if ">" not in row.group})
    score, inject = np.zeros(len(rows)), np.zeros(len(rows), np.bool_)
    for half in (0, 1):
        tested = set(names[half::2])
        tuning = [r for r in rows if r.sets and r.kind != "adversarial" and not tested & set(r.group.split(">"))]
        tuned = tune(tuning, arm, INJECT_RECALL, bit)
        gate = Gate(fit_presence(tuning, arm, tuned.offset), fit_consistency(tuning, arm), SURE, ())
        at = [i for i, row in enumerate(rows) if home(row) in tested]
        score[at] = supports(gate, [rows[i] for i in at], arm)
        inject[at] = score[at] >= tuned.cut
        print(f"  {arm}: half {half}, {len(tuning)} rows to tune on, offset {tuned.offset}, cut {tuned.cut:.4f}")
    return score, inject


def locomo_report(rows: list[Row], bit: int, score: Floats, inject: Bools) -> dict[str, Any]:
    """Measures of one row set."""
    mine = np.array([bool(row.sets & bit) for row in rows])
    asked = [i for i, row in enumerate(rows) if mine[i] and row.kind in ("answerable", "adversarial")]
    picked = [rows[i] for i in asked]
    parts = sorted({(row.kind, row.part) for row in picked})
    made = {
        kind: [i for i, row in enumerate(rows) if mine[i] and row.kind == kind and row.part in ("", "any")]
        for kind in ("swap", "kept", "mapped")
    }
    shown = [i for i in range(len(rows)) if mine[i] and rows[i].part != "parity"]
    gold = [i for i in asked if rows[i].kind == "answerable" and rows[i].turn_rank is not None]
    return {
        "verdicts": verdicts(picked, inject[asked]),
        "interval_95": bootstrap(picked, inject[asked]),
        "inject_rate_by_part": {
            f"{kind}:{part}": float(inject[[i for i in asked if (rows[i].kind, rows[i].part) == (kind, part)]].mean())
            for kind, part in parts
        },
        "silence_rate": {kind: float((~inject[at]).mean()) for kind, at in made.items()},
        "separation": separation([rows[i] for i in shown], score[shown]),
        "inject_and_evidence@600": float(np.mean([inject[i] and rows[i].in_window["any@600"] for i in gold])),
    }


def locomo(rows: list[Row]) -> tuple[dict[str, Any], dict[str, tuple[Floats, Bools]]]:
    answerable = [row for row in rows if row.kind == "answerable" and row.sets & 2 and row.turn_rank is not None]
    report: dict[str, Any] = {"ranking": ranks(answerable), "window": {}}
    for budget in BUDGETS:
        for what in ("any", "all"):
            hits = [row.in_window[f"{what}@{budget}"] for row in answerable]
            report["window"][f"{what}@{budget}"] = float(np.mean(hits))
    for part in sorted({row.part for row in answerable}):
        report[f"ranking:{part}"] = ranks([row for row in answerable if row.part == part])
    scored = {}
    for arm in ARMS:
        for name, bit in SETS.items():
            scored[f"{arm} {name}"] = held_out_halves(rows, arm, bit)
            report[f"{arm} {name}"] = locomo_report(rows, bit, *scored[f"{arm} {name}"])
    report["tuned_on"] = (
        "models, offset and cut: the other five conversations, adversarial rows left out; the cut from rows of the same"
        " set. Features and model of consistency: chosen on the conversations tested second, without adversarial rows."
        " Presence features, weights of the rankings, other offsets: chosen earlier with the results on all ten in view"
    )
    return report, scored


def devrecall_gate(rows: list[Row], arm: Arm, anchors: bool) -> Gate:
    return Gate(fit_presence(rows, arm), None, fit_anchors(rows) if anchors else SURE, ())


def devrecall(rows: list[Row]) -> tuple[dict[str, Any], dict[str, tuple[Floats, Bools]]]:
    """Each repository is scored by models of the others; its cut is the others' too."""
    answerable = [row for row in rows if row.kind == "answerable"]
    report: dict[str, Any] = {
        "ranking:commit-side clean": ranks([row for row in answerable if not row.part.endswith(":leaky")]),
        "ranking:commit-side leaky": ranks([row for row in answerable if row.part.endswith(":leaky")]),
        "ranking:other": ranks([row for row in rows if row.kind == "other_kind"]),
    }
    for part in sorted({row.part for row in answerable}):
        report[f"ranking:{part}"] = ranks([row for row in answerable if row.part == part])
    want = np.array([row.kind == "answerable" for row in rows])
    scored: dict[str, tuple[Floats, Bools]] = {}
    for arm in ARMS:
        for anchors in (False, True):
            score = out_of_fold(rows, lambda seen, a=arm, n=anchors: devrecall_gate(seen, a, n), arm)  # type: ignore[misc]
            inject = at_cuts_of_others(rows, score, want)
            name = f"{arm}{'+anchors' if anchors else ''}"
            scored[name] = (score, inject)
            kinds = sorted({row.kind for row in rows})
            rates = {k: float(inject[[row.kind == k for row in rows]].mean()) for k in kinds}
            clear = [i for i, row in enumerate(rows) if row.kind not in ("other_kind", "swap")]
            report[name] = {
                "separation": separation(rows, score),
                "inject_rate_at_held_out_cut": rates,
                "verdicts": verdicts([rows[i] for i in clear], inject[clear]),
                "interval_95": bootstrap([rows[i] for i in clear], inject[clear]),
                "thin": {k: float(np.mean([row.thin for row in rows if row.kind == k])) for k in kinds},
            }
    report["tuned_on"] = (
        "models and cut: the other repositories. Ranking weights, features and offsets: chosen on this half"
    )
    return report, scored


def slots(rows: list[Row]) -> tuple[dict[str, Any], Floats, Bools]:
    """Exchanged anchors. No model is fitted: the lowest anchor ratio is the score, 1 for a question that has none."""
    score = np.array([1.0 if row.ratio is None else row.ratio for row in rows])
    want = np.array([row.kind == "answerable" for row in rows])
    inject = at_cuts_of_others(rows, score, want)
    mine = [at for at, row in enumerate(rows) if row.kind in ("answerable", "slot")]
    coding = [at for at in mine if rows[at].part == "coding"]
    report = {
        "all": separation([rows[at] for at in mine], score[mine]),
        "coding": separation([rows[at] for at in coding], score[coding]),
        "verdicts": verdicts([rows[at] for at in mine], inject[mine]),
        "interval_95": bootstrap([rows[at] for at in mine], inject[mine]),
        "tuned_on": "the cut: the other chats",
    }
    return report, score, inject


def abstentions(rows: list[Row], code: list[Row]) -> tuple[dict[str, Any], Floats, Bools]:
    """Questions the chat does not answer, by models that devrecall alone has trained."""
    gate = devrecall_gate(code, "dense", anchors=True)
    score = supports(gate, rows, "dense")
    want = np.array([row.kind in ("answerable", "plain") for row in rows])
    inject = at_cuts_of_others(rows, score, want)
    asked = [at for at, row in enumerate(rows) if row.kind != "slot"]
    picked = [msgspec.structs.replace(rows[at], kind=KINDS.get(rows[at].kind, rows[at].kind)) for at in asked]
    coding = [at for at, row in enumerate(picked) if row.part.startswith("coding")]
    report = {
        "all": separation(picked, score[asked]),
        "coding": separation([picked[at] for at in coding], score[asked][coding]),
        "verdicts": verdicts(picked, inject[asked]),
        "interval_95": bootstrap(picked, inject[asked]),
        "inject_rate_by_part": {
            part: float(inject[[at for at in asked if rows[at].kind == "abstention" and rows[at].part == part]].mean())
            for part in sorted({row.part for row in picked if row.kind == "abstention"})
        },
        "tuned_on": "models: devrecall; the cut: the other chats",
    }
    return report, score, inject


def at_cuts_of_others(rows: list[Row], score: Floats, want: Bools) -> Bools:
    """Verdicts of each group at the cut that the other groups' answerable questions give."""
    groups, inject = np.array([row.group for row in rows]), np.zeros(len(rows), np.bool_)
    for group in np.unique(groups):
        cut = np.quantile(score[want & (groups != group)], 1 - INJECT_RECALL)
        inject[groups == group] = score[groups == group] >= cut
    return inject


def beam(rows: list[Row], code: list[Row]) -> tuple[dict[str, Any], dict[str, tuple[Floats, Bools]]]:
    exchanged, ratio, told = slots(rows)
    unanswered, support, injected = abstentions(rows, code)
    return {"slot": exchanged, "abstention": unanswered}, {"ratio": (ratio, told), "support": (support, injected)}


def longmemeval(data: Path, cache: Path, fresh: bool) -> bool:
    """Score the variants that ``data`` holds, one after the other; whether there was one. Says what it lacks."""
    folder = data / "longmemeval"
    found, scored = variants(folder), False
    lacking = [f"{folder / files[0]}" for name, files in FILES.items() if name not in found]
    if lacking:
        how = f"PYTHONPATH=. python scripts/industry-bench/fetch.py longmemeval --to {data}"
        print(f"LongMemEval: no {' and no '.join(lacking)}; get it with: {how}", file=sys.stderr)
    for name, path in found.items():
        try:
            rows = load_longmemeval(path, cache, fresh)
        except Unreadable as error:
            print(f"LongMemEval: {error}", file=sys.stderr)
            continue
        report, verdicts_by_arm = as_shipped(rows)
        write(f"longmemeval-{name}", report | {"provenance": provenance([path])}, rows, verdicts_by_arm)
        scored = True
    return scored


def write(name: str, report: dict[str, Any], rows: list[Row], scored: dict[str, tuple[Floats, Bools]]) -> None:
    folder = HERE / "runs"
    folder.mkdir(exist_ok=True)
    text = json.dumps(report, indent=1, sort_keys=True, default=float)
    (folder / f"{name}.json").write_text(text + "\n")
    with (folder / f"{name}.jsonl").open("w") as file:
        for at, row in enumerate(rows):
            entry: dict[str, Any] = {"id": row.id, "kind": row.kind, "part": row.part}
            if row.session_rank is not None:
                entry["session_rank"] = min(row.session_rank, 1e4)
            for arm, (score, inject) in scored.items():
                entry[arm] = [round(float(score[at]), 4), "INJECT" if inject[at] else "SILENCE"]
            file.write(json.dumps(entry) + "\n")
    print(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("set", choices=["locomo", "devrecall", "beam", "longmemeval", "all"])
    parser.add_argument("--data", type=Path, required=True, help="folder with a folder of each set's name")
    parser.add_argument("--cache", type=Path, default=Path("/tmp/rekal-bench"), help="vectors and measured rows")
    parser.add_argument("--fresh", action="store_true", help="measure again")
    asked = parser.parse_args()
    if asked.set in ("longmemeval", "all"):
        ran = longmemeval(asked.data, asked.cache, asked.fresh)
        if asked.set == "longmemeval":
            sys.exit(0 if ran else 1)
    names: list[SetName] = ["devrecall", "locomo", "beam"] if asked.set == "all" else [asked.set]
    for name in names:
        rows = load(name, asked.data, asked.cache, asked.fresh)
        if name == "beam":
            report, scored = beam(rows, load("devrecall", asked.data, asked.cache))
        else:
            report, scored = locomo(rows) if name == "locomo" else devrecall(rows)
        write(name, report | {"provenance": provenance(data_files(name, asked.data))}, rows, scored)


if __name__ == "__main__":
    main()
