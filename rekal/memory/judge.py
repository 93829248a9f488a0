"""One rule's patterns held against one text: does it plan to do what the rule is against."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Sequence
from typing import Literal

import msgspec

from rekal.memory.events import Scope
from rekal.memory.matchers import Matcher, Span, any_match, find_spans
from rekal.memory.scope import clean_path, path_matches
from rekal.memory.state import Memory
from rekal.plain_text import lazy_pattern


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
    if _all_outside(rule.scope, text, folders, files):
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


_PATH = lazy_pattern(
    r"[\w.@-]+(?:/[\w.*@{}-]+)+/?"
    r"|\b[\w-]+\.(?:go|py|kt|java|ts|tsx|js|c|h|cpp|rs|gd|tf|ya?ml|sql|md|toml|json|css|ipynb)\b"
)
_EXTENSION = lazy_pattern(r"\.(go|py|kt|java|tsx?|jsx?|c|h|cpp|rs|gd|tf|ya?ml|sql|md|toml|json|css|ipynb)$")
# First folders that tell a path from a package's name, a time zone or "read/write". A repository's own are added.
_FOLDERS = frozenset(
    lazy_pattern(r"\w+").findall(
        "src test tests docs internal app lib notebooks crates scripts tools pkg cmd jobs dags infra k8s data train"
        " firmware import levels lake migrations models host sim bench examples"
    )
)


def _covers(glob: str, path: str) -> bool:
    """True if a path somebody mentions lies in ``glob``, or is a directory with files in it."""
    if path_matches(path, (glob,)):
        return True
    base, named = glob.split("*")[0].rstrip("/"), clean_path(path)
    return bool(base) and (named.startswith(base) or base.startswith(f"{named}/"))


def named_paths(text: str, folders: Collection[str] = ()) -> list[str]:
    """The paths that ``text`` names. ``folders`` are the first folders of the repository's own files."""
    found = []
    for match in _PATH.finditer(text):
        path = match[0]
        if "/" not in path or path.startswith("@"):
            continue
        top = path.split("/")[0]
        if _EXTENSION.search(path) or top in _FOLDERS or top in folders:
            found.append(path)
    return found


def _all_outside(scope: Scope, text: str, folders: Collection[str] = (), files: Sequence[str] = ()) -> bool:
    """True if paths are named, in ``text`` or by ``files``, and every one of them lies outside the scope."""
    named = [*named_paths(text, folders), *files]
    return bool(scope.paths and named) and not any(_covers(glob, path) for path in named for glob in scope.paths)


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
