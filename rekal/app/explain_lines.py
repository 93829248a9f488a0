"""The reasons for lines and commits: a target as typed becomes lines of a file or a commit."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import msgspec

from rekal.app.context import App
from rekal.errors import GitError, UsageError
from rekal.git import Commit
from rekal.why import blame, line_keys
from rekal.why.blame import BlamedCommit

if TYPE_CHECKING:  # loaded while git works: see `_explain_file`
    from rekal.store.database import Connection
    from rekal.why.why import WhyAnswer

_TARGET = re.compile(r"(?P<path>.+?):(?P<first>\d+)(?:[-,](?P<last>\d+))?")


class _Target(msgspec.Struct, frozen=True):
    """Lines of a file; ``last`` None: to the end."""

    path: str
    first: int = 1
    last: int | None = None


def explain_target(app: App, target: str) -> WhyAnswer:
    """Return the reasons for FILE, FILE:LINE, FILE:LINE-LINE or a commit. UsageError where ``target`` is none."""
    file = _parse_target(app, target)
    return _explain_file(app, target, file) if file else _explain_commit(app, target)


def _parse_target(app: App, target: str) -> _Target | None:
    """Return the lines that ``target`` names; None when it can only be a commit."""
    whole = app.path_in_repo(target)
    # A file of that very name comes first: `a:1` is a legal name.
    if _is_file(app, whole):
        return _Target(whole)
    match = _TARGET.fullmatch(target)
    if match is None:
        return None
    first, last = int(match["first"]), int(match["last"] or match["first"])
    if first < 1 or last < first:
        raise UsageError(f"{target} is not a range of lines", "write FILE:LINE or FILE:LINE-LINE")
    return _Target(app.path_in_repo(match["path"]), first, last)


def _is_file(app: App, path: str) -> bool:
    if app.repo.bare:
        return app.repo.ask("cat-file", "-t", f"HEAD:{path}") == "blob"
    return (app.repo.worktree / path).is_file()


def _explain_file(app: App, target: str, file: _Target) -> WhyAnswer:
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
        answer = explain_lines(ledger.con, app.repo, target, file.path, now, blamed, file.first, last)
        return _with_memories(ledger.con, answer)


def _explain_commit(app: App, target: str) -> WhyAnswer:
    from rekal.store.ledger import open_ledger
    from rekal.why.why import WhyAnswer, explain_commits

    commit = _find_commit(app, target)
    with open_ledger(app.layout.data, read_only=True) as ledger:
        reasons = explain_commits(ledger.con, app.repo, [commit])[commit.sha]
        return _with_memories(ledger.con, WhyAnswer(target, None, 0, 0, reasons))


def _with_memories(con: Connection, answer: WhyAnswer) -> WhyAnswer:
    """Add the decisions that cite the turns and commits of an answer."""
    from rekal.store.memory_log import has_events

    if not has_events(con):
        return answer
    from rekal.app.memory_views import cite_memories  # 15 ms that only a store with memories costs

    turns = {f"{r.session_id}#{r.turn}" for r in answer.reasons if r.session_id}
    turns |= {f"{r.prompt.session_id}#{r.prompt.seq}" for r in answer.reasons if r.prompt}
    found = cite_memories(con, turns=turns, commits={r.commit for r in answer.reasons if r.commit})
    return msgspec.structs.replace(answer, memories=found) if found else answer


def _find_commit(app: App, name: str) -> BlamedCommit:
    try:
        found = None if name.startswith("-") else app.repo.commit(name)
    except GitError:
        found = None
    if found is None:
        raise UsageError(f"there is no file and no commit {name} here", "write FILE:LINE, or the name of a commit")
    return as_blamed(found, app.repo.run("log", "-1", "--format=%an", found.sha, "--").strip())


def as_blamed(commit: Commit, author: str) -> BlamedCommit:
    """Return a commit in the form that blame gives; ``author`` is the person's name."""
    when = commit.committed_at
    return BlamedCommit(commit.sha, author, commit.author_email, when, when, commit.subject)
