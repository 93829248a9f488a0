"""Names of accounts outside of paths: environments, ``id``, ``ls -l``, ``ps``, prompts, ``~name``, Windows domains.

The name becomes the same pseudonym that its home directory would get. A form is tried only where a literal of it
stands, because a pattern that begins with a name would be tried at every character of every text.
"""

from __future__ import annotations

from collections.abc import Iterator

from rekal.scrub.regex import Regex

Span = tuple[int, int]

_NAME = r"[A-Za-z_][A-Za-z0-9_.\-]{1,31}"
_QUOTE = r"""\\*["']?"""
_VARIABLE = Regex(rf"(?<![A-Za-z])(?:USERNAME|USER|LOGNAME){_QUOTE}[ ]?[=:][ ]?{_QUOTE}(?P<name>{_NAME})(?![\w(./])")
_IDENTITY = Regex(rf"(?:(?<=[ug]id=)|(?<=groups=)|(?<=,))\d+\((?P<name>{_NAME})\)")
_LISTED = Regex(
    rf"[dlbcps\-](?:[r\-][w\-][xsStT\-]){{3}}[@+.]?[ \t]+\d+[ \t]+(?P<name>{_NAME})"
    rf"(?:[ \t]+(?P<group>{_NAME}))?(?=[ \t])"
)
# A line of ``ps aux``: the name, the number, two shares, two sizes and the terminal.
_PROCESS = Regex(rf"(?P<name>{_NAME})[+]?[ ]+\d+(?:[ ]+\d+\.\d){{2}}(?:[ ]+\d+){{2}}[ ]+(?:\?|pts/\d+|tty\w+)[ ]")
_PROMPT_NAME = Regex(rf"(?<![\w.@/:]){_NAME}\Z")
_PROMPT_REST = Regex(r"@[\w\-]+:[~/][^\s$#:@]{0,80}[$#](?=\s)")
_BRACKET_PROMPT = Regex(rf"\[(?P<name>{_NAME})@[\w.\-]+ [^\]\n]{{1,80}}\][$#]")
_TILDE = Regex(r"(?<![\w/~.^\-])~(?P<name>[a-z][a-z0-9_\-]{2,31})(?=/)")
_DOMAIN = Regex(rf"(?:whoami(?:\s|\\n)+|/user:)(?:[A-Za-z0-9\-]+\\+)(?P<name>{_NAME})")


def find_account_names(text: str) -> Iterator[Span]:
    """Yield the spans of account names, of persons and of machines alike."""
    if "=" in text or ":" in text:
        for literal in ("USER", "LOGNAME"):
            yield from _names_at(text, literal, _VARIABLE)
    if "~" in text:
        yield from _names_at(text, "~", _TILDE)
    if ("?" in text and " ? " in text) or ("/" in text and " pts/" in text):
        yield from _find_processes(text)
    if "(" in text and "id=" in text and ("uid=" in text or "gid=" in text):
        yield from (match.span("name") for match in _IDENTITY.finditer(text))
    if "rw" in text and ("-rw" in text or "drwx" in text or "lrwx" in text):
        for match in _LISTED.finditer(text):
            yield match.span("name")
            if match["group"]:
                yield match.span("group")
    if "@" in text:
        yield from _find_prompts(text)
    if "\\" in text and ("whoami" in text or "/user:" in text):
        yield from (match.span("name") for match in _DOMAIN.finditer(text))


def _names_at(text: str, literal: str, pattern: Regex) -> Iterator[Span]:
    """Yield the spans of the names that ``pattern`` finds where ``literal`` stands."""
    at = text.find(literal)
    while at >= 0:
        match = pattern.match(text, at)
        if match:
            yield match.span("name")
        at = text.find(literal, at + 1)


def _find_processes(text: str) -> Iterator[Span]:
    """Yield the names of the lines of ``ps aux``, each looked for from the terminal back to the start of its line."""
    for terminal in (" ? ", " pts/"):
        at = text.find(terminal)
        while at >= 0:
            # Before a question of code stands no number and no column of blanks.
            if text[at - 1] in " 0123456789":
                line = text[max(0, at - 120) : at].replace("\\n", " \n")
                match = _PROCESS.match(text, max(0, at - len(line) + line.rfind("\n") + 1))
                if match and match.end() > at:
                    yield match.span("name")
            at = text.find(terminal, at + 1)


def _find_prompts(text: str) -> Iterator[Span]:
    """Yield the names of shells' prompts: ``name@host:~/folder$`` and ``[name@host folder]$``."""
    if "]$" in text or "]#" in text:
        yield from (match.span("name") for match in _BRACKET_PROMPT.finditer(text))
    at = text.find("@")
    while at >= 0:
        # What follows the sign is looked at first: few addresses go on like a prompt.
        name = _PROMPT_NAME.search(text, max(0, at - 33), at) if _PROMPT_REST.match(text, at) else None
        if name:
            yield name.span()
        at = text.find("@", at + 1)
