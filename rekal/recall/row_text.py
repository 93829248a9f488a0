"""The text of a row: whole sentences around what was asked for, code as code, without narration at its ends."""

from __future__ import annotations

from rekal.reasons.prose_sentences import Sentence, find_code_blocks, split_prose
from rekal.reasons.sentence_kind import is_narration, is_telling

_FENCE = "```"
_AROUND = 240  # characters looked at on either side, for the end of a sentence
_LITTLE = 60  # characters: a shorter row takes the next sentence in
SHORT_ROW = 40  # characters: below it a turn says little by itself


def is_worth_a_row(said: str, person: bool) -> bool:
    """True if a turn says something by itself: no bare "yes", and of an agent no narration alone."""
    said = said.strip()
    if len(said) <= SHORT_ROW:
        return False
    if person or _FENCE in said:
        return True
    # A turn that is long enough says something somewhere, whatever its sentences look like.
    return len(said) > 4 * _AROUND or any(map(is_telling, split_prose(said)))


def snap_to_sentences(said: str, start: int, end: int, *, agent: bool) -> tuple[str, bool]:
    """Return the whole sentences of ``said[start:end]``, at least one, and whether anything was left out.

    A sentence that is longer than the stretch is cut at words. A cut block of code gets its marks back. ``agent`` says
    that its words of what it is about to do may be left out.
    """
    base, stop = max(0, start - _AROUND), min(len(said), end + _AROUND)
    near = said[base:stop]
    pieces = _list_pieces(near)
    inside = [one for one in pieces if base + one.end > start and base + one.start < end]
    # A sentence that stands half in the stretch stays if there is room for it.
    while len(inside) > 1 and inside[-1].end - inside[0].start > end - start:
        inside.pop(0 if base + inside[0].start < start - (end - start) // 8 else -1)
    if agent:
        while inside and is_narration(inside[0].text):
            inside.pop(0)
        while len(inside) > 1 and is_narration(inside[-1].text):  # what it does next is in the next turn
            inside.pop()
        if not inside:
            inside = _find_telling(pieces, start - base) or [one for one in pieces if base + one.end > start][:1]
    while inside and inside[-1].end - inside[0].start < _LITTLE and inside[-1] is not pieces[-1]:
        after = pieces[pieces.index(inside[-1]) + 1]
        if after.end - inside[0].start > max(end - start, _AROUND) or (agent and is_narration(after.text)):
            break
        inside.append(after)
    while inside and inside[-1].end - inside[0].start < _LITTLE and inside[0] is not pieces[0]:
        before = pieces[pieces.index(inside[0]) - 1]
        if inside[-1].end - before.start > max(end - start, _AROUND) or (agent and is_narration(before.text)):
            break
        inside.insert(0, before)
    if not inside:
        return said[start:end].strip(), end - start < len(said)
    first, last = base + inside[0].start, base + inside[-1].end
    if last - first > end - start:
        first, last = _cut_at_words(said, max(first, start), min(last, end))
    text = said[first:last].strip()
    if text.count(_FENCE) % 2:
        text = f"{text}\n{_FENCE}" if text.rfind(_FENCE) < len(text) - 3 else f"{_FENCE}\n{text}"
    # Marks of a heading or a list that a sentence does without are not words left out.
    return text, any(map(str.isalnum, said[:first])) or any(map(str.isalnum, said[last:]))


def _find_telling(pieces: list[Sentence], at: int) -> list[Sentence]:
    """The sentence nearest to an offset that says something by itself; none where there is none."""
    telling = [one for one in pieces if is_telling(one) and not is_narration(one.text)]
    return [min(telling, key=lambda one: abs(one.start - at))] if telling else []


def _list_pieces(text: str) -> list[Sentence]:
    """The sentences and the blocks of code of a text, in order."""
    blocks = [Sentence(a, b, text[a:b], False, False) for a, b in find_code_blocks(text)]
    return sorted([*split_prose(text), *blocks], key=lambda one: one.start)


def _cut_at_words(said: str, first: int, last: int) -> tuple[int, int]:
    """The stretch without the halves of words at its ends."""
    edge = max(0, first - _LITTLE)  # a text without a space has no word to begin with
    first = next((at for at in range(first, edge, -1) if said[at - 1].isspace() or said[at - 1] in "([{\"'`"), first)
    cut = said.rfind(" ", first, last)
    return first, cut if last < len(said) and cut > first else last
