"""The direction of a mention: does a proposal plan to do the thing, or to remove, question, document or forbid it.

A small grammar over clauses and sentences, for English with the commonest words of German and Japanese. Similarity
cannot tell these apart: who removes a thing names it more plainly than who sneaks it in. Each mention is judged in its
own clause; a rule holds when one mention is left that nothing mutes.
"""

from __future__ import annotations

import itertools
import re
from typing import Literal

import msgspec

from rekal.memory.matchers import Span
from rekal.plain_text import lazy_pattern

Mute = Literal["question", "removal", "negation", "guard", "document"]
"""Why a mention is no plan to do it."""

_SENTENCE = lazy_pattern(r"(?<=[.!?])\s+(?=[A-Z`\"<(])|\n+|(?<=[。])")
_CLAUSE_START = lazy_pattern(r"[.;:!?,]\s|\bso that\b|\bbecause\b|\band then\b|^")
_CLAUSE_END = lazy_pattern(r"[.;!?,](\s|$)|\bso that\b|\bbecause\b")
_REMOVING = lazy_pattern(
    r"\b(remov\w*|delet\w*|drop(s|ped|ping)?|rip\w* out|get rid of|uninstall\w*|retir\w*|clean(ing|ed)?[- ]?up"
    r"|strip\w*|replac\w*|migrat\w* (away|off)|swap\w* out|entfern\w*|lösch\w*|ersetz\w*|ban|forbid|reject|disallow"
    r"|revert|phase out|stop using|goes away|go away)\b|(?:削除|廃止)",
    re.IGNORECASE,
)
# "replace Y with it": what follows these is what comes instead.
_COMES_INSTEAD = lazy_pattern(r"\b(with|by|for|durch|to)\b[^,;]*$", re.IGNORECASE)
_ASKING = lazy_pattern(
    r"\?\s*(\s|$)|^\s*(could|can|what|why|how|which|would|does|do|is|are|should|tell|read|compare|explain|find out"
    r"|look (up|into)|research|investigate|summari[sz]e|list|check whether|warum|wie|was)\b|\b(tell me|i only want"
    r"|i'd like to know|let me know|read up|i want to (know|understand))\b",
    re.IGNORECASE,
)
_GUARDING = lazy_pattern(
    r"\b(lint\w*|assert\w*|sanitizer|semgrep|eslint|clippy|grep(s|ping)? for|pre-commit"
    r"|(test|check|job|rule|CI|script|hook|policy)\b[^.]{0,40}\b(fail\w*|block\w*|reject\w*|den(y|ies)|absent|warn\w*)"
    r"|fails? the build|alert\w* (when|if)|tests? (that|for|which|under))",
    re.IGNORECASE,
)
_DOCUMENTING = lazy_pattern(
    r"\b(comment|documentation|readme|faq|wiki|manual|changelog|runbook|adr|paragraph|mention\w*|quote|write down"
    r"|post-?mortem|(say|saying|explain\w*|section|note|page|docs?)\b[^.]{0,60}\b(why|that|about|of)|docs/\S+)",
    re.IGNORECASE,
)
_NEGATING = lazy_pattern(
    r"\b(instead of|rather than|no longer|not used|isn't|never|avoid\w*|nobody uses|unused|dead|leftover|without|statt"
    r"|kein\w*|keep out)\b",
    re.IGNORECASE,
)
_NEGATED_AFTER = lazy_pattern(r"^\W*\w*\W*(is|are|was|were) (not|no longer|un)\w*", re.IGNORECASE)
_UNDOING = lazy_pattern(r"\b(don't|doesn't|isn't|not|no|never|without|nobody)\b|ません|ない", re.IGNORECASE)


class _Part(msgspec.Struct, frozen=True):
    """A clause or sentence, and where in it the mention stands."""

    text: str
    at: int

    @property
    def before(self) -> str:
        return self.text[: self.at]


def _clause(text: str, position: int) -> _Part:
    starts = [match.end() for match in _CLAUSE_START.finditer(text[:position])]
    start = max(starts, default=0)
    end = _CLAUSE_END.search(text[position:])
    stop = position + end.start() if end else len(text)
    return _Part(text[start:stop], position - start)


def _sentence(text: str, position: int) -> _Part:
    joints = [0, *(match.end() for match in _SENTENCE.finditer(text)), len(text)]
    for start, stop in itertools.pairwise(joints):
        if start <= position < stop:
            return _Part(text[start:stop], position - start)
    return _Part(text, position)


def _removed(clause: _Part) -> bool:
    """True if a removing verb stands before the mention and the mention isn't what comes instead."""
    found = _REMOVING.search(clause.before)
    return found is not None and not _COMES_INSTEAD.search(clause.text[found.end() : clause.at])


def find_mute(text: str, mention: Span) -> Mute | None:
    """The reason why a mention is no plan to do the thing; None when it is one."""
    clause, sentence = _clause(text, mention.start), _sentence(text, mention.start)
    if _ASKING.search(sentence.text):
        return "question"
    if _removed(clause):
        return "removal"
    if _NEGATING.search(clause.before) or _NEGATED_AFTER.search(clause.text[clause.at :]):
        return "negation"
    if _GUARDING.search(sentence.text):
        return "guard"
    return "document" if _DOCUMENTING.search(sentence.before) else None


def is_undone(text: str, mention: Span) -> bool:
    """True if the mention is removed or denied: said of the alternative, that goes against the rule."""
    clause = _clause(text, mention.start)
    return bool(_REMOVING.search(clause.before)) or bool(_UNDOING.search(clause.text))


def is_removed(text: str, mention: Span) -> bool:
    """True if a removing verb stands before the mention in its clause."""
    return bool(_REMOVING.search(_clause(text, mention.start).before))
