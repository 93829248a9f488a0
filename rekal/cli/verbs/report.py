"""``rekal report``."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from rekal.app import report_range
from rekal.app.context import find_app
from rekal.app.report_range import RangeReport, ReportedCommit
from rekal.cli.memory_output import cited_row
from rekal.cli.output import format_day, json_option, one_line, print_record, short_id
from rekal.cli.progress import show_work
from rekal.cli.verbs.why import label_reason, name_source, quote_prompt
from rekal.errors import FOUND, NOTHING_FOUND, REFUSED


@click.command("report")
@click.argument("span", metavar="[BASE..HEAD]", required=False)
@click.option("--format", "form", type=click.Choice(["text", "markdown"]), default="text", show_default=True)
@json_option
def command(span: str | None, form: str, as_json: bool) -> int:
    """For a pull request: the commits of a range, each with its prompt and reason in three lines.

    Without a range: what this branch adds to the remote's default branch, else to main or master here.

    Exit code 5 when a secret is found in the sessions of these commits or in what refs/rekal carries; only its kind is
    printed. Exit code 1 when the range has no commits.
    """
    app = find_app()
    app.require_store()
    with show_work("reading commits, their sessions and what was shared"):
        answer = report_range.report_range(app, span)
    print_record(answer, as_json, _markdown_lines if form == "markdown" else _text_lines)
    if answer.secrets:
        return REFUSED
    return FOUND if answer.commits else NOTHING_FOUND


def _text_lines(answer: RangeReport) -> list[str]:
    out = []
    for commit in answer.commits:
        first = commit.reasons[0]
        out.append(f"{commit.sha[:10]}  {format_day(first.committed_at)}  {one_line(commit.subject, 90)}")
        if first.level == "none":
            out.append("  no record")
        else:
            out += [f"  {name:<8} {handle}  {said}" for name, handle, said in _quoted_rows(commit)]
    return [*out, *(cited_row(one) for one in answer.memories or ()), *_summary_lines(answer)]


def _quoted_rows(commit: ReportedCommit) -> Iterator[tuple[str, str, str]]:
    """The prompt and the reason of the session that edited most, each as name, handle and words."""
    first, more = commit.reasons[0], len(commit.reasons) - 1
    others = name_source(first) + (f" (+{more} more sessions)" if more else "")
    if first.prompt:
        handle = f"{short_id(first.prompt.session_id)}:{first.prompt.seq}"
        yield "prompt", handle, quote_prompt(first.prompt) + others
    if first.because:
        label, handle = label_reason(first.because, commit.sha)
        yield label, handle, one_line(first.because.text, 200) + ("" if first.prompt else others)
    if not first.prompt and not first.because:
        yield "turn", f"{short_id(first.session_id or '')}:{first.turn}", others.strip()


def _markdown_lines(answer: RangeReport) -> list[str]:
    out = [f"### Why, commit by commit ({answer.range})", ""]
    for commit in answer.commits:
        first = commit.reasons[0]
        out.append(f"- `{commit.sha[:10]}` **{_escape_markdown(commit.subject, 90)}**  ")
        if first.level == "none":
            out.append("  no record")
        else:
            rows = [
                f"  {name}: {_escape_markdown(said, 400)} `{handle}`" for name, handle, said in _quoted_rows(commit)
            ]
            out.append("  \n".join(rows))
    decided = [f"- {_escape_markdown(cited_row(one), 460)}" for one in answer.memories or ()]
    return [*out, "", *([*decided, ""] if decided else []), *_summary_lines(answer)]


def _escape_markdown(words: str, limit: int) -> str:
    """Words that Markdown takes for words: recalled text must not bring links, images or mentions of its own."""
    return re.sub(r"([\\`*_{}\[\]<>#@|!~])", r"\\\1", one_line(words, limit))


def _summary_lines(answer: RangeReport) -> list[str]:
    out = [f"{answer.covered} of {len(answer.commits)} commits have a session"]
    if answer.unreadable:
        out.append(f"{answer.unreadable} files of our refs could not be read whole")
    if answer.secrets:
        kinds = ", ".join(f"{count} {kind}" for kind, count in answer.secrets.items())
        out.append(f"secrets found: {kinds}; `rekal scrub --store` says more, `rekal forget` removes them")
    return out
