"""A diff, held against rules: only what it adds counts, and only where code does something.

Removed lines, lines that only move, documents, comments and tests never rule anything out: who takes a thing out names
it as often as who brings it in.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from rekal.memory.check import Finding
from rekal.memory.matchers import LONGEST_LINE, Matcher, any_match, find_spans
from rekal.memory.scope import Place, in_scope, path_matches
from rekal.memory.state import Memory
from rekal.plain_text import lazy_pattern

_HUNK = lazy_pattern(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_PROSE = lazy_pattern(
    r"(?i)\.(md|mdx|rst|txt|adoc|org|tex)$|(^|/)(docs?|licenses?)/|(^|/)(license|changelog|notice|authors)[^/]*$"
)
_TEST = lazy_pattern(
    r"(?i)(^|/)(tests?|specs?|__tests__|testing|testdata|fixtures)/|(^|/)(test_[^/]*|conftest\.py)$"
    r"|[._-](test|tests|spec)\.\w+$|tests?\.(java|kt|cs|swift)$"
)
_DERIVED = lazy_pattern(
    r"(?i)(^|/)(package-lock\.json|yarn\.lock|pnpm-lock\.yaml|poetry\.lock|uv\.lock|cargo\.lock|go\.sum|gemfile\.lock"
    r"|composer\.lock)$|(^|/)(node_modules|vendor|third_party|dist)/|\.min\.(js|css)$|\.(map|snap)$"
)
_LINE_COMMENT = {
    extension: mark
    for mark, extensions in (
        ("#", "py rb sh bash zsh yaml yml toml tf pl r jl ex exs mk gd cfg conf ini nix"),
        ("//", "js ts tsx jsx mjs go rs java kt c h cc cpp hpp cs swift scala php dart proto gradle groovy"),
        ("--", "sql lua hs elm adb"),
        (";", "clj el lisp"),
    )
    for extension in extensions.split()
}
_BLOCK_STYLE = "//"  # languages with these comments have /* ... */ too
_FORBIDDING = lazy_pattern(
    r"(?i)\b(ban(ned|s)?|forbid\w*|forbidden|disallow\w*|den(y|ied|ylist)|block(ed|list)?|blacklist|restrict(ed)?"
    r"|no-restricted-\w+|not allowed|must not|prohibit\w*|deprecated|unsupported)\b"
)
_ABOVE = 2  # lines above an added one in which a word like "forbidden" still speaks of it


class AddedLine(msgspec.Struct, frozen=True):
    """A line that a diff adds: its number in the new file, its code without comments, and the lines just above it."""

    path: str
    number: int
    code: str
    text: str
    above: str = ""


class ChangedFile(msgspec.Struct, frozen=True):
    """The new name of a changed file, what it adds, and all of its lines that the diff shows after the change."""

    path: str
    added: tuple[AddedLine, ...]
    shown: str


def is_diff(text: str) -> bool:
    """True for the output of ``git diff`` and other unified diffs."""
    return bool(re.search(r"(?m)^@@ -\d+(,\d+)? \+\d+(,\d+)? @@", text)) and bool(re.search(r"(?m)^\+\+\+ ", text))


def read_diff(text: str) -> list[ChangedFile]:
    """The files of a unified diff with what each adds, lines that only moved left out."""
    removed: Counter[str] = Counter(
        _fold_line(line[1:]) for line in text.splitlines() if line.startswith("-") and not line.startswith("--- ")
    )
    files = []
    for path, lines in _split_files(text):
        added = []
        for line in _read_added(path, lines):
            folded = _fold_line(line.text)
            if removed[folded] > 0:
                removed[folded] -= 1
            else:
                added.append(line)
        files.append(ChangedFile(path, tuple(added), "\n".join(line[1:] for line in lines if line[:1] in "+ ")))
    return files


def _fold_line(line: str) -> str:
    return " ".join(line.split())


def _split_files(text: str) -> Iterator[tuple[str, list[str]]]:
    """New name and hunk lines of each file; files that are removed have no new name and are left out."""
    path, inside = "", False
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(("diff --git ", "--- ")) and not (inside and line.startswith("--- ") and _is_removed(line)):
            if path and lines:
                yield path, lines
            path, lines, inside = "", [], False
        elif line.startswith("+++ ") and not inside:
            path = _name(line[4:])
        elif line.startswith("@@"):
            inside = True
            lines.append(line)
        elif inside and line[:1] in ("+", "-", " ", ""):
            lines.append(line or " ")
    if path and lines:
        yield path, lines


def _is_removed(line: str) -> bool:
    """True for ``--- x`` inside a hunk that is a removed line ``-- x``, a comment of SQL: no file name follows it."""
    return not line.startswith(("--- a/", "--- /dev/null", "--- "[:4] + '"a/'))


def _name(name: str) -> str:
    name = name.split("\t")[0].strip().strip('"')
    return "" if name == "/dev/null" else name.removeprefix("b/")


def _read_added(path: str, lines: Sequence[str]) -> Iterator[AddedLine]:
    number, block = 0, ""
    above: list[str] = []
    mark = _LINE_COMMENT.get(path.rpartition(".")[2].lower(), "#" if "." not in path.rpartition("/")[2] else "")
    for line in lines:
        if hunk := _HUNK.match(line):
            number, block, above = int(hunk[1]), "", []
            continue
        if line.startswith("-"):
            continue
        text = line[1:][:LONGEST_LINE]
        code, block = _code_of(text, mark, block)
        if line.startswith("+"):
            yield AddedLine(path, number, code, text, "\n".join(above[-_ABOVE:]))
        above.append(text)
        number += 1


def _code_of(text: str, mark: str, block: str) -> tuple[str, str]:
    """A line without its comments, and the end that an open block comment or docstring waits for."""
    stripped = text.strip()
    if block:
        before, found, after = text.partition(block)
        return (after, "") if found else ("", block)
    for quotes in ('"""', "'''"):
        if mark == "#" and stripped.lstrip("rRbBuU").startswith(quotes):
            return "", "" if stripped.count(quotes) > 1 else quotes
    if mark == _BLOCK_STYLE and "/*" in text:
        before, _, rest = text.partition("/*")
        _, found, after = rest.partition("*/")
        return (before + after, "") if found else (before, "*/")
    if stripped.startswith("<!--"):
        return "", "" if "-->" in stripped else "-->"
    if mark and stripped.startswith(mark):
        return "", ""
    # A mark inside quotes is text; one with white space before it is a comment.
    return (re.split(rf"\s{re.escape(mark)}", text, maxsplit=1)[0] if mark else text), ""


def check_diff(rules: Sequence[Memory], diff: str, place: Place) -> list[Finding]:
    """The rules that a diff goes against: each once, with the first line that shows it, RULED-OUT ones first."""
    files = read_diff(diff)
    found: dict[str, Finding] = {}
    for rule in rules:
        if rule.is_rule and rule.opens_gate and rule.matcher:
            for file in files:
                one = _check_file(rule, rule.matcher, file, place)
                held = found.get(rule.id)
                if one and (held is None or (held.level == "CONSULT" and one.level == "RULED-OUT")):
                    found[rule.id] = one
    return sorted(found.values(), key=lambda one: (one.level != "RULED-OUT", one.path, one.line, one.memory.id))


def _check_file(rule: Memory, matcher: Matcher, file: ChangedFile, place: Place) -> Finding | None:
    if not in_scope(rule.scope, Place((file.path,), place.branch, place.merged)) or not _is_judged(rule, file.path):
        return None
    if path_matches(file.path, matcher.except_paths):
        return None
    consult: Finding | None = None
    for line in file.added:
        if not line.code.strip():
            continue
        code = find_spans(matcher.code, line.code)
        if not code and not any_match(matcher.words, line.code):
            continue
        reason = _objection(matcher, file, line) if code else "only its words stand there, no code of it"
        level = "CONSULT" if reason else "RULED-OUT"
        matched = line.text.strip()[:200]
        one = Finding(rule, level, reason or "its pattern holds", 1.0 if code else 0.5, matched, file.path, line.number)  # type: ignore[arg-type]
        if level == "RULED-OUT":
            return one
        consult = consult or one
    return consult


def _is_judged(rule: Memory, path: str) -> bool:
    """False for files in which naming a thing does not use it, unless the rule was made for just these."""
    if _PROSE.search(path) or _DERIVED.search(path):
        return False
    return not _TEST.search(path) or any(_TEST.search(glob) for glob in rule.scope.paths)


def _objection(matcher: Matcher, file: ChangedFile, line: AddedLine) -> str:
    """Why a line with a pattern in it is no certain violation; empty when it is one."""
    if _FORBIDDING.search(f"{line.above}\n{line.text}"):
        return "the line forbids it rather than using it"
    if matcher.need and not any_match(matcher.need, f"{file.path}\n{file.shown}"):
        return "its pattern stands there without what must stand beside it"
    if any_match(matcher.unless, line.code):
        return "the alternative is named too"
    return ""
