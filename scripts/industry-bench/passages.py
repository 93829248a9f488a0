"""Passages of turns, and whether what a question pins down stands together with the rest of it."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from stores import Lexicon

from rekal.recall.consistency import SLOTS, anchored_share, cut_passages
from rekal.recall.question import Anchor, AnchorKind, Question, anchor_kind, bare_word


class Passages:
    """Passages by term, and the words of them that have the shape of an anchor."""

    def __init__(self, texts: Sequence[str]) -> None:
        passages = [passage for text in texts for passage in cut_passages(text)] or ["-"]
        self.lexicon = Lexicon(passages)
        seen: dict[AnchorKind, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for passage in passages:
            words = passage.split()
            for at, word in enumerate(words):
                kind = anchor_kind(word, at == 0 or words[at - 1][-1:] in ".!?:-*")
                if kind:
                    seen[kind][bare_word(word)] += 1
        self.shaped = {kind: sorted(w for w, n in found.items() if n >= 2) for kind, found in seen.items()}


def lowest_ratio(passages: Passages, question: Question) -> float | None:
    """The lowest anchor ratio of a question, or None. Only passages with some term of it can matter."""
    ids = passages.lexicon.ids(question.terms)
    term, unit, _ = passages.lexicon.occurrences(ids)
    touched, at = np.unique(unit, return_inverse=True)
    present = np.zeros((len(ids), len(touched)), np.bool_)
    present[term, at] = True
    idf = passages.lexicon.idf(ids)
    ratios = []
    for anchor in question.of_kind(*SLOTS):
        own = np.array([name in anchor.terms for name in question.terms], np.bool_)
        _, holders, _ = passages.lexicon.occurrences(passages.lexicon.ids([anchor.term]))
        ratio = anchored_share(present, idf, own, np.isin(touched, holders))
        if ratio is not None:
            ratios.append(ratio)
    return min(ratios, default=None)


def slot_swap(passages: Passages, question: Question, rng: random.Random) -> str | None:
    """The question with one anchor exchanged for another of its kind that the store knows; None when it has none."""
    slots: list[Anchor] = [anchor for anchor in question.of_kind(*SLOTS) if passages.shaped.get(anchor.kind)]
    if not slots:
        return None
    slot = rng.choice(slots)
    pool = [word for word in passages.shaped[slot.kind] if word.casefold() != slot.text.casefold()]
    return question.text.replace(slot.text, rng.choice(pool), 1) if pool else None
