"""Long random strings that no other kind knows, and hexadecimal tokens, which look like hashes.

A candidate is a run of 32 to 128 base64 characters with digits, small and capital letters. Hashes and UUIDs have one
case only and never qualify; longer runs are data (images, signatures, encrypted blobs), not keys. Words, identifiers
and paths change the class of character rarely, random text at three steps in five: that *restlessness* and the
Shannon entropy both have to be high.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator

from rekal.plain_text import lazy_pattern
from rekal.scrub.secrets.kind import Hay, Kind, Span, has_digit, looks_mixed

_LEAST = 32
_MOST = 128
_MIN_ENTROPY = 4.2
_MIN_RESTLESSNESS = 0.42

_BODY = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+/"
_CLASSES = bytes(ord("a" if chr(code) in _BODY else " ") for code in range(256))
_RUN = b"a" * _LEAST
_SWALLOWED = lazy_pattern(r"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[A-Za-z0-9]?)")
# What an integrity hash, a data URL, an encrypted blob or a signature looks like just before its value.
_DATA_BEFORE = lazy_pattern(
    r"""(?:sha(?:1|256|384|512)[-:]|base64,|(?:integrity|signature|encrypted_content|thinking_?signature|checksum
    |digest|etag|cache_?key|request_?id|message_?id|item_?id|call_?id|response_?id|fingerprint|nonce)
    \\*["']?[ ]?[:=][ ]?\\*["']?)\Z""",
    re.IGNORECASE | re.VERBOSE,
)
_KNOWN_ID = lazy_pattern(
    r"(?:toolu|srvtoolu|msg|req|call|rs|ws|fc|resp|run|thread|asst|file|batch|chatcmpl|agent|session|turn|custom\w*|ctc|cmpl|evt|sess|item)[_\-]"
    r"|REDACTED|sha(?:1|256|384|512)-|h1:|AAAA[BCE]3Nza|iVBORw0KGgo|/9j/|R0lGOD|UklGR|PHN2Zy"
)
_WORDS = lazy_pattern(r"[A-Z]?[a-z]{3,}")
# A run that begins with a slash or holds a folder's name is a path.
_IN_PATH = lazy_pattern(r"^/|(?:^|/)(?:[a-z]{3,}\d{0,2}|[A-Z][a-z]{3,})(?:/|$)")
_MARKED = lazy_pattern(r"[.](?:js|mjs|css|map|svg|png|jpe?g|webp|woff2?|ttf|html|json|ts|tsx)\b|[(.]")

# Hexadecimal throughout, so that only length or surroundings tell it from a hash: a run and the text before it, of
# which the group ``token`` goes with the run.
_HEX_SHAPES = (
    (lazy_pattern(r"11[0-9a-f]{32}\Z"), lazy_pattern("")),  # Jenkins
    (lazy_pattern(r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\Z"), lazy_pattern("")),  # Mailgun
    (lazy_pattern(r"fc-[0-9a-f]{32}\Z"), lazy_pattern("")),  # Firecrawl
    (lazy_pattern(r"0-[0-9a-f]{24}-[0-9a-f]{100,}"), lazy_pattern(r"v1\.\Z")),  # Cloudflare's origin CA
    (
        lazy_pattern(r"[0-9a-f]{32}\Z"),
        lazy_pattern(r"(?<![\w/.])(?P<token>[012]/(?:\d{12,20}/\d{12,20}:)?)\Z|_gitlab_session=\Z"),
    ),  # Asana
    (lazy_pattern(r"[0-9a-f]{60,}"), lazy_pattern(r"mlsn\.\Z|rw_Fe26\.2\*\*\Z")),  # MailerSend, Railway
)
_ZHIPU = lazy_pattern(r"\.[A-Za-z0-9]{16}(?![\w.])")
# GitHub Copilot's: fields, the first of which is a run. The last one is a signature.
_COPILOT = lazy_pattern(r";exp=\d{8,12};[\w=;:.,\-]+")
_ESCAPE = lazy_pattern(r"\\[bf]\Z")


def _find_random(text: str, hay: Hay) -> Iterator[Span]:
    classes = hay.whole.encode("ascii").translate(_CLASSES)
    at = classes.find(_RUN)
    while at >= 0:
        end = classes.find(b" ", at + _LEAST)
        end = len(text) if end < 0 else end
        run = hay.whole[at:end]
        if len(run) <= _MOST and not run.islower() and has_digit(run) and not _is_path(run):
            for start, stop in _run_parts(text, at, end):
                if stop - start >= _LEAST and _is_random(text[start:stop]) and not _is_data(text, start, stop):
                    yield start, stop + (text[stop : stop + 2].count("=") if stop == end else 0)
        at = classes.find(_RUN, end)


def _is_path(run: str) -> bool:
    """True if ``run`` is a path and each of its parts is too short to be a secret."""
    return "/" in run and max(map(len, run.split("/"))) < _LEAST and _IN_PATH.search(run) is not None


def _run_parts(text: str, start: int, end: int) -> Iterator[Span]:
    """The run less the letters of an escape and the sign of a diff that it swallowed; of a path, its parts."""
    if text[start - 1 : start] == "\\" and (escape := _SWALLOWED.match(text, start - 1)):
        start = escape.end()
    if text[start] in "+-" and (start == 0 or text[start - 1] == "\n" or _SWALLOWED.match(text, start - 2)):
        start += 1
    run = text[start:end]
    if not _IN_PATH.search(run):
        yield start, end
        return
    for part in run.split("/"):
        yield start, start + len(part)
        start += len(part) + 1


def _is_random(run: str) -> bool:
    if not looks_mixed(run) or sum(map(len, _WORDS.findall(run))) > len(run) / 2:
        return False
    return _restlessness(run) >= _MIN_RESTLESSNESS and _entropy(run) >= _MIN_ENTROPY


def _is_data(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - 32) : start]
    return (
        _KNOWN_ID.match(text, start) is not None
        or _DATA_BEFORE.search(before) is not None
        or _MARKED.match(text, end) is not None
    )


def _restlessness(run: str) -> float:
    """Share of neighbouring characters of ``run`` of different class (small, capital, digit, other), 0 to 1."""
    classes = [0 if ch.islower() else 1 if ch.isupper() else 2 if ch.isdigit() else 3 for ch in run]
    changes = sum(left != right for left, right in itertools.pairwise(classes))
    return changes / max(1, len(run) - 1)


def _entropy(run: str) -> float:
    """Shannon entropy of ``run`` in bits per character."""
    size = len(run)
    return -sum(count / size * math.log2(count / size) for count in Counter(run).values())


def _find_hex(text: str, hay: Hay) -> Iterator[Span]:
    for start, end in hay.hexes:
        # Of the escapes that may stand before a token, two end in a hexadecimal digit and join the run.
        start += bool(_ESCAPE.search(text[max(0, start - 1) : start + 1]))
        run, before = hay.whole[start:end], hay.whole[max(0, start - 48) : start]
        contexts = (context.search(before) for shape, context in _HEX_SHAPES if shape.match(run))
        if found := next(filter(None, contexts), None):
            yield start - len(found.groupdict().get("token") or ""), end
        elif len(run) == 32 and (more := _second_part(text, end, before)):
            yield start, more.end()


def _second_part(text: str, end: int, before: str) -> re.Match[str] | None:
    """The rest of a token whose first part is the 32 hexadecimal characters that end at ``end``."""
    if before.endswith("tid="):
        return _COPILOT.match(text, end)
    more = _ZHIPU.match(text, end)
    return more if more and _looks_unspoken(more[0]) else None


def _looks_unspoken(text: str) -> bool:
    """True unless words make up half of ``text``, which has both cases."""
    return looks_mixed(text) or (
        not text.islower() and not text.isupper() and sum(map(len, _WORDS.findall(text))) <= len(text) / 2
    )


KIND = Kind("high-entropy", ("",), _find_random, in_run=True)
HEX = Kind("service-token", ("",), _find_hex, in_run=True)
