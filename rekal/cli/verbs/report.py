"""``rekal report``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click
import msgspec

from rekal.app.context import App, here
from rekal.cli.output import day, emit_json, json_option, one_line, short
from rekal.cli.verbs.why import as_blamed
from rekal.errors import FOUND, NOTHING_FOUND, REFUSED, GitError, UsageError
from rekal.git import Commit
from rekal.store.all_texts import select_texts_of_sessions
from rekal.store.ledger import open_ledger
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


class ReportAnswer(msgspec.Struct, frozen=True):
    """The answer that ``report --json`` prints.

    ``secrets`` counts by kind what scrubbing finds in the sessions of these commits and in this clone's ``refs/rekal``;
    ``unreadable`` counts files of those refs that could not be looked into.
    """

    range: str
    commits: list[ReportedCommit]
    covered: int
    secrets: dict[str, int]
    unreadable: int


@click.command("report")
@click.argument("span", metavar="BASE..HEAD")
@click.option("--format", "form", type=click.Choice(["text", "markdown"]), default="text", show_default=True)
@json_option
def command(span: str, form: str, as_json: bool) -> int:
    """For a pull request: the commits of a range, each with its prompt and reason in three lines.

    Exit code 5 when a secret is found in the sessions of these commits or in what refs/rekal carries; only its kind is
    printed. Exit code 1 when the range has no commits.
    """
    app = here()
    app.require_store()
    commits = list(_commits(app, span))
    with open_ledger(app.layout.data, read_only=True) as ledger:
        reasons = explain_commits(ledger.con, app.repo, commits)
        sessions = {r.session_id for found in reasons.values() for r in found if r.session_id}
        texts = select_texts_of_sessions(ledger.con, sessions)
    carried, unreadable = _carried(app)
    found = _secrets(app, [*texts, *carried])
    rows = [ReportedCommit(c.sha, c.author, c.subject, reasons[c.sha]) for c in commits]
    covered = sum(any(r.level != "none" for r in row.reasons) for row in rows)
    answer = ReportAnswer(span, rows, covered, dict(found.kinds), unreadable)
    if as_json:
        emit_json(answer)
    else:
        click.echo("\n".join(_markdown(answer) if form == "markdown" else _text(answer)))
    if answer.secrets:
        return REFUSED
    return FOUND if rows else NOTHING_FOUND


def _commits(app: App, span: str) -> Iterator[BlamedCommit]:
    if ".." not in span or span.startswith("-"):
        raise UsageError(f"{span} is not a range", "write BASE..HEAD, for example main..HEAD")
    form = "--format=%H%x00%T%x00%P%x00%ae%x00%ct%x00%an%x00%s"
    try:
        out = app.repo.run("log", "--reverse", "--no-merges", f"-n{_MOST}", form, "--no-show-signature", span, "--")
    except GitError as error:
        raise UsageError(f"{span} is not a range here", error.message) from None
    for row in out.splitlines():
        sha, tree, parents, email, when, author, subject = row.split("\0", 6)
        yield as_blamed(
            Commit(sha, tree, tuple(parents.split()), email, datetime.fromtimestamp(int(when), UTC), subject), author
        )


def _carried(app: App) -> tuple[list[str], int]:
    """All text in the segments of this clone's own refs, and how many segments do not open."""
    from rekal.git.objects import read_objects
    from rekal.transport.refs import prefix
    from rekal.transport.tree import listing
    from rekal.wire.segment import decode

    own = prefix(app.config.transport.namespace)
    tips = (app.repo.ask("for-each-ref", "--format=%(objectname)", own) or "").split()
    blobs = {name for tip in tips for name in listing(app.repo, tip, None).segments.values()}
    texts: list[str] = []
    found = read_objects(app.repo, sorted(blobs), "blob")
    unreadable = len(blobs) - len(found)
    for data in found.values():
        records, report = decode([data])
        unreadable += bool(report.skips)
        texts.extend(text for record in records for text in strings(msgspec.to_builtins(record)))
    return texts, unreadable


def strings(value: object) -> Iterator[str]:
    """Every string inside a record that holds words: names made of hashes would look like secrets."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for field, inner in value.items():
            if not _NAMES.fullmatch(field):
                yield from strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings(inner)


def _secrets(app: App, texts: Sequence[str]) -> ScrubReport:
    from rekal.scrub import count_secrets

    return count_secrets(app.scrubber, texts)


def _text(answer: ReportAnswer) -> list[str]:
    out = []
    for commit in answer.commits:
        first = commit.reasons[0]
        out.append(f"{commit.sha[:10]}  {day(first.committed_at)}  {one_line(commit.subject, 90)}")
        if first.level == "none":
            out.append("  no record")
        else:
            out += [f"  {name:<8} {handle}  {said}" for name, handle, said in _quoted_rows(commit)]
    return [*out, *_summary(answer)]


def _quoted_rows(commit: ReportedCommit) -> Iterator[tuple[str, str, str]]:
    """The prompt and the reason of the session that edited most, each as name, handle and words."""
    first, more = commit.reasons[0], len(commit.reasons) - 1
    others = f" (+{more} more sessions)" if more else ""
    if first.prompt:
        yield (
            "prompt",
            f"{short(first.prompt.session_id)}#{first.prompt.seq}",
            one_line(first.prompt.text, 160) + others,
        )
    if first.because:
        yield "because", f"{short(first.because.session_id)}#{first.because.seq}", one_line(first.because.text, 200)


def _markdown(answer: ReportAnswer) -> list[str]:
    out = [f"### Why, commit by commit ({answer.range})", ""]
    for commit in answer.commits:
        first = commit.reasons[0]
        out.append(f"- `{commit.sha[:10]}` **{_plain(commit.subject, 90)}**  ")
        if first.level == "none":
            out.append("  no record")
        else:
            rows = [f"  {name}: {_plain(said, 210)} `{handle}`" for name, handle, said in _quoted_rows(commit)]
            out.append("  \n".join(rows))
    return [*out, "", *_summary(answer)]


def _plain(words: str, limit: int) -> str:
    """Words that Markdown takes for words: recalled text must not bring links, images or mentions of its own."""
    return re.sub(r"([\\`*_{}\[\]<>#@|!~])", r"\\\1", one_line(words, limit))


def _summary(answer: ReportAnswer) -> list[str]:
    out = [f"{answer.covered} of {len(answer.commits)} commits have a session"]
    if answer.unreadable:
        out.append(f"{answer.unreadable} files of our refs could not be read whole")
    if answer.secrets:
        kinds = ", ".join(f"{count} {kind}" for kind, count in answer.secrets.items())
        out.append(f"secrets found: {kinds}; `rekal scrub --store` says more, `rekal forget` removes them")
    return out
