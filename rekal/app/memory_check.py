"""``check`` for all faces: what somebody is about to do, held against decisions and ruled-out approaches."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import msgspec
import numpy as np

from rekal.app.desk import Desk, place_of_desk
from rekal.app.resources import KEY
from rekal.config import read_variable
from rekal.errors import CONSULT, FOUND, RULED_OUT, EngineError, StoreBusy, UsageError
from rekal.git import split_output
from rekal.index.vectors import find_or_embed
from rekal.memory.added_lines import check_diff, is_diff
from rekal.memory.check import Finding, Level, RuleNearness, check_text, level_of, rule_head, rule_text
from rekal.memory.grounds import GroundReader, Grounds
from rekal.memory.state import Memory

MOST_EMBEDDED = 128
"""Texts embedded by one check, some seconds: the rest waits for the next one."""
_LONGEST = 64 << 10  # characters of a proposal, and
_LONGEST_DIFF = 8 << 20  # of a diff
_MANY_RULES = 50
_FLOOR_OF_MANY = 0.15  # least cosine in a store of more rules: a stranger's pattern fires once in ten proposals


class CheckedRule(msgspec.Struct, frozen=True):
    """A finding with what became of the files and symbols that its memory names."""

    finding: Finding
    grounds: Grounds


class Checked(msgspec.Struct, frozen=True):
    """The answer of ``check``. ``exit_code``: 0 CLEAR, 3 RULED-OUT, 7 CONSULT. ``considered`` counts rules held against
    it; ``notes`` say what was missing.
    """

    level: Level
    findings: list[CheckedRule]
    considered: int
    diff: bool
    notes: list[str]
    exit_code: int


_EXIT_CODES: dict[Level, int] = {"CLEAR": FOUND, "RULED-OUT": RULED_OUT, "CONSULT": CONSULT}


def check_proposal(desk: Desk, proposal: str, files: Sequence[str] = (), *, meaning: bool = True) -> Checked:
    """Check a proposal, a command or a diff. ``files`` are those at hand; ``meaning`` False spares the model.

    Reads the log as it is now. Raises UsageError for an empty proposal and for one that is too long.
    """
    if not proposal.strip():
        raise UsageError("there is nothing to check", "say what you are about to do, or hand in a diff")
    diff = is_diff(proposal)
    if len(proposal) > (_LONGEST_DIFF if diff else _LONGEST):
        raise UsageError("the proposal is too long", "check it in parts")
    notes: list[str] = []
    rules = [one for one in desk.memories().all if one.is_rule and one.opens_gate]
    place = place_of_desk(desk, files)
    if diff:
        findings = check_diff(rules, proposal, place)
    else:
        near = _nearness(desk, rules, proposal, notes) if meaning and rules else None
        findings = check_text(rules, proposal, place, near, _top_folders(desk), _least_cosine(desk, len(rules)))
    level = level_of(findings)
    return Checked(level, _look_up_grounds(desk, findings), len(rules), diff, notes, _EXIT_CODES[level])


def _least_cosine(desk: Desk, rules: int) -> float:
    least = desk.config.memory.ruled_out_from
    return max(least, _FLOOR_OF_MANY) if rules > _MANY_RULES else least


def _top_folders(desk: Desk) -> frozenset[str]:
    """First folders of the repository: with them a path is told from a package's name."""
    if desk.app is None:
        return frozenset()
    listed = desk.app.repo.ask("ls-tree", "-d", "--name-only", "HEAD")
    return frozenset(split_output(listed))


def _look_up_grounds(desk: Desk, findings: Sequence[Finding]) -> list[CheckedRule]:
    if desk.app is None:
        return [CheckedRule(one, Grounds()) for one in findings]
    reader = GroundReader(desk.app.repo)
    return [CheckedRule(one, reader.look(one.memory)) for one in findings]


def _nearness(desk: Desk, rules: Sequence[Memory], proposal: str, notes: list[str]) -> RuleNearness | None:
    """Cosines of the proposal with each rule; None, with a note, when the model cannot be used."""
    from rekal.embed.open import open_chosen

    if desk.config.embed.engine == "off":
        notes.append("semantic: off")
        return None
    layout = desk.layout_of(personal=desk.app is None)
    texts = [text for rule in rules for text in (rule_head(rule), rule_text(rule))]
    try:
        with closing(open_chosen(desk.config.embed, read_variable(desk.env, KEY))) as embedder:
            query = embedder.embed_query(proposal)
            vectors = find_or_embed(layout.vectors, embedder, texts, MOST_EMBEDDED)
    except (EngineError, StoreBusy) as error:
        notes.append(f"semantic: off ({error.message})")
        return None
    missing = int((~vectors.any(axis=1)).sum())
    if missing:
        notes.append(f"semantic: {missing} of {len(texts)} texts of rules have no vector yet")
    cosines = (vectors @ query).astype(np.float64).reshape(-1, 2)
    return RuleNearness(cosines[:, 0], cosines[:, 1])
