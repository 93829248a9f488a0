"""The report on a range of commits: a reason for each, and a count of secrets in all that stands behind them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from rekal.app.context import App
from rekal.app.explain_lines import as_blamed
from rekal.app.memory_views import cite_memories
from rekal.errors import GitError, UsageError
from rekal.git import Commit, split_output
from rekal.model import CitedMemory
from rekal.store.ledger import open_ledger
from rekal.store.queries import select_texts_of_sessions
from rekal.why.blame import BlamedCommit
from rekal.why.why import WhyReason, explain_commits

if TYPE_CHECKING:
    from rekal.scrub import ScrubReport

_MOST = 1000  # commits of one report
_NAMES = re.compile(r"(?:.*_)?(?:id|uid|sha|target)|forked_from|kind|origin")  # fields that hold no words


class ReportedCommit(msgspec.Struct, frozen=True):
    """One commit of the range and its sessions' reasons, the one that edited most first."""

    sha: str
    author: str
    subject: str
    reasons: list[WhyReason]


class RangeReport(msgspec.Struct, frozen=True):
    """The commits of a range with their reasons: ``report --json``.

    ``secrets`` counts by kind what scrubbing finds in the sessions of these commits and in this clone's ``refs/rekal``;
    ``unreadable`` counts files of those refs that could not be looked into. ``memories`` are decisions
    made in the range; left out when there are none.
    """

    range: str
    commits: list[ReportedCommit]
    covered: int
    secrets: dict[str, int]
    unreadable: int
    memories: list[CitedMemory] | msgspec.UnsetType = msgspec.UNSET


def report_range(app: App, span: str | None) -> RangeReport:
    """Report on ``span``, a range as git writes it: at most 1,000 commits, oldest first; None: what this branch adds.

    UsageError for no range, or when nobody can tell what the branch was begun from.
    """
    span = span or _find_own_range(app)
    commits = list(_read_commits(app, span))
    with open_ledger(app.layout.data, read_only=True) as ledger:
        reasons = explain_commits(ledger.con, app.repo, commits)
        sessions = {r.session_id for found in reasons.values() for r in found if r.session_id}
        texts = select_texts_of_sessions(ledger.con, sessions)
        decided = cite_memories(ledger.con, sessions, commits={commit.sha for commit in commits})
    carried, unreadable = _read_own_refs(app)
    found = _count_secrets(app, [*texts, *carried])
    rows = [ReportedCommit(c.sha, c.author, c.subject, reasons[c.sha]) for c in commits]
    covered = sum(any(r.level != "none" for r in row.reasons) for row in rows)
    return RangeReport(span, rows, covered, dict(found.kinds), unreadable, decided or msgspec.UNSET)


def _find_own_range(app: App) -> str:
    """The range of what this branch adds to the remote's default branch, else to a local main or master."""
    chosen, here = app.config.transport, app.repo.branch()
    remote = next(iter(sorted(chosen.remotes)), "origin")
    bases = [f"remotes/{remote}/{name}" for name in (chosen.mainline or "HEAD", "main", "master")]
    bases += [f"heads/{name}" for name in ("main", "master") if name != here]
    for base in bases:
        if app.repo.ask("rev-parse", "--verify", "--quiet", f"refs/{base}^{{commit}}"):
            return f"{base}..HEAD"  # a short name could be a tag's
    raise UsageError("git knows no default branch that this one adds to", "write BASE..HEAD, for example HEAD~5..HEAD")


def _read_commits(app: App, span: str) -> Iterator[BlamedCommit]:
    if ".." not in span or span.startswith("-"):
        raise UsageError(f"{span} is not a range", "write BASE..HEAD, for example main..HEAD")
    form = "--format=%H%x00%T%x00%P%x00%ae%x00%ct%x00%an%x00%s"
    try:
        out = app.repo.run("log", "--reverse", "--no-merges", f"-n{_MOST}", form, "--no-show-signature", span, "--")
    except GitError as error:
        raise UsageError(f"{span} is not a range here", error.message) from None
    for row in split_output(out):
        sha, tree, parents, email, when, author, subject = row.split("\0", 6)
        yield as_blamed(
            Commit(sha, tree, tuple(parents.split()), email, datetime.fromtimestamp(int(when), UTC), subject), author
        )


def _read_own_refs(app: App) -> tuple[list[str], int]:
    """Return all text in the segments of this clone's own refs, and how many segments do not open."""
    from rekal.git.repo import read_objects
    from rekal.transport.arrivals import list_segments
    from rekal.transport.refs import ref_prefix
    from rekal.wire.segment import decode_segments

    own = ref_prefix(app.config.transport.namespace)
    tips = (app.repo.ask("for-each-ref", "--format=%(objectname)", own) or "").split()
    blobs = {name for tip in tips for name in list_segments(app.repo, tip, None).segments.values()}
    texts: list[str] = []
    found = read_objects(app.repo, sorted(blobs), "blob")
    unreadable = len(blobs) - len(found)
    for data in found.values():
        records, report = decode_segments([data])
        unreadable += bool(report.skips)
        texts.extend(text for record in records for text in collect_words(msgspec.to_builtins(record)))
    return texts, unreadable


def collect_words(value: object) -> Iterator[str]:
    """Yield every string inside a record that holds words: names made of hashes would look like secrets."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for field, inner in value.items():
            if not _NAMES.fullmatch(field):
                yield from collect_words(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from collect_words(inner)


def _count_secrets(app: App, texts: Sequence[str]) -> ScrubReport:
    from rekal.scrub import count_secrets

    return count_secrets(app.scrubber, texts)
