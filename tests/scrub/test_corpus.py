"""Rates over the generated corpus: how much of each class of secrets and personal data scrubbing takes out."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest

from rekal.scrub import Rules, Scrubber
from tests.scrub import corpus

SEED = 20
LEAST = 0.95
SCRUBBER = Scrubber(Rules(homes=("/home/zelda",), username="zelda", salt="s", ip="redact"))

# A secret is gone when no stretch of this many of its characters is left: enough to recognise it by.
STRETCH = 10

Case = tuple[str, str, str]  # name, text, the secret


def vendor_cases() -> Iterator[Case]:
    for name, template in {**corpus.VENDORS, **corpus.NAMED}.items():
        rng = random.Random(f"{SEED} {name}")
        for context, wrap in corpus.CONTEXTS.items():
            if name in corpus.NAMED and context in ("code", "environment"):
                continue  # they bring their own quotes and names
            token, secret = corpus.fill_template(rng, template)
            yield f"{name} {context}", wrap(token), secret


def password_cases() -> Iterator[Case]:
    for name, form in corpus.PASSWORD_FORMS.items():
        rng = random.Random(f"{SEED} {name}")
        for n in range(2):
            text, secret = corpus.fill_password_form(rng, form)
            yield f"{name} {n}", text, secret


def wrapping_cases() -> Iterator[Case]:
    for name, wrap in corpus.WRAPPINGS.items():
        for vendor in corpus.WRAPPED:
            token, _ = corpus.fill_template(random.Random(f"{SEED} {name} {vendor}"), corpus.VENDORS[vendor])
            yield f"{name} {vendor}", wrap(token), token


def personal_cases() -> Iterator[Case]:
    for name, form in corpus.PERSONAL.items():
        rng = random.Random(f"{SEED} {name}")
        for n in range(2):
            text, gone = corpus.fill_personal_form(rng, form)
            yield f"{name} {n}", text, gone


CLASSES = {
    "vendors' shapes": vendor_cases,
    "password forms": password_cases,
    "wrappings": wrapping_cases,
    "personal data": personal_cases,
}


def left_of(secret: str, before: str, after: str) -> bool:
    """True if ``after`` still has a recognisable part of ``secret``, in the spelling of ``before``."""
    found = re.search(r"\s+".join(map(re.escape, secret.split())), before)
    stretches = {secret[i : i + STRETCH] for i in range(max(1, len(secret) - STRETCH + 1))}
    if found is None:  # wrapped: then the text must have lost about as much as the secret takes
        return len(before) - len(re.sub(r"\[redacted:[a-z0-9-]*\]", "", after)) < 0.8 * len(secret)
    return any(one in after for one in stretches)


def test_the_corpus_is_large_enough() -> None:
    keyed = len(corpus.VENDORS) + len(corpus.NAMED)
    assert keyed + len(corpus.PASSWORD_FORMS) + len(corpus.WRAPPINGS) + len(corpus.PERSONAL) >= 400
    assert len(corpus.VENDORS) >= 250


@pytest.mark.parametrize("kind", CLASSES)
def test_nearly_all_is_taken_out(kind: str) -> None:
    cases = list(CLASSES[kind]())
    kept = [name for name, text, secret in cases if left_of(secret, text, SCRUBBER.text(text))]
    rate = 1 - len(kept) / len(cases)
    print(f"{kind}: {len(cases) - len(kept)} of {len(cases)} ({rate:.1%}); left: {', '.join(kept)}")
    assert rate >= LEAST


@pytest.mark.parametrize("kind", CLASSES)
def test_scrubbing_the_corpus_twice_changes_nothing(kind: str) -> None:
    for name, text, _ in CLASSES[kind]():
        once = SCRUBBER.text(text)
        assert SCRUBBER.text(once) == once, name
