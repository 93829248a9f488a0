"""``rekal why``."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from rekal.app.context import App, here
from rekal.cli.output import day, emit_json, json_option, one_line, short
from rekal.errors import FOUND, NOTHING_FOUND, GitError, UsageError
from rekal.git import Commit
from rekal.why import blame, line_keys
from rekal.why.blame import BlamedCommit

if TYPE_CHECKING:  # loaded while git works: see `_answer_lines`
    from rekal.why.why import WhyAnswer, WhyReason

_TARGET = re.compile(r"(?P<path>.+?):(?P<first>\d+)(?:[-,](?P<last>\d+))?")
_BLOCKS = 3  # of three lines each; with head and tail the answer stays within twelve lines


class _Target(msgspec.Struct, frozen=True):
    """Lines of a file; ``last`` None: to the end."""

    path: str
    first: int = 1
    last: int | None = None


@click.command("why")
@click.argument("target")
@json_option
def command(target: str, as_json: bool) -> int:
    """Why a line is here: the turn that wrote it, its prompt, the reason given.

    TARGET is FILE, FILE:LINE, FILE:LINE-LINE or a commit. Found through amend, rebase, squash, cherry-pick and rename.
    Exit code 1 with "no record" when no session wrote any of it.
    """
    app = here()
    app.require_store()
    file = _file(app, target)
    answer = _answer_lines(app, target, file) if file else _answer_commit(app, target)
    if as_json:
        emit_json(answer)
    else:
        click.echo("\n".join(render(answer)))
    return FOUND if any(reason.level != "none" for reason in answer.reasons) else NOTHING_FOUND


def _file(app: App, target: str) -> _Target | None:
    """The lines that ``target`` names; None when it can only be a commit. A file of that very name comes first."""
    whole = _inside(app, target)
    if _exists(app, whole):
        return _Target(whole)
    match = _TARGET.fullmatch(target)
    if match is None:
        return None
    first, last = int(match["first"]), int(match["last"] or match["first"])
    if first < 1 or last < first:
        raise UsageError(f"{target} is not a range of lines", "write FILE:LINE or FILE:LINE-LINE")
    return _Target(_inside(app, match["path"]), first, last)


def _inside(app: App, name: str) -> str:
    """A path as typed, relative to the work tree."""
    if app.repo.bare:
        return name
    place = Path.cwd() / name
    top = app.repo.worktree.resolve()
    resolved = place.parent.resolve() / place.name
    if not resolved.is_relative_to(top):
        raise UsageError(f"{name} is outside of this repository", "give a file of this repository")
    return resolved.relative_to(top).as_posix()


def _exists(app: App, path: str) -> bool:
    if app.repo.bare:
        return app.repo.ask("cat-file", "-t", f"HEAD:{path}") == "blob"
    return (app.repo.worktree / path).is_file()


def _answer_lines(app: App, target: str, file: _Target) -> WhyAnswer:
    now = blame.read_file_lines(app.repo, file.path)
    if now is None:
        raise UsageError(f"there is no {file.path} here", "give a file of this repository, or a commit")
    last = file.last or max(len(now), 1)
    if last > len(now):
        raise UsageError(f"{file.path} has only {len(now)} lines", "give a line that is there")
    with ThreadPoolExecutor(1) as pool:
        span = line_keys.widen_range(now, file.first, last) if file.last else (None, None)
        blaming = pool.submit(blame.blame_file, app.repo, file.path, *span)
        # Loading the database engine takes a tenth of a second, which git needs anyway.
        from rekal.store.ledger import open_ledger
        from rekal.why.why import explain_lines

        blamed = blaming.result()
    with open_ledger(app.layout.data, read_only=True) as ledger:
        return explain_lines(ledger.con, app.repo, target, file.path, now, blamed, file.first, last)


def _answer_commit(app: App, target: str) -> WhyAnswer:
    from rekal.store.ledger import open_ledger
    from rekal.why.why import WhyAnswer, explain_commits

    commit = commit_named(app, target)
    with open_ledger(app.layout.data, read_only=True) as ledger:
        reasons = explain_commits(ledger.con, app.repo, [commit])[commit.sha]
    return WhyAnswer(target, None, 0, 0, reasons)


def commit_named(app: App, name: str) -> BlamedCommit:
    """The commit of that name. Raises :class:`UsageError` when there is none."""
    try:
        found = None if name.startswith("-") else app.repo.commit(name)
    except GitError:
        found = None
    if found is None:
        raise UsageError(f"there is no file and no commit {name} here", "write FILE:LINE, or the name of a commit")
    return as_blamed(found, app.repo.run("log", "-1", "--format=%an", found.sha, "--").strip())


def as_blamed(commit: Commit, author: str) -> BlamedCommit:
    """A commit in the form that blame gives."""
    when = commit.committed_at
    return BlamedCommit(commit.sha, author, commit.author_email, when, when, commit.subject)


def render(answer: WhyAnswer) -> list[str]:
    """At most twelve lines: the blocks with most lines first, the rest counted."""
    blocks: dict[tuple[object, ...], list[WhyReason]] = {}
    for reason in answer.reasons:
        key = (reason.level, reason.commit, reason.session_id, reason.turn, reason.note)
        blocks.setdefault(key, []).append(reason)
    # A part of the range without a record is worth one line, after what is known.
    ranked = sorted(blocks.values(), key=lambda group: (group[0].level == "none", -_size(group)))
    shown = ranked[:_BLOCKS]
    out = [line for group in shown for line in block(answer.path, group)]
    rest = ranked[_BLOCKS:]
    if rest:
        lines = f", {sum(map(_size, rest))} lines" if answer.path else ""
        out.append(f"(+{len(rest)} more{lines}; --json has them all)")
    if answer.lines > 1:
        out.append(f"{answer.recorded} of {answer.lines} lines have a record")
    return out


def _size(group: list[WhyReason]) -> int:
    return sum(reason.last - reason.first + 1 for reason in group)


def block(path: str | None, group: list[WhyReason]) -> list[str]:
    """Up to three lines on reasons that differ in their lines only: where, the prompt, the sentence."""
    reason = group[0]
    where = f"{path}:{_spans(group)}" if path else "commit"
    level = "no record" if reason.level == "none" else reason.level
    commit = reason.commit[:10] if reason.commit else "uncommitted"
    was = f" (was {reason.recorded_as[:10]})" if reason.recorded_as else ""
    head = f"{where}  {level}  {commit}{was}  {day(reason.committed_at)}  {one_line(reason.author or '', 40)}"
    out = [f"{head}  {one_line(reason.subject or '', 72)}".rstrip()]
    if reason.level == "none":
        out[0] += f"  ({reason.note})" if reason.note else ""
        return out
    if reason.prompt:
        who = one_line(reason.session_author or "", 40)
        handle = f"{short(reason.prompt.session_id)}#{reason.prompt.seq}"
        out.append(f"  prompt   {handle}  {who}, {reason.agent}: {one_line(reason.prompt.text, 160)}")
    handle = f"{short(reason.session_id or '')}#{reason.turn}"
    said = one_line(reason.because.text, 200) if reason.because else "(the agent said nothing about it)"
    out.append(f"  because  {handle}  {said}")
    return out


def _spans(group: list[WhyReason]) -> str:
    shown = [str(r.first) if r.first == r.last else f"{r.first}-{r.last}" for r in group[:4]]
    return ",".join(shown) + (f",+{len(group) - 4}" if len(group) > 4 else "")
