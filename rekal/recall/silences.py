"""A sentence and the next command for each reason to be silent; JSON keeps the reason as a word."""

from __future__ import annotations

from collections.abc import Mapping

from rekal.recall.answer import Answer

_SENTENCES = {
    "empty_store": "nothing is captured yet; `rekal checkpoint --since 90d` imports past sessions",
    "thin_question": "the question names no thing to look for; add one, or `rekal sessions` lists what there is",
    "common_word": "that word is everywhere in this store; add another, or `rekal find` lists every place",
    "below_gate": "nothing here bears on it; `rekal find TEXT` looks for words literally",
    "anchor_mismatch": "sessions are alike, but none holds a name that is asked for; `rekal find NAME` is sure",
    "nothing_named": "no session is of what the question names; `rekal sessions` lists those that there are",
}
_LISTABLE = ("since", "until", "agent", "author", "branch", "file")


def describe_silence(answer: Answer, filters: Mapping[str, object]) -> str:
    """Return the sentence for a silent answer. ``filters`` are the options that narrowed it, by name."""
    given = {name: value for name, value in filters.items() if value}
    if answer.reason in ("filtered_out", "nothing_named") and given:
        options = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in given.items())
        listed = " ".join(f"--{name} {value}" for name, value in given.items() if name in _LISTABLE)
        return (
            f"nothing is left under {options}; ask without, or `rekal sessions{' ' + listed if listed else ''}` lists "
            "what there is"
        )
    if answer.reason == "filtered_out":
        return "nothing is left of the time or the names in the question; ask without them"
    return _SENTENCES.get(answer.reason, answer.reason)
