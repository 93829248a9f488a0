"""Values that stand in for a secret: variables, calls, types, examples, crossed-out text."""

from __future__ import annotations

import re

from rekal.scrub.regex import Regex


def word_set(text: str) -> frozenset[str]:
    """The words of ``text`` as a set."""
    return frozenset(text.split())


_WORDS = word_set("""
    null none nil undefined true false yes no string str number int bool boolean any object unknown
    void bytes optional required disabled enabled default empty pass password passwd pwd secret token key
    value text hidden basic bearer changeme changeit todo tbd na n/a file env input prompt username
    user admin test example sample dummy fake placeholder redacted masked secretstr
""")
_STAND_IN = Regex(
    r"""^(?:
        \[?redacted | <[^>]*>?$ | \$[A-Za-z_{(] | \$?\{\{ | \{[\w.\[\]'"-]*\}$ | %\(?\w+\)?[%sd]? $ | %[sdvq]
      | @ [A-Za-z_]+ $ | \*{2,} | \.{2,} | …| x{3,} | X{3,} | -+$ | _+$ | \#
      | (?:your|my|the|some|insert|enter|replace|put|example|sample|dummy|fake|placeholder)[-_ .]
      | (?:process|os|import\.meta|ctx|context|self|this|cls|config|cfg|settings|options|opts|args|env|environ|secrets|
          vars|var|params|props|req|request|response|res|data|state|user|body|local|module|inputs|github|steps|event)
        (?:\.|\[|\?\.)
      | !\w+
    )""",
    re.VERBOSE,
)
_INSIDE = Regex(
    r"\$\{|\$\(|\{\{|#\{|<[a-z][\w -]*>|\*{3,}|\.{3}|…|x{6,}|X{6,}|(?i:example|placeholder|redacted|changeme|your[-_ ])"
)
_CALL = Regex(r"^[A-Za-z_][\w.:?!&*<>]*(?:\(|\[)")
_SEQUENCES = ("0123456789", "1234567890", "abcdefghij", "abcdef123456", "abc123def456")


def is_placeholder(value: str) -> bool:
    """True if ``value`` stands in for a secret: a variable, a call, an example."""
    stripped = value.strip().strip("\"'`")
    low = stripped.lower()
    return (
        len(set(stripped)) <= 2
        or low in _WORDS
        or _STAND_IN.search(stripped) is not None
        or _INSIDE.search(stripped) is not None
        or _CALL.match(stripped) is not None
        or any(low.startswith(sequence) for sequence in _SEQUENCES)
    )
