"""Consult decisions and ruled-out approaches about what somebody is about to do.

Nearness finds the memory that bears on a proposal and cannot tell a violation from its opposite. So three answers:
CLEAR, nothing bears on it; CONSULT, these do, the reader judges; RULED-OUT, a pattern that was written with the rule
holds, in a sentence that plans to do the thing, inside the rule's scope. A rule without patterns never says more than
CONSULT.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from rekal.index.text import document_terms
from rekal.memory.judge import Judgement, judge_text
from rekal.memory.matchers import short_lines
from rekal.memory.scope import Place, in_scope
from rekal.memory.state import Memory

Floats = NDArray[np.float64]
Level = Literal["RULED-OUT", "CONSULT", "CLEAR"]

# Set on the development half of labelled proposals (60 rules, 300 proposals). Constants and not measured per store: a
# store's own mean would call the best of its irrelevant rules near.
_COSINE_MEAN, _COSINE_SPREAD = 0.296, 0.286  # of cosine(approach) + cosine(whole rule)
_WORDS_MEAN, _WORDS_SPREAD = 2.07, 2.17  # of BM25 in a store of _SMALL rules
_SMALL = 5
_WORDS_WEIGHT, _PATTERN_WEIGHT = 0.75, 3.0
CONSULT_FROM = 0.65
CONSULT_FROM_WORDS = 0.4  # without vectors: BM25 and patterns alone
_BESIDE = 1.5  # once one rule is near enough, the next ones that are so much less near are shown too
NEAR_ENOUGH = 0.25
"""Least cosine of a proposal with the approach for RULED-OUT: 5 false alarms of 100; 0 finds more, at 8 of 100."""
_MOST_SHOWN = 5
_MOST_NEAR = 3  # rules shown that no pattern names
_K1, _B = 1.2, 0.75


class RuleNearness(msgspec.Struct, frozen=True):
    """Cosines of one proposal with each rule: with its ``head`` (approach or decision), with its ``whole`` text."""

    head: Floats
    whole: Floats


class Finding(msgspec.Struct, frozen=True):
    """One memory that bears on a proposal.

    ``matched`` are the words of the proposal, or the changed line, that a pattern found; ``because`` says why it is not
    ``RULED-OUT``, or how it came to be. ``path`` and ``line`` are of a diff. ``score`` orders.
    """

    memory: Memory
    level: Level
    because: str
    score: float
    matched: str | None = None
    path: str | None = None
    line: int | None = None


def rule_head(rule: Memory) -> str:
    """The approach or the decision: what a proposal is compared with."""
    return rule.text


def rule_text(rule: Memory) -> str:
    """All of a rule in one sentence, as its vector is made of it."""
    parts = (
        rule.text,
        f"because {rule.because}" if rule.because else "",
        f"instead: {rule.instead}" if rule.instead else "",
    )
    return " ".join(part for part in parts if part)


def word_scores(rules: Sequence[Memory], text: str) -> Floats:
    """BM25 of each rule for a proposal, scaled to what it would be in a store of a few rules."""
    documents = [Counter(document_terms(" ".join((rule.all_words, *rule.scope.paths)))) for rule in rules]
    if not documents:
        return np.zeros(0)
    lengths = np.array([sum(document.values()) for document in documents], np.float64)
    frequency = Counter(term for document in documents for term in document)
    count, mean = len(documents), max(1.0, float(lengths.mean()))
    scores = np.zeros(count)
    for term in sorted(set(document_terms(text)) & frequency.keys()):
        # Beside one or two rules no word is rare: they are weighed as if there were a few more.
        weight = math.log(1 + (max(count, _SMALL) - frequency[term] + 0.5) / (frequency[term] + 0.5))
        tf = np.array([document[term] for document in documents], np.float64)
        scores += weight * tf * (_K1 + 1) / (tf + _K1 * (1 - _B + _B * lengths / mean))
    # A word that one rule of thousands has weighs more than the constants were set for.
    rarest = math.log(1 + (max(count, _SMALL) - 0.5) / 1.5)
    return scores * (math.log(1 + (_SMALL - 0.5) / 1.5) / rarest)


def fused_scores(words: Floats, patterns: NDArray[np.bool_], near: RuleNearness | None) -> Floats:
    """The order of rules: nearness in meaning, then words, and a step for rules one of whose patterns stands there."""
    scores: Floats = _WORDS_WEIGHT * (words - _WORDS_MEAN) / _WORDS_SPREAD + _PATTERN_WEIGHT * patterns
    if near is not None:
        scores = scores + (near.head + near.whole - _COSINE_MEAN) / _COSINE_SPREAD
    return scores


def check_text(
    rules: Sequence[Memory],
    proposal: str,
    place: Place = Place(),  # noqa: B008 - frozen
    near: RuleNearness | None = None,
    folders: Collection[str] = (),
    near_enough: float = NEAR_ENOUGH,
) -> list[Finding]:
    """The rules that bear on a proposal or a command, what is ruled out first, then the nearest.

    ``near`` is parallel to ``rules``; without it words decide alone. Only rules that hold, in a scope that ``place``
    allows, are looked at.
    """
    text = short_lines(proposal)
    considered = [n for n, rule in enumerate(rules) if rule.is_rule and rule.opens_gate and in_scope(rule.scope, place)]
    rules = [rules[n] for n in considered]
    if near is not None:
        near = RuleNearness(near.head[considered], near.whole[considered])
    judged = [judge_text(text, rule, folders, place.files) for rule in rules]
    patterns = np.array([one.reason not in ("none", "undone") for one in judged], np.bool_)
    scores = fused_scores(word_scores(rules, text), patterns, near)
    least = CONSULT_FROM if near is not None else CONSULT_FROM_WORDS
    # Nothing bears on it unless one rule is near, or one of its patterns stands there.
    if not scores.size or (float(scores.max()) < least and not any(one.hit for one in judged)):
        return []
    found = []
    for n in np.argsort(-scores, kind="stable"):
        rule, one, score = rules[n], judged[n], round(float(scores[n]), 3)
        close = near is None or float(near.head[n]) >= near_enough
        if one.hit and close:
            found.append(Finding(rule, "RULED-OUT", "its pattern holds", score, one.matched))
        elif patterns[n] or one.hit or (scores[n] >= least - _BESIDE and len(found) < _MOST_NEAR):
            reason = "its pattern holds, but the proposal is not near to it" if one.hit else _describe_judgement(one)
            found.append(Finding(rule, "CONSULT", reason, score, one.matched))
    found.sort(key=lambda one: one.level != "RULED-OUT")
    return found[:_MOST_SHOWN]


def _describe_judgement(one: Judgement) -> str:
    return {
        "none": "it is near in meaning or words",
        "scope": "the paths named lie outside its scope",
        "need": "its pattern stands there without what must stand beside it",
        "unless": "the alternative is named too",
        "muted": f"it is named in a {one.mute}",
    }.get(one.reason, "its pattern holds")


def level_of(findings: Sequence[Finding]) -> Level:
    """The answer as a whole."""
    levels = {one.level for one in findings}
    return "RULED-OUT" if "RULED-OUT" in levels else "CONSULT" if levels else "CLEAR"
