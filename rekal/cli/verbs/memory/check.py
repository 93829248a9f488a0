"""``rekal check``."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from rekal.app import memory_check
from rekal.app.desk import desk_here
from rekal.app.memory_check import Checked
from rekal.cli.memory_output import memory_row
from rekal.cli.output import json_option, one_line, print_record
from rekal.errors import UsageError

_MOST_READ = (8 << 20) + 1


@click.command("check")
@click.argument("proposal", nargs=-1, metavar="[PROPOSAL | -]")
@click.option("--file", "files", multiple=True, help="A file that it is about.")
@click.option("--staged", is_flag=True, help="What is staged for commit; for a pre-commit hook.")
@click.option("--no-model", is_flag=True, help="By words and patterns alone.")
@json_option
def command(proposal: tuple[str, ...], files: tuple[str, ...], staged: bool, no_model: bool, as_json: bool) -> int:
    """Consult decisions and ruled-out approaches about what you are about to do: a text, a command, a diff.

    CLEAR (exit 0): nothing bears on it. CONSULT (exit 7): read these first. RULED-OUT (exit 3): a pattern of a memory
    holds. `git diff | rekal check -` and --staged look at added lines only.
    """
    desk = desk_here()
    if staged:
        if proposal or desk.app is None:
            raise UsageError("--staged checks what is staged in a repository with a store", "leave the proposal out")
        text = desk.app.repo.run("diff", "--cached", "--no-color", "--no-ext-diff", "--no-textconv", "-M")
        if not text.strip():
            answer = Checked("CLEAR", [], 0, True, ["nothing is staged"], 0)
            return _say(answer, as_json=as_json)
    else:
        text = sys.stdin.read(_MOST_READ) if proposal == ("-",) else " ".join(proposal)
    return _say(memory_check.check_proposal(desk, text, files, meaning=not no_model), as_json=as_json)


def _say(answer: Checked, *, as_json: bool) -> int:
    print_record(answer, as_json, _lines)
    return answer.exit_code


def _lines(answer: Checked) -> Iterator[str]:
    notes = "".join(f"  {note}" for note in answer.notes)
    yield f"{answer.level}  {answer.considered} rules{notes}"
    for one in answer.findings:
        found = one.finding
        yield f"  {found.level:<9} {memory_row(found.memory, one.grounds.sentence())}"
        where = f"{found.path}:{found.line}: " if found.path else ""
        matched = f' "{one_line(found.matched, 120)}"' if found.matched else ""
        yield f"            {where}{found.because}{matched}"
