"""``rekal why``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rekal.app import explain_lines
from rekal.app.context import find_app
from rekal.cli.memory_output import cited_row
from rekal.cli.output import format_day, format_origin, json_option, one_line, print_record, short_id
from rekal.cli.progress import show_work
from rekal.errors import FOUND, NOTHING_FOUND

if TYPE_CHECKING:  # loaded while git works: see `rekal.app.explain_lines`
    from rekal.why.spoken_reasons import PromptQuote, ReasonQuote
    from rekal.why.why import WhyAnswer, WhyReason

_MEMORIES = 2
_BLOCKS = 3  # of three lines each; with head and tail the answer stays within twelve lines


@click.command("why")
@click.argument("target")
@json_option
def command(target: str, as_json: bool) -> int:
    """Why a line is here: the turn that wrote it, its prompt, the reason given.

    TARGET is FILE, FILE:LINE, FILE:LINE-LINE or a commit. Found through amend, rebase, squash, cherry-pick and rename.
    Exit code 1 with "no record" when no session wrote any of it.
    """
    app = find_app()
    app.require_store()
    with show_work("looking for who wrote it"):
        answer = explain_lines.explain_target(app, target)
    print_record(answer, as_json, format_why)
    return FOUND if any(reason.level != "none" for reason in answer.reasons) else NOTHING_FOUND


def format_why(answer: WhyAnswer) -> list[str]:
    """Return at most twelve lines: the blocks with most lines first, the rest counted."""
    blocks: dict[tuple[object, ...], list[WhyReason]] = {}
    for reason in answer.reasons:
        key = (reason.level, reason.commit, reason.session_id, reason.turn, reason.note)
        blocks.setdefault(key, []).append(reason)
    # A part of the range without a record is worth one line, after what is known.
    ranked = sorted(blocks.values(), key=lambda group: (group[0].level == "none", -_count_lines(group)))
    shown = ranked[:_BLOCKS]
    out = [line for group in shown for line in _format_block(answer.path, group)]
    rest = ranked[_BLOCKS:]
    if rest:
        lines = f", {sum(map(_count_lines, rest))} lines" if answer.path else ""
        out.append(f"(+{len(rest)} more{lines}; --json has them all)")
    out += [f"  {cited_row(one)}" for one in (answer.memories or [])[:_MEMORIES]]
    if answer.lines > 1:
        out.append(f"{answer.recorded} of {answer.lines} lines have a record")
    return out


def _count_lines(group: list[WhyReason]) -> int:
    return sum(reason.last - reason.first + 1 for reason in group)


def _format_block(path: str | None, group: list[WhyReason]) -> list[str]:
    """Return up to three lines on reasons that differ in their lines only: where, the prompt, the sentence."""
    reason = group[0]
    where = f"{path}:{_spans(group)}" if path else "commit"
    level = "no record" if reason.level == "none" else reason.level
    commit = reason.commit[:10] if reason.commit else "uncommitted"
    was = f" (was {reason.recorded_as[:10]})" if reason.recorded_as else ""
    head = f"{where}  {level}  {commit}{was}  {format_day(reason.committed_at)}  {one_line(reason.author or '', 40)}"
    out = [f"{head}  {one_line(reason.subject or '', 72)}".rstrip()]
    if reason.level == "none":
        out[0] += f"  ({reason.note})" if reason.note else ""
        return out
    source = name_source(reason)
    who = f"{one_line(reason.session_author or '', 40)}, {reason.agent}{source}"
    if reason.prompt:
        handle = f"{short_id(reason.prompt.session_id)}:{reason.prompt.seq}"
        out.append(f"  prompt   {handle}  {who}: {quote_prompt(reason.prompt)}")
    whose = "" if reason.prompt else f"{who}: "
    if reason.because:
        label, handle = label_reason(reason.because, reason.commit)
        out.append(f"  {label:<8} {handle}  {whose}{one_line(reason.because.text, 200)}")
    else:
        # Nobody gave a reason: what is left is where to read on.
        out.append(f"  turn     {short_id(reason.session_id or '')}:{reason.turn}  {whose.removesuffix(': ')}".rstrip())
    return out


def quote_prompt(prompt: PromptQuote) -> str:
    """Return a prompt on one line; behind a bare one what it answers."""
    if prompt.answers:
        return f'"{one_line(prompt.text, 40)}" to: {one_line(prompt.answers, 120)}'
    return one_line(prompt.text, 160)


def label_reason(because: ReasonQuote, commit: str | None) -> tuple[str, str]:
    """Return what a sentence is and the handle of where it stands: a turn, or the commit whose message it is from."""
    label = {"reason": "because", "result": "result", "message": "message"}[because.kind]
    if because.session_id is None:
        return label, (commit or "")[:10]
    return label, f"{short_id(because.session_id)}:{because.seq}"


def name_source(reason: WhyReason) -> str:
    """Return where a session came from, in brackets behind a space; empty for one of this clone."""
    if reason.origin in (None, "own"):
        return ""
    return format_origin(reason.origin, {reason.origin: reason.signature or ""})[1:]


def _spans(group: list[WhyReason]) -> str:
    shown = [str(r.first) if r.first == r.last else f"{r.first}-{r.last}" for r in group[:4]]
    return ",".join(shown) + (f",+{len(group) - 4}" if len(group) > 4 else "")
