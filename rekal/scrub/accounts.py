"""Names of accounts outside of paths: environments, ``id``, ``ls -l``, prompts, ``~name``, Windows domains.

The name becomes the same pseudonym that its home directory would get.
"""

from __future__ import annotations

from collections.abc import Iterator

from rekal.scrub.regex import Regex

Span = tuple[int, int]

_NAME = r"[A-Za-z_][A-Za-z0-9_.\-]{1,31}"
_QUOTE = r"""\\*["']?"""
# A literal that every text with the form has, in its own case, and the pattern of the form.
_FORMS: tuple[tuple[tuple[str, ...], Regex], ...] = (
    (
        ("USER", "LOGNAME"),
        Regex(
            rf"(?<![A-Za-z])(?:SUDO_USER|USERNAME|USER|LOGNAME){_QUOTE}[ ]?[=:][ ]?{_QUOTE}(?P<name>{_NAME})"
            r"(?![\w(./])"
        ),
    ),
    (("uid=", "gid="), Regex(rf"(?:(?<=[ug]id=)|(?<=groups=)|(?<=,))\d+\((?P<name>{_NAME})\)")),
    (
        ("-rw", "drwx", "lrwx", "-rwx"),
        Regex(
            rf"[dlbcps\-](?:[r\-][w\-][xsStT\-]){{3}}[@+.]?[ \t]+\d+[ \t]+(?P<name>{_NAME})"
            rf"(?:[ \t]+(?P<group>{_NAME}))?(?=[ \t])"
        ),
    ),
    ((":~", ":/"), Regex(rf"(?<![\w.@/:])(?P<name>{_NAME})@[\w\-]+:[~/][^\s$#:@]{{0,80}}[$#](?=\s)")),
    (("]$", "]#"), Regex(rf"\[(?P<name>{_NAME})@[\w.\-]+ [^\]\n]{{1,80}}\][$#]")),
    (("~",), Regex(r"(?<![\w/~.^\-])~(?P<name>[a-z][a-z0-9_\-]{2,31})(?=/)")),
    (("whoami", "/user:"), Regex(rf"(?:whoami(?:\s|\\n)+|/user:)(?:[A-Za-z0-9\-]+\\+)(?P<name>{_NAME})")),
)  # fmt: skip


def find_account_names(text: str) -> Iterator[Span]:
    """Yield the spans of account names, of persons and of machines alike."""
    for literals, pattern in _FORMS:
        if any(literal in text for literal in literals):
            for match in pattern.finditer(text):
                yield match.span("name")
                if "group" in match.groupdict() and match["group"]:
                    yield match.span("group")
