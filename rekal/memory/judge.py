"""One rule's patterns held against one text: does it plan to do what the rule is against."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

import msgspec

from rekal.memory.clauses import find_mute, is_removed, is_undone
from rekal.memory.matchers import Matcher, Span, any_match, find_spans
from rekal.memory.scope import all_outside
from rekal.memory.state import Memory


class Judgement(msgspec.Struct, frozen=True):
    """The ruling of one rule on one text: ``hit``, or the reason for none; the words that a pattern found."""

    reason: Literal["hit", "undone", "none", "scope", "need", "unless", "muted"]
    mute: str = ""
    matched: str | None = None

    @property
    def hit(self) -> bool:
        """True if the rule is violated as far as words tell."""
        return self.reason in ("hit", "undone")


def judge_text(text: str, rule: Memory, folders: Collection[str] = (), files: Sequence[str] = ()) -> Judgement:
    """Hold one rule's patterns against a proposal: all gates, each mention in its own clause."""
    matcher = rule.matcher or Matcher()
    spans = find_spans((*matcher.code, *matcher.words), text)
    others = find_spans(matcher.unless, text)
    undone = [span for span in others if is_undone(text, span)]
    if not spans:
        if others and undone == others and any(is_removed(text, span) for span in others):
            return Judgement("undone", matched=_words_at(text, others[0]))
        return Judgement("none")
    matched = _words_at(text, spans[0])
    if all_outside(rule.scope, text, folders, files):
        return Judgement("scope", matched=matched)
    if matcher.need and not any_match(matcher.need, text):
        return Judgement("need", matched=matched)
    if others and undone != others:
        return Judgement("unless", matched=matched)
    mutes = [find_mute(text, span) for span in spans]
    if all(mutes):
        return Judgement("muted", str(mutes[0]), matched)
    free = next(span for span, mute in zip(spans, mutes, strict=True) if mute is None)
    return Judgement("hit", matched=_words_at(text, free))


def _words_at(text: str, span: Span) -> str:
    return text[span.start : span.stop]
