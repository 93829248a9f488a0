"""Signs by which a sentence of an agent is a reason, a result, or narration of what it is about to do.

Twenty-eight signs and three sets of weights, fitted by logistic regression on 766 labelled sentences of real sessions.
More (words, pairs of words) made it worse. ``docs/why.md`` has what the choice made with them is worth.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from rekal.plain_text import lazy_pattern
from rekal.reasons.prose_sentences import Sentence

_NARRATION = lazy_pattern(
    r"(?i)^(?:now,? |ok(?:ay)?[,.]? |good[,.:—-]* |next,? |first,? |then |also,? |and |so |great[!,.]? "
    r"|perfect[!,.]? )*(?:let me|let's|let us"
    r"|i'll (?:now |also |first |just )?(?:check|look|read|run|start|examine|see|verify|fix|add"
    r"|update|write|create|review|search|find|implement|explore|go|commit|push|re-?run|try|do)"
    r"|i (?:need|have|want|just need) to|i'm (?:now |also |just |first |going to )?(?:checking|running|re-?running"
    r"|reading|looking|waiting|formatting|staging|committing|pushing|clearing|inspecting|watching|verifying|retrying"
    r"|removing|patching|applying)|i can (?:now|see)|now (?:i|add|update|commit|build|run|check|the|pass|write|remove"
    r"|also|to)\b|(?:checking|running|reading|looking|verifying|watching|restoring|committing|adding|writing|updating"
    r"|reviewing|landing|fixing|rename|deduping|picking up)\b|here's|here is)"
)
_NOW = lazy_pattern(r"(?i)^(?:now|next)\b")
_CAUSE = lazy_pattern(
    r"(?i)\b(?:because|since (?!the (?:last|start|beginning))|so that|otherwise|instead of|rather than|to avoid|avoids?"
    r"|avoiding|to prevent|prevents?|to ensure|the reason|which (?:means|meant|lets|keeps|would|could|caused)"
    r"|that means|means that|therefore|in order to|root cause|the (?:problem|issue|bug|cause|fix) (?:was|is)|turns out"
    r"|turned out|due to|caused by|never |only |was missing|is missing|fails? (?:because|when|if)|doesn't|didn't|isn't"
    r"|wasn't|can't|cannot|would (?:have|be|break|fail|make|otherwise)|so (?:the|it|we|i|users?|they|a|this)\b"
    r"|not (?:a|an|the|in|for|by|only)\b|without|unless|until|even though|though|but|should|must|intentionally"
    r"|by design|not enough|insufficient|too (?:slow|long|large|strict|broad))\b"
)
_STRONG_CAUSE = lazy_pattern(
    r"(?i)\b(?:because|so that|instead of|rather than|to avoid|avoids|otherwise|root cause"
    r"|the (?:problem|issue|bug|cause) (?:was|is)|turns out|due to|caused by|which (?:means|meant|lets|keeps|caused)"
    r"|that means|means that|therefore|in order to|would (?:have|break|fail|otherwise)|since )\b"
)
_RESULT = lazy_pattern(
    r"(?i)^(?:\*\*)?(?:i(?:'ve| have)? )?(?:added|changed|fixed|replaced|removed|moved|implemented|updated|introduced"
    r"|extended|renamed|split|consolidated|wired|rewrote|switched|increased|reduced|restored|converted|created|dropped"
    r"|made|stabili[sz]ed|integrated|tightened|extracted|kept|reworked)\b|\b(?:now (?:uses?|returns?|has|have|shows?"
    r"|goes|falls|reports?|supports?|render\w*|keeps?|works?|handles?|follows?|preserves?|includes?|always|skips"
    r"|instructs?)|no longer|is now|are now|was removed|were removed)\b"
)
_STATUS = lazy_pattern(
    r"(?i)\b(?:all (?:tests|green|checks|passing|good)|tests? pass(?:es|ed)?|suite (?:passes|passed|is green)"
    r"|pass(?:es|ed|ing)\b|lint(?:er|ing)? (?:is )?clean|0 (?:lint )?issues|build (?:works|succeeds|is clean)"
    r"|clean(?:ed up)?\.?$|green\b|committed\b|pushed\b|verified (?:with|by)|working tree|branch\b|CI\b|PR #?\d*"
    r"|compiles|running\b|done\b|commit `?[0-9a-f]{6,})"
)
_FILLER = lazy_pattern(
    r"(?i)^(?:done|perfect|great|excellent|good|yes|no|ok(?:ay)?|sure|committed|clean|all (?:green|done|passing)"
    r"|summary|test results?|files (?:changed|modified)|changes(?: made)?|what (?:changed|it does(?: now)?"
    r"|it (?:adds|covers))|verification|changed)\b.{0,12}$"
)
_LET_ME = lazy_pattern(r"(?i)\blet me\b|\blet's\b")
_I_WILL = lazy_pattern(r"(?i)(?:i'll|i'm|i am|i will|i'd)\b")
_GERUND = lazy_pattern(r"[A-Z]?\w+ing\b")
_NO_GERUND = lazy_pattern(r"(?i)(?:nothing|everything|something|anything|during|existing|missing|string)\b")
_PATH = lazy_pattern(r"\w+/\w+|\.\w{2,4}[`:\])]")
_I_DID = lazy_pattern(r"(?i)i (?:added|changed|fixed|removed|replaced|split|kept|moved|updated)")
_CODE = lazy_pattern(r"`[^`]*`")
_WORD = lazy_pattern(r"[A-Za-z][A-Za-z']+|\d+")
# Scripts without spaces: two signs say about what a word does.
_UNSPACED = lazy_pattern(r"[\u3040-\u30ff\u4e00-\u9fff]{2}|[\uac00-\ud7af]+|[\u0400-\u04ff]+")
_LONGEST = 420  # characters
_FEWEST_WORDS = 4


class Place(msgspec.Struct, frozen=True):
    """The place of a sentence: ``index`` of ``count`` in its turn, ``distance`` in turns from the edit, ``after`` it
    or before, in the ``closing`` turn before the next prompt or not; ``overlap`` with the words of the edit, 0 to 1.
    """

    index: int = 0
    count: int = 1
    distance: int = 0
    after: bool = False
    closing: bool = False
    overlap: float = 0.0


# By sign: weights towards a reason, a result, narration. The last row is what each begins with.
_WEIGHTS = {
    "narration": (-1.125, -1.28, 2.151),
    "now": (-0.764, 0.192, 1.119),
    "colon": (-0.552, -0.771, -0.05),
    "cause": (1.51, -0.405, -0.455),
    "strong cause": (0.009, -0.05, -0.05),
    "result": (-0.939, 2.107, -0.033),
    "status": (-0.582, -1.023, 0.137),
    "filler": (-0.167, -0.39, -0.303),
    "question": (-0.134, -0.303, -0.133),
    "short": (-1.074, -0.9, 0.197),
    "very short": (-0.967, -0.618, -0.921),
    "long": (0.12, 0.053, -0.315),
    "very long": (-0.042, 0.184, -0.077),
    "listed": (-1.502, 1.118, -0.588),
    "heading": (-0.311, -1.247, -0.142),
    "closing": (0.058, 0.64, -1.161),
    "first": (-0.837, -0.108, 0.109),
    "last": (-0.968, 0.161, 1.654),
    "i will": (-0.078, -0.773, 0.439),
    "gerund": (-0.132, -0.348, -0.008),
    "path": (-0.281, 0.037, -0.293),
    "code": (0.466, 0.94, -0.869),
    "i did": (-0.508, 0.485, -0.024),
    "overlap": (0.137, 1.156, -0.776),
    "near": (0.05, 0.688, 0.27),
    "after": (-1.169, 1.793, -0.781),
    "let me": (-0.955, -0.511, 1.789),
    "dash": (-0.04, -0.135, -0.294),
}
_BEGIN = (-0.322, -3.804, -1.963)


class Worth(msgspec.Struct, frozen=True):
    """Chances, 0 to 1, that a sentence is a reason, a result or narration.

    ``status`` says that it tells how the work stands ("all tests pass"), and why nothing.
    """

    reason: float
    result: float
    narration: float
    status: bool = False

    @property
    def kind(self) -> Literal["reason", "result"]:
        """The likelier of the two kinds that are shown."""
        return "reason" if self.reason >= self.result else "result"


def is_telling(sentence: Sentence) -> bool:
    """True if a sentence says something by itself: no narration, heading, question, lone word, or opening of a list."""
    said = _straight(sentence.text)
    bare = said.rstrip("*_ ")
    if sentence.heading or bare.endswith((":", "?", "：", "？")) or len(said) > _LONGEST or _FILLER.search(said):
        return False
    if said.startswith("**") and bare.count("**") == 1 and said.rstrip().endswith("**"):
        return False  # a line in bold is a heading
    if _count_words(said) < _FEWEST_WORDS:
        return False
    return bool(_STRONG_CAUSE.search(said)) or not is_narration(said)


def is_narration(said: str) -> bool:
    """True if words only say what their speaker is doing or about to do."""
    said = _straight(said)
    return bool(_NARRATION.search(said) or _LET_ME.search(said) or (_GERUND.match(said) and not _NO_GERUND.match(said)))


def weigh_sentence(sentence: Sentence, place: Place) -> Worth:
    """Return what a sentence is likely to be, by its words and its place."""
    signs = _read_signs(sentence, place)
    reason, result, narration = _BEGIN
    for name, value in signs.items():
        if value:
            a, b, c = _WEIGHTS[name]
            reason, result, narration = reason + a * value, result + b * value, narration + c * value
    status = bool(signs["status"]) and not signs["strong cause"]
    return Worth(_chance(reason), _chance(result), _chance(narration), status)


def _read_signs(sentence: Sentence, place: Place) -> dict[str, float]:
    said = _straight(sentence.text)
    words = len(_WORD.findall(_CODE.sub(" ", said)))
    alone, cause = place.count == 1, bool(_STRONG_CAUSE.search(said))
    return {
        "narration": bool(_NARRATION.search(said)),
        "now": bool(_NOW.search(said)),
        "colon": said.rstrip("*_ ").endswith(":"),
        "cause": bool(_CAUSE.search(said)),
        "strong cause": cause,
        "result": bool(_RESULT.search(said)),
        "status": bool(_STATUS.search(said)),
        "filler": bool(_FILLER.search(said)),
        "question": said.endswith("?"),
        "short": words < 6,
        "very short": words < 4,
        "long": words > 18,
        "very long": words > 35,
        "listed": sentence.listed,
        "heading": sentence.heading,
        "closing": place.closing,
        # Alone in its turn a sentence is narration as a rule, but not when it names a cause.
        "first": place.index == 0 and not (alone and cause),
        "last": place.index == place.count - 1 and not (alone and cause),
        "i will": bool(_I_WILL.match(said)),
        "gerund": bool(_GERUND.match(said)),
        "path": bool(_PATH.search(said)),
        "code": bool(_CODE.search(said)),
        "i did": bool(_I_DID.match(said)),
        "overlap": min(1.0, place.overlap),
        "near": 1 / (1 + place.distance),
        "after": place.after,
        "let me": bool(_LET_ME.search(said)),
        "dash": " — " in said or " - " in said,
    }


def _count_words(said: str) -> int:
    plain = _CODE.sub(" ", said)
    return len(_WORD.findall(plain)) + len(_UNSPACED.findall(plain))


def _straight(said: str) -> str:
    return said.replace("’", "'")


def _chance(score: float) -> float:
    return 1 / (1 + math.exp(-score))
