"""Prompts that say what is wanted when read alone, and what a bare "yes" or "do 1 and 3" answers."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rekal.plain_text import lazy_pattern
from rekal.reasons.prose_sentences import split_prose

# Go-ahead, filler, and the words of every task: what is left of a prompt without them is its content.
_EMPTY_WORDS = frozenset(
    """a an the of to in on for by with and or is are be it its this that these those i i'm you we me my your our us
    please pls can could would should will let let's lets ok okay yes yeah yep no nope sure great good nice cool thanks
    thank perfect fine right correct exactly word do does did doing done go ahead keep going just continue proceed start
    next then now again try more so all both them it's that's sounds looks look make commit push merge ship send pr
    branch implement apply fix change changes patch update run review one two three first second third option step item
    point at b c d what's what whats why how when there left still open up hmm oh well hey hi hello buddy want
    need have has had get got if as from into out here too also yet was were been am not don't dont didn't but back
    recommended recommend suggested suggestions everything things thing stuff move show see tell explain check can't
    ready idea plan plans""".split()  # noqa: SIM905  # a list of words reads as prose
)
_WORD = lazy_pattern(r"[A-Za-zÀ-ÿ\u0400-\u04ff\uac00-\ud7af][\w'’-]*|[\u3040-\u30ff\u4e00-\u9fff]{1,2}|`[^`]+`")
_TAG = lazy_pattern(r"^<[^>]+>|^\W+")
_COMMANDS = lazy_pattern(r"(?:/\S+\s*)+")
_NAMED = lazy_pattern(r"`[^`]+`|\b\w+[_./]\w+|\b[a-z]+[A-Z]\w+|https?://")
_LONGEST = 4_000  # characters looked at
_ENOUGH_WORDS, _SHORT_ORDER = 3, 2
_OFFER = lazy_pattern(
    r"(?i)\b(?:want me to|should i|shall i|would you like|do you want|may i|ready to|i can |i'd (?:recommend|suggest|do"
    r"|start|go)|i (?:recommend|suggest|propose)|my recommendation|recommend(?:ed|ation)?\b|next (?:step|would|is"
    r"|useful)|the next|best next|option|proceed with|go with|plan:|approach)\b"
)
_ITEM = lazy_pattern(
    r"(?m)^\s*(?:[-*#>]+\s*)*(?:\*\*)?(?:Option\s+)?(?:P\d\s*#)?([0-9]{1,2}|[A-Ea-e])(?:\*\*)?[.):]\s*(.+)$"
)
_PRONOUN = lazy_pattern(r"(?i)\b(?:a|i)\b(?=\s+[a-z]{2,})")
_CHOSEN = lazy_pattern(r"\b(\d{1,2}|[a-e])\b")
_LONGEST_CHOICE = 60  # characters: a longer answer is no list of numbers
_MOST_ITEMS = 3
_SHORTEST_OFFER = 24  # characters


class ShownPrompt(msgspec.Struct, frozen=True):
    """The prompt before an edit that is shown: ``back`` steps from the last one, and what it ``answers``."""

    back: int
    answers: str | None = None


def choose_prompt(prompts: Sequence[str], before: str) -> ShownPrompt | None:
    """Return the prompt that says what was wanted, of ``prompts``, newest first; None where none does.

    ``before`` is what the agent said before the newest.
    """
    if not prompts:
        return None
    if has_content(prompts[0]):
        return ShownPrompt(0)
    answered = find_answered(prompts[0], before)
    if answered:
        return ShownPrompt(0, answered)
    if count_content(prompts[0]) >= _SHORT_ORDER:
        return ShownPrompt(0)
    # Two steps back a prompt is about this edit in one case of fifteen.
    return ShownPrompt(1) if len(prompts) > 1 and has_content(prompts[1]) else None


def has_content(prompt: str) -> bool:
    """True if a prompt says what is wanted without the words before it."""
    words = count_content(prompt)
    return words >= _ENOUGH_WORDS or (words >= _SHORT_ORDER and bool(_NAMED.search(prompt[:_LONGEST])))


def count_content(prompt: str) -> int:
    """Number of different words of a prompt that are neither go-ahead nor filler nor in every task."""
    said = prompt[:_LONGEST].strip()
    if _COMMANDS.fullmatch(said):
        return 0
    words = _WORD.findall(_TAG.sub("", said).replace("’", "'"))
    return len({word.lower() for word in words if word.lower() not in _EMPTY_WORDS and len(word) > 1})


def find_answered(prompt: str, before: str) -> str | None:
    """Return the part of the agent's words ``before`` that a bare prompt answers; None where there is none that tells.

    Numbers and letters choose items of a list; anything else goes with the last question or offer.
    """
    items: dict[str, str] = {}
    for name, text in _ITEM.findall(before):
        items.setdefault(name.lower(), text.strip(" *"))
    chosen = _CHOSEN.findall(_PRONOUN.sub(" ", prompt.strip()).lower()) if len(prompt) <= _LONGEST_CHOICE else []
    picked = [items[name] for name in dict.fromkeys(chosen) if name in items][:_MOST_ITEMS]
    if picked:
        return "; ".join(picked)
    said = [sentence.text for sentence in split_prose(before)]
    offers = [
        one
        for one in said
        if len(one) > _SHORTEST_OFFER and (one.endswith("?") or (_OFFER.search(one) and not one.endswith(":")))
    ]
    return offers[-1] if offers and has_content(offers[-1]) else None
