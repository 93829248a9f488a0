"""The one sentence that explains an edit, of all that an agent said around it; none where none does."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from rekal.plain_text import lazy_pattern
from rekal.reasons.prose_sentences import Sentence, split_prose
from rekal.reasons.sentence_kind import Place, Worth, is_telling, weigh_sentence

_WORD = lazy_pattern(r"[A-Za-z][A-Za-z0-9]{2,}")
_PIECE = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ENOUGH = 0.4  # below it a sentence explains too seldom to be worth a line
_OVERLAP_WORDS = 8  # shared words that count as full agreement
_WEAK_OVERLAP = 0.3
_GRAND_CLOSING = 0.3  # taken off a closing sentence that other edits share and that has little to do with this one
_LONG, _LONG_COST = 260, 0.15
_TURN_COST, _FAR = 0.03, 8
_STATUS_COST = 0.2
_COMMON = frozenset(
    """the and for with that this from are was were not now but has have had its into when than then all can will add
    use using new file files test tests code src lib fix make""".split()  # noqa: SIM905  # a list of words reads as prose
)


class SpokenTurn(msgspec.Struct, frozen=True):
    """One turn of the agent: its number in the session and its words. ``closing``: the last before the next prompt."""

    seq: int
    text: str
    closing: bool = False


class ChosenSentence(msgspec.Struct, frozen=True):
    """A sentence with its turn, what it is likely to be, and a score by which it was chosen."""

    seq: int
    sentence: Sentence
    worth: Worth
    score: float


def choose_reason(
    turns: Sequence[SpokenTurn],
    edited: int,
    about: Iterable[str],
    *,
    taken: Collection[str] = (),
    shared_closing: bool = False,
) -> ChosenSentence | None:
    """Return the best sentence on the edit of turn ``edited``, None where none is good enough.

    ``about`` are texts that the sentence should share words with: paths, lines written, a subject. ``taken`` are
    sentences that explain another edit already. ``shared_closing``: later edits have the same closing turn.
    """
    wanted = _find_words(about)
    rated = [
        one
        for one in _rate_sentences(turns, edited, wanted, shared_closing)
        if one.score > _ENOUGH and one.sentence.text not in taken
    ]
    return max(rated, key=lambda one: one.score, default=None)


def _find_words(texts: Iterable[str]) -> set[str]:
    """Return the words of texts in lower case, names of code in their parts, without the commonest."""
    found = set()
    for text in texts:
        for word in _WORD.findall(text):
            found.add(word.lower())
            found.update(piece.lower() for piece in _PIECE.findall(word) if len(piece) > 2)
    return found - _COMMON


def _rate_sentences(
    turns: Sequence[SpokenTurn], edited: int, wanted: Collection[str], shared_closing: bool
) -> Iterator[ChosenSentence]:
    order = {turn.seq: place for place, turn in enumerate(turns)}
    at = max((place for seq, place in order.items() if seq <= edited), default=0)
    for turn in turns:
        sentences = split_prose(turn.text)
        distance = abs(order[turn.seq] - at)
        for index, one in enumerate(sentences):
            if not is_telling(one):
                continue
            overlap = min(1.0, len(_find_words([one.text]) & set(wanted)) / _OVERLAP_WORDS)
            place = Place(index, len(sentences), distance, turn.seq > edited, turn.closing, overlap)
            worth = weigh_sentence(one, place)
            score = worth.reason + 0.7 * worth.result - 0.6 * worth.narration + 0.35 * overlap
            score -= _STATUS_COST * worth.status
            score -= _LONG_COST * (len(one.text) > _LONG) + _TURN_COST * min(distance, _FAR)
            if turn.closing and shared_closing and overlap < _WEAK_OVERLAP:
                score -= _GRAND_CLOSING
            yield ChosenSentence(turn.seq, one, worth, score)
