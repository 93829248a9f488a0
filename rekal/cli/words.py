"""The words of a call before click sees them: a verb, a question, or a verb that was mistyped."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence

from rekal.errors import UsageError

# Two edits make verbs of some of these ("where" and "share"): they begin questions.
_QUESTION_WORDS = frozenset(
    [
        "a",
        "any",
        "are",
        "as",
        "at",
        "can",
        "could",
        "did",
        "do",
        "does",
        "for",
        "had",
        "has",
        "have",
        "how",
        "if",
        "in",
        "is",
        "it",
        "know",
        "may",
        "must",
        "of",
        "on",
        "or",
        "should",
        "shall",
        "the",
        "there",
        "these",
        "they",
        "this",
        "those",
        "to",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "whom",
        "whose",
        "will",
        "with",
        "would",
        "you",
    ]
)
_COUNT = re.compile(r"-\d+")
_SHORT = 5  # letters of a verb in which one edit makes another word, not two
_TYPED = 2  # words after a mistyped verb: more of them are a question


def split_global_options(words: Sequence[str]) -> list[str]:
    """Carry out ``-C DIR`` before the verb and move ``--json`` and ``--color`` behind it, where verbs take them."""
    rest = list(words)
    moved: list[str] = []
    while rest:
        if rest[0] == "-C" and len(rest) > 1:
            _change_directory(rest[1])
            del rest[:2]
        elif rest[0] == "--json":
            moved.append(rest.pop(0))
        else:
            break
    if rest[:1] in (["log"], ["find"], ["sessions"], ["show"]):
        # As in `git log -5`.
        rest = [word for given in rest for word in (["-n", given[1:]] if _COUNT.fullmatch(given) else [given])]
    return [*rest[:1], *moved, *rest[1:]] if rest else moved


def _change_directory(path: str) -> None:
    try:
        os.chdir(path)
    except OSError as error:
        raise UsageError(f"cannot change to {path} ({error.strerror})", "give a directory that is there") from None


def refuse_mistyped(words: Sequence[str], verbs: Collection[str]) -> None:
    """Raise :class:`UsageError` when the first word is nearly a verb and no question goes on behind it."""
    first = words[0].lower()
    plain = [word for word in words[1:] if not word.startswith("-")]
    if first in _QUESTION_WORDS or " " in first or "?" in first:
        return
    if len(plain) > _TYPED and not any(word.startswith("--") for word in words[1:]):
        return
    near = sorted((count_edits(first, verb), verb) for verb in verbs)
    edits, verb = near[0]
    if edits <= (1 if min(len(first), len(verb)) <= _SHORT else 2):
        raise UsageError(
            f"there is no verb `{first}`",
            f'did you mean `rekal {verb}`? A question goes into quotes: rekal "{" ".join(words)[:60]}"',
        )


def count_edits(left: str, right: str) -> int:
    """Count the letters to insert, delete, replace or swap with their neighbour to make one word of the other."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        older, before, row = before, row, [i]
        for j, b in enumerate(right, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b)))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                row[j] = min(row[j], older[j - 2] + 1)
    return row[-1]
