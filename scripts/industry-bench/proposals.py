"""Score `rekal check` on labelled proposals: rules of invented projects, violations, near misses, unrelated proposals.

    python scripts/industry-bench/proposals.py --data FOLDER [--matchers FILE.py]

Rules are written as the verbs write them, into a personal store a project, and every proposal is put to
the command ``rekal check --json``, in this process. Prints and writes ``runs/check.json``, and
``runs/check.jsonl`` (ids, levels and places by proposal, no text). ``FILE.py`` has a
dictionary ``M`` of patterns by rule.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import runpy
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from rekal.app.desk import Desk
from rekal.app.resources import kept_between_commands
from rekal.cli.main import run_command_line
from rekal.memory.events import Scope
from rekal.memory.matchers import Matcher
from rekal.memory.write import NewMemory, make_memory
from rekal.store.memory_log import append_events

HERE = Path(__file__).parent
_SHOWN = 3
_NOTHING = "$^"  # how a pattern file says "none"


class Rule(msgspec.Struct, frozen=True):
    """A rule of the set; ``approach`` or ``decision`` is its text."""

    id: str
    project: str
    kind: str
    because: str
    approach: str | None = None
    decision: str | None = None
    instead: str | None = None
    scope: str | None = None


class Probe(msgspec.Struct, frozen=True):
    """A proposal with what should be answered. ``memory`` is None where nothing bears on it."""

    id: str
    memory: str | None
    project: str
    text: str
    expect: str

    @property
    def part(self) -> str:
        """``v1`` close paraphrase, ``v2`` in other words, ``near`` miss, ``unrelated``."""
        slot = self.id.rsplit("-", 1)[1]
        return "unrelated" if self.memory is None else slot if slot.startswith("v") else "near"


class Answered(msgspec.Struct, frozen=True):
    """What `check` said of one proposal; ``place`` is that of the right rule among those shown, 0: not shown."""

    id: str
    part: str
    level: str
    place: int
    first: str | None
    first_level: str | None


def read_set(path: Path) -> tuple[list[Rule], list[Probe]]:
    """Rules and proposals of a file, a JSON object a line."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    rules = [msgspec.convert(row, Rule) for row in rows if row["type"] == "memory"]
    return rules, [msgspec.convert(row, Probe) for row in rows if row["type"] == "probe"]


def matcher_of(patterns: dict[str, str | None] | None) -> Matcher | None:
    """A rule's patterns as the program keeps them."""
    if patterns is None:
        return None
    parts = (patterns.get(name) for name in ("strong", "words", "need", "unless"))
    return Matcher(*((part,) if part and part != _NOTHING else () for part in parts)) or None


def fill_store(desk: Desk, rules: Sequence[Rule], matchers: dict[str, dict[str, str | None]]) -> dict[str, str]:
    """Remember the rules; returns the set's id by the memory's."""
    ids = {}
    for rule in rules:
        new = NewMemory(
            rule.approach or rule.decision or "",
            "dead_end" if rule.kind == "rule_out" else "decision",
            because=rule.because,
            instead=rule.instead,
            scope=Scope((rule.scope,) if rule.scope else ()),
            matcher=matcher_of(matchers.get(rule.id)),
        )
        # Straight into the log: the set has no proposals apart from its probes that the patterns could be tried on.
        event = make_memory(new, desk.actor, datetime.now(UTC), desk.scrub)
        with desk.writing(personal=True) as ledger:
            append_events(ledger, [event])
        ids[event.memory_id] = rule.id
    return ids


def answer_all(
    rules: Sequence[Rule], probes: Sequence[Probe], matchers: dict[str, dict[str, str | None]], cut: float, model: bool
) -> list[Answered]:
    """Ask about every proposal, in the store of its project."""
    answers: list[Answered] = []
    for project in sorted({probe.project for probe in probes}):
        with tempfile.TemporaryDirectory() as folder:
            settings = Path(folder) / "config.yml"
            settings.write_text(json.dumps({"memory": {"ruled_out_from": cut}}), encoding="utf-8")
            desk = Desk(Path(folder), {"REKAL_DATA_HOME": folder}, None, "cli", "human")
            ids = fill_store(desk, [rule for rule in rules if rule.project == project], matchers)
            answers += [_answer(Path(folder), probe, ids, model) for probe in probes if probe.project == project]
            os.chdir(HERE)
    return answers


def _answer(folder: Path, probe: Probe, ids: dict[str, str], model: bool) -> Answered:
    """Ask the command itself, outside of any repository."""
    os.chdir(folder)
    os.environ["REKAL_DATA_HOME"] = str(folder)
    printed = io.StringIO()
    with redirect_stdout(printed):
        run_command_line(["check", "--json", *([] if model else ["--no-model"]), "--", probe.text])
    said = json.loads(printed.getvalue().splitlines()[-1])
    findings = [one["finding"] for one in said["findings"]]
    shown = [ids[one["memory"]["id"]] for one in findings]
    place = shown.index(probe.memory) + 1 if probe.memory in shown else 0
    first = findings[0]["level"] if findings else None
    return Answered(probe.id, probe.part, said["level"], place, shown[0] if shown else None, first)


def measures(answers: Sequence[Answered]) -> dict[str, Any]:
    """Levels by part, the share with the right rule among the first three, recall and false alarms of RULED-OUT."""
    parts: dict[str, list[Answered]] = defaultdict(list)
    for one in answers:
        parts[one.part].append(one)
    violations = parts["v1"] + parts["v2"]
    clear = parts["near"] + parts["unrelated"]
    alarms = sum(one.level == "RULED-OUT" for one in clear)
    hits = sum(one.level == "RULED-OUT" for one in violations)
    return {
        "levels": {
            name: {
                level: round(count / len(part), 3) for level, count in sorted(Counter(a.level for a in part).items())
            }
            for name, part in sorted(parts.items())
        },
        "right rule among the first three": {
            name: round(sum(0 < one.place <= _SHOWN for one in parts[name]) / len(parts[name]), 3)
            for name in ("v1", "v2")
        },
        "ruled out, of violations": round(hits / len(violations), 3),
        "false alarms in 100 clear proposals": round(100 * alarms / len(clear), 1),
        "precision of ruled out": round(hits / max(1, hits + alarms), 3),
        "unrelated that stay clear": round(
            sum(one.level == "CLEAR" for one in parts["unrelated"]) / len(parts["unrelated"]), 3
        ),
        "at least consult, with the right rule shown": round(
            sum(0 < a.place <= _SHOWN for a in violations) / len(violations), 3
        ),
    }


def main() -> int:
    """Measure the variants and print them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with check/check.jsonl")
    parser.add_argument("--matchers", type=Path, help="a Python file with M, patterns by rule")
    options = parser.parse_args()
    rules, probes = read_set(options.data / "check" / "check.jsonl")
    matchers = runpy.run_path(str(options.matchers))["M"] if options.matchers else {}
    variants: dict[str, tuple[dict[str, Any], float, bool]] = {"without patterns": ({}, 0.25, True)}
    if matchers:
        variants |= {
            "patterns, as shipped": (matchers, 0.25, True),
            "patterns, ruled_out_from -1": (matchers, -1.0, True),
            "patterns, no model": (matchers, 0.25, False),
        }
    out, rows = {}, []
    for name, (used, cut, model) in variants.items():
        with kept_between_commands():  # the model stays open
            answers = answer_all(rules, probes, used, cut, model)
        out[name] = measures(answers)
        rows += [{"variant": name, **msgspec.to_builtins(one)} for one in answers]
        print(name, json.dumps(out[name], indent=1))
    (HERE / "runs/check.json").write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")
    (HERE / "runs/check.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
