"""Settings that came with the checkout: each may make things stricter, never laxer, and none in silence.

Whoever may push to a repository writes its ``.rekal/config.yml``, and the next pull puts it in force. So nobody's
protection may rest on it: it may have more taken out, less stored, less printed. What would store more, let more
through, send anything anywhere or stop the capturing is left to the settings of whoever works here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

_MOST_LISTED = 50
_LONGEST = 500
"""Characters of a pattern or glob: people write shorter ones, and the time to compile one grows with it."""

_Rule = Callable[[Any, Any], Any]


class SharedSettings(msgspec.Struct, frozen=True):
    """The part of a shared file that is followed: ``values`` by key, the ``patterns`` that are its own, and sentences.

    ``changes`` says what it changes, ``ignored`` what of it is not followed; both are empty when there is nothing.
    """

    values: Mapping[str, Any]
    patterns: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


def tighten_settings(name: str, wanted: Mapping[str, Any], own: Mapping[str, Any], fixed: set[str]) -> SharedSettings:
    """Return what may be followed of ``wanted``, the keys and values of the shared file called ``name``.

    ``own`` are the values in force without it, by key; ``fixed`` are the keys that this clone's own file sets: it has
    the last word on them, but for patterns, which add up.
    """
    values: dict[str, Any] = {}
    changes: list[str] = []
    loosening: list[str] = []
    wrong: list[str] = []
    for key, read in wanted.items():
        value = "off" if read is False and key == "recall.daemon" else read  # how YAML reads `off`
        if key in fixed and key != "scrub.patterns":
            continue
        try:
            stricter = _RULES[key](own[key], value) if key in _RULES else own[key]
        except (TypeError, ValueError):
            wrong.append(key)
            continue
        if stricter != own[key]:
            values[key] = stricter
            changes.append(_describe_change(key, own[key], stricter))
        if _asks_more(stricter, value):
            loosening.append(key)
    patterns = tuple(p for p in values.get("scrub.patterns", ()) if p not in own["scrub.patterns"])
    return SharedSettings(
        values, patterns, tuple(_changes(name, changes)), tuple(_ignored_notes(name, loosening, wrong))
    )


def _changes(name: str, changes: list[str]) -> Iterator[str]:
    if changes:
        yield f"{name}, which came with the checkout, changes {', '.join(changes)}"


def _ignored_notes(name: str, loosening: list[str], wrong: list[str]) -> Iterator[str]:
    if loosening:
        yield (
            f"{name} also asks for {', '.join(loosening)}, which a shared file may not decide or not so, and that is "
            "not followed: `rekal config KEY VALUE` sets it for you"
        )
    if wrong:
        yield f"{name} has a value of the wrong kind for {', '.join(wrong)}, which is not followed"


def _describe_change(key: str, before: Any, after: Any) -> str:
    if isinstance(after, (list, tuple)):
        return f"{key} (adds {len(after) - len(before)})"
    return f"{key} (to {str(after).lower() if isinstance(after, bool) else after})"


def _asks_more(got: Any, value: Any) -> bool:
    """True if ``value`` asks for what is not in force now."""
    if isinstance(got, (list, tuple)):
        return not isinstance(value, list) or any(item not in got for item in value)
    return bool(got != value)


def _towards(*order: str) -> _Rule:
    """Return the rule of words in an ``order`` from lax to strict."""

    def rule(own: Any, wanted: Any) -> Any:
        return max(own, wanted, key=order.index)

    return rule


def _switched_off(own: Any, wanted: Any) -> Any:
    return False if wanted is False else own


def _bounded(choose: Callable[[Any, Any], Any], least: float, most: float) -> _Rule:
    def rule(own: Any, wanted: Any) -> Any:
        kinds = int if isinstance(own, int) else (int, float)
        if isinstance(wanted, bool) or not isinstance(wanted, kinds):
            raise TypeError
        # Beyond these recall would be switched off rather than careful.
        return choose(own, min(max(wanted, least), most)) if wanted == wanted else own

    return rule


def _more(own: Any, wanted: Any) -> Any:
    if not isinstance(wanted, list) or not all(isinstance(item, str) for item in wanted):
        raise TypeError
    # One that fits everything would switch capturing off.
    kept = [item for item in wanted if len(item) <= _LONGEST and item.strip("*?./")]
    added = [item for item in dict.fromkeys(kept) if item not in own]
    return [*own, *added[:_MOST_LISTED]]


_RULES: Mapping[str, _Rule] = {
    "capture.exclude.paths": _more,
    "capture.exclude.branches": _more,
    "capture.exclude.sessions": _more,
    "capture.tool_output": _towards("errors", "none"),
    "scrub.email": _towards("keep", "pseudonym", "redact"),
    "scrub.ip": _towards("keep", "redact"),
    "scrub.patterns": _more,
    "recall.strictness": _bounded(max, 0.0, 0.5),
    "recall.budget": _bounded(min, 200, float("inf")),
    "recall.limit": _bounded(min, 1, float("inf")),
    "recall.daemon": _towards("auto", "off"),
    "memory.reflexes": _switched_off,
}

STRICTER: Mapping[str, str] = {
    "capture.exclude.paths": "may add up to 50; a glob that fits everything is left out",
    "capture.exclude.branches": "may add up to 50; a glob that fits everything is left out",
    "capture.exclude.sessions": "may add up to 50; a glob that fits everything is left out",
    "capture.tool_output": "only to none",
    "scrub.email": "only from keep to pseudonym to redact",
    "scrub.ip": "only to redact",
    "scrub.patterns": "may add up to 50 of at most 500 characters, which run with a limit of time",
    "recall.strictness": "only up, to 0.5 at most",
    "recall.budget": "only down, to 200 at least",
    "recall.limit": "only down, to 1 at least",
    "recall.daemon": "only to off",
    "memory.reflexes": "only to false",
}
"""What a shared file may do to each key, for the documentation; keys that are not here it does not decide."""
