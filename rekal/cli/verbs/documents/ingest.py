"""``rekal ingest``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from rekal.app.desk import Desk, desk_here
from rekal.app.documents.extract_facts import ExtractAnswer
from rekal.app.documents.ingest_documents import IngestAnswer, IngestRequest, ingest_documents, list_documents
from rekal.cli.output import count_of, json_option, print_record
from rekal.daemon.spawn import wake_worker
from rekal.documents.document_records import DocumentSource
from rekal.errors import FOUND, NOTHING_FOUND, UsageError
from rekal.store.source_state import SourceCount

_SHOWN = 10


@click.command("ingest")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--type", "kind", metavar="FORMAT", help="Read every file as this format, whatever its name.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave out files and folders whose path matches.")
@click.option("--smallest-first", is_flag=True, help="Read small files before large ones.")
@click.option("--top", type=click.IntRange(1), metavar="N", help="Only the N largest files.")
@click.option("--max-emails", "most_mails", type=click.IntRange(1), metavar="N", help="Of each mailbox only N mails.")
@click.option("--personal", is_flag=True, help="Into your personal store, asked from every repository.")
@click.option("--prune", is_flag=True, help="Take out what is stored of files below PATHS that are gone.")
@click.option("--again", is_flag=True, help="Read files that did not change, and forgotten ones, too.")
@click.option("--extract", is_flag=True, help="Have a model take facts out of what is read, as proposed memories.")
@click.option("--dry-run", is_flag=True, help="With --extract: read, and only say how much would be asked.")
@click.option("--hint", "hints", multiple=True, help="With --extract: something the model should know of these files.")
@click.option("-j", "--jobs", type=click.IntRange(1, 16), default=1, help="With --extract: requests at once.")
@click.option("--model", help="With --extract: a model's name instead of extract.model.")
@click.option("--url", help="With --extract: an OpenAI-compatible endpoint instead of extract.url.")
@click.option("--command", "program", help="With --extract: a program instead of extract.command.")
@click.option("--list", "listing", is_flag=True, help="List what is held, by file.")
@json_option
def command(paths: tuple[Path, ...], listing: bool, as_json: bool, **chosen: Any) -> int:
    """Read notes, mails and exports, so that `rekal recall` finds them.

    Markdown, text, HTML, JSON messages, Discord and Slack exports, CSV, mbox and eml, PDF and Word. A file that did not
    change is not read again. Nothing of documents is ever sent anywhere.
    """
    desk = desk_here()
    wanted = {name: chosen.pop(name) for name in ("extract", "dry_run", "hints", "jobs", "model", "url", "program")}
    if listing:
        held = list_documents(desk, personal=chosen["personal"])
        print_record(held, as_json, _list_lines)
        return FOUND if held else NOTHING_FOUND
    if not paths:
        raise UsageError("no file and no folder was named", "write rekal ingest FOLDER")
    order = "smallest" if chosen.pop("smallest_first") else "path"
    numbers = {name: chosen.pop(name) or 0 for name in ("top", "most_mails")}
    request = IngestRequest(paths=paths, order=order, **numbers, **chosen)  # type: ignore[arg-type]
    with click.progressbar(length=1, label="reading", file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:

        def report(source: DocumentSource, at: int, of: int) -> None:
            bar.length = max(1, of)
            bar.update(at - bar.pos)

        answer = ingest_documents(desk, request, report)
    if wanted["extract"]:
        return _extract(desk, paths, wanted, answer, as_json, personal=request.personal)
    print_record(answer, as_json, _ingest_lines, answer.problems[:_SHOWN])
    if desk.app is not None:
        wake_worker(desk.app)
    return FOUND if set(answer.sources) - {"failed", "skipped"} else NOTHING_FOUND


def _extract(
    desk: Desk, paths: tuple[Path, ...], wanted: dict[str, Any], read: IngestAnswer, as_json: bool, *, personal: bool
) -> int:
    """Take facts out of what was read; both accounts are printed."""
    from rekal.app.documents.extract_facts import ExtractRequest, choose_model, extract_facts

    choice = choose_model(desk, wanted["model"], wanted["url"], wanted["program"])
    request = ExtractRequest(
        paths=paths, choice=choice, hints=wanted["hints"], jobs=wanted["jobs"], personal=personal,
        dry_run=wanted["dry_run"],
    )  # fmt: skip
    with click.progressbar(length=1, label="asking", file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:

        def report(done: int, of: int) -> None:
            bar.length = of
            bar.update(done - bar.pos)

        extracted = extract_facts(desk, request, report)
    notes = [*read.problems[:_SHOWN], *extracted.problems[:_SHOWN]]
    print_record(IngestedAndAsked(read, extracted), as_json, _both_lines, notes)
    return FOUND if extracted.facts or not extracted.failed else NOTHING_FOUND


class IngestedAndAsked(msgspec.Struct, frozen=True):
    """The result of ``ingest --extract --json``: what was ``read``, and what a model made of it."""

    read: IngestAnswer
    extracted: ExtractAnswer


def _both_lines(both: IngestedAndAsked) -> Iterator[str]:
    yield from _ingest_lines(both.read)
    said = both.extracted
    plan = said.plan
    cost = f"{count_of(plan.chunks, 'chunk')} in {count_of(plan.batches, 'request')}, about {plan.tokens:,} tokens"
    if said.dry_run:
        yield f"would ask {said.model or 'a model (none is chosen)'} about {cost}"
        return
    yield f"asked {said.model} about {cost}: {count_of(said.facts, 'fact')} proposed, see `rekal review`"
    for reason, count in said.dropped.items():
        yield f"  {count} left out: {reason}"
    if said.failed:
        yield f"  {count_of(said.failed, 'request')} failed and will be asked again"
    if said.retracted:
        yield f"  {count_of(said.retracted, 'fact')} taken back: the document does not say so any more"


def _ingest_lines(answer: IngestAnswer) -> Iterator[str]:
    counts = ", ".join(f"{count:,} {name}" for name, count in answer.sources.items()) or "none"
    where = "personal documents" if answer.personal else "documents"
    yield f"{where}: files {counts}; {count_of(answer.chunks, 'new chunk')}"
    if answer.pruned:
        yield f"{count_of(len(answer.pruned), 'file')} gone and taken out"
    for reason, count in answer.passed_over.items():
        yield f"  {count:,} passed over: {reason}"
    if len(answer.problems) > _SHOWN:
        yield f"  and {len(answer.problems) - _SHOWN:,} more problems (--json lists all)"


def _list_lines(held: list[SourceCount]) -> Iterator[str]:
    for one in held:
        yield f"{one.chunks:>7,}  {one.kind}  {one.name}"
    if not held:
        yield "(no documents)"
