"""Reflexes: what an act or a plain word suggests to remember. They propose and never decide.

A commit trailer by a person is that person's word, accepted at that commit. A revert suggests that what was reverted is
ruled out, a branch that was deleted unmerged that its approach was given up, and a person's word that says no, or fixes
something for good, that it is a decision. Each proposal quotes its evidence word for word.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from rekal.plain_text import lazy_pattern

Kind = Literal["decision", "dead_end", "preference"]

_LONGEST = 1200  # characters of a turn: longer ones are specifications, logs, reviews that somebody pasted
_LONGEST_SENTENCE = 320
_FEWEST_WORDS = 4

_SPLIT = lazy_pattern(r"(?<=[.!?])\s+(?=[A-Z\"'`])|\n+")
_CODE = lazy_pattern(r"(?s)```.*?(?:```|\Z)|^\s*(?:at |File \"|\$ |> |[|+\-]{2}).*$", re.MULTILINE)
_PREFERENCE = lazy_pattern(
    r"\b(from now on|going forward|standing (item|rule|wish)|in (the )?future|as a rule|whenever you"
    r"|every time you|always (use|run"
    r"|write|add|commit"
    r"|keep|ask|make|put|check|prefer)|never (use|commit|push|add|write|run|edit|touch|create)|don'?t ever)\b",
    re.IGNORECASE,
)
_REFUSING = lazy_pattern(
    r"^(no,|nope|no\.|please )?\s*(let'?s not|we (don'?t|won'?t|shouldn'?t|should not) (want|need|use|have|do"
    r"|support|keep|add|be|make|call)"
    r"|i (don'?t|do not) (want|like|think we (should|need))|(this|that|it) (is|was|seems) (wrong|too|not (what"
    r"|the right|good|worth))"
    r"|(drop|scrap|abandon|get rid of|throw away|give up on|don'?t do|don'?t use) )"
    r"|\b(revert (this|that|it|the)|roll (it|this|that) back|instead of|rather than|no longer (need|want|use)"
    r"|not worth"
    r"|doesn'?t work (for|well|because)|put (it|this|that) back|i wouldn'?t|didn'?t work|is a bad idea"
    r"|too (complex|complicated|risky|fragile|slow"
    r"|hard) )",
    re.IGNORECASE,
)
_DECIDING = lazy_pattern(
    r"\blet'?s (use|go with|do|keep|make|call|rename|move|drop|stick|focus|put|have|add|start with|leave|store"
    r"|default|treat"
    r"|change|remove|implement|only)\b"
    r"|\b(we|it|this|that|they|there|you|i think (we|it)) (should|must|need(s)? to|has to|have to|shouldn'?t"
    r"|can only|will)\b"
    r"|\b(go(ing)? with|stick with|i(’|')?d (prefer|rather|like)|i prefer|i want|i decided|we decided"
    r"|decided to|agreed"
    r"|prefer(red)? (to|the)|should (be|have|not|only|always|use|live|go)|must (be|not|have)"
    r"|make sure (that )?(we|it|the)"
    r"|only (use|support|when|if|the)|use (the )?\w+ (instead|for)|keep (the|it|this)|the idea is|option [a-d1-9]\b"
    r"|approach [a-d1-9]\b"
    r"|approved?\b|sounds good, (but|and)|yes, (but|and|use|do|let|with|keep|make))",
    re.IGNORECASE,
)
_ASKING = lazy_pattern(
    r"\?\s*$|^(can|could|would|do|does|did|is|are|was|were|what|why|how|which|where|when|who|should) ", re.IGNORECASE
)
# Orders about the work at hand, and talk about the session itself.
_TASK = lazy_pattern(
    r"^(please )?(fix|run|check|look|review|commit|push|read|show|tell|explain|investigate|continue|proceed"
    r"|try|test|create"
    r"|write|open|find|debug|see|list|merge|rebase|update|summari[sz]e)\b|\b(this session|the session"
    r"|your context|tokens)\b"
    r"|<[a-z-]+>|^/|https?://\S+$",
    re.IGNORECASE,
)
# Only with "instead" or an order to do the other thing: what a person merely mentions beside a no is no alternative.
_NOT_THIS = lazy_pattern(
    r"\b((?:use|keep|take|do|put|write|call|make|go with)\b[^.;]+?)\s+(?:instead of|rather than)\b", re.I
)
_BUT_THAT = lazy_pattern(
    r"(?:[,;:]|\s[-–—])\s+(?:but |just |rather |please |so )*"
    r"((?:use|keep|go with|stick with|let['’]?s|put|take|do|make)\b.+)$",
    re.I,
)
_DO_THAT = lazy_pattern(
    r"(?:instead,? |please |just |rather )*"
    r"(?:use|keep|go with|stick with|let['’]?s|put|take|do|make|we (?:want|use|should))\b"
    r"|.+\binstead\W*$",
    re.I,
)
_DOES_INSTEAD = lazy_pattern(
    r"^(?:(?:understood|ok(?:ay)?|got it|right|sure|agreed|makes sense)\W+)?"
    r"(?:I['’]?(?:ll| will|ve| have|m| am)\b|switching|using|going with|moving|let me)\b.*\binstead\b"
    r"|^(?:switching to|going with|now using)\b",
    re.I,
)
_AROUND = " \t\n-*>"
_LONGEST_ALTERNATIVE = 240
_ANSWER_SENTENCES = 3  # of the agent's answer in which it says what it does instead
_TRAILER = lazy_pattern(r"^(Decided|Ruled-out):\s*(.+?)\s*$", re.IGNORECASE)
_BECAUSE = lazy_pattern(r"\s+because\s+", re.IGNORECASE)
_REVERTS = lazy_pattern(r"This reverts commit ([0-9a-f]{7,64})")


class Statement(msgspec.Struct, frozen=True):
    """A sentence of a person that fixes something. ``start`` and ``stop`` are its place in the turn.

    ``instead`` are the person's words for what to do in place of what they refuse.
    """

    kind: Kind
    text: str
    start: int
    stop: int
    instead: str | None = None


class Trailer(msgspec.Struct, frozen=True):
    """A line of a commit message that decides or rules out."""

    kind: Literal["decision", "dead_end"]
    text: str
    because: str | None


def find_statements(turn: str) -> list[Statement]:
    """Sentences of a person's turn that decide, refuse, or say how to work; none for long and pasted texts."""
    if len(turn) > _LONGEST:
        return []
    bare = _without_code(turn)
    found, at = [], 0
    sentences = [one for one in _SPLIT.split(bare) if one]
    for number, sentence in enumerate(sentences):
        start = bare.index(sentence, at)
        at = start + len(sentence)
        kind = _kind_of(sentence.strip(_AROUND))
        if kind is not None:
            following = sentences[number + 1] if number + 1 < len(sentences) else ""
            instead = _find_alternative(sentence, following) if kind == "dead_end" else None
            found.append(Statement(kind, turn[start:at].strip(), start, at, instead))
    return found


def plain_sentences(text: str) -> list[str]:
    """Sentences of a text in order, without code and list marks."""
    return [clean for one in _SPLIT.split(_without_code(text)) if (clean := one.strip(_AROUND))]


def _without_code(text: str) -> str:
    """The text with blanks in place of code and pasted output, as long as it was."""
    return _CODE.sub(lambda found: " " * len(found[0]), text)


def _find_alternative(refusal: str, following: str) -> str | None:
    """The words for what to do instead: in the refusing sentence itself, or else the sentence after it, word for word.

    None when neither says it.
    """
    if (inside := _NOT_THIS.search(refusal)) or (inside := _BUT_THAT.search(refusal)):
        return inside[1].strip(_AROUND + ",;.!")
    clean = following.strip(_AROUND)
    asks = clean.endswith("?") or len(clean) > _LONGEST_ALTERNATIVE
    return clean.rstrip(".!") if not asks and _DO_THAT.match(clean) else None


def find_done_instead(answer: str) -> str | None:
    """The agent's sentence that says what it does after a person's no, word for word; None without one."""
    for sentence in plain_sentences(answer)[:_ANSWER_SENTENCES]:
        if len(sentence) <= _LONGEST_ALTERNATIVE and _DOES_INSTEAD.search(sentence):
            return sentence
    return None


def _kind_of(sentence: str) -> Kind | None:
    if len(sentence.split()) < _FEWEST_WORDS or len(sentence) > _LONGEST_SENTENCE:
        return None
    if _PREFERENCE.search(sentence):
        return "preference"
    if _ASKING.search(sentence) or _TASK.search(sentence):
        return None
    if _REFUSING.search(sentence):
        return "dead_end"
    return "decision" if _DECIDING.search(sentence) else None


def find_trailers(message: str) -> list[Trailer]:
    """``Decided: …`` and ``Ruled-out: … because …`` lines of a commit message, in order."""
    found: list[Trailer] = []
    for line in message.splitlines():
        if match := _TRAILER.match(line.strip()):
            text, *reason = _BECAUSE.split(match[2], maxsplit=1)
            kind: Literal["decision", "dead_end"] = "decision" if match[1].lower() == "decided" else "dead_end"
            found.append(Trailer(kind, text, reason[0] if reason else None))
    return found


def reverted_commits(message: str) -> list[str]:
    """The commits that a message says it reverts."""
    return list(dict.fromkeys(_REVERTS.findall(message)))
