"""``rekal recall``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from rekal.app.context import App, find_app, is_for_agent, local_now
from rekal.cli.output import (
    AgentName,
    count_of,
    format_day,
    format_name,
    format_origin,
    format_source,
    json_option,
    one_line,
    print_note,
    print_record,
    short_id,
)
from rekal.daemon.spawn import wake_daemon, wake_worker
from rekal.errors import FOUND, NoRepository, NotInitialised, StoreError, UsageError
from rekal.plain_text import clean_text, fence_lines
from rekal.recall.answer import Answer, DocumentRow, Hit, MemoryRow, Pin, Row, StorePerson
from rekal.recall.question import refuse_thin
from rekal.recall.silences import describe_silence
from rekal.store.usage_log import CHARACTERS_OF_A_TOKEN, add_use

_FILTERS = ("file", "commit", "author", "agent", "actor", "branch", "since", "until")
_SHAPE = ("limit", "budget", "explain")  # options that change how an answer looks, not where it is looked for
_MOST_PEOPLE = 20  # named with --explain; --json has all
_NAMED = ("date", "commit", "branch", "agent")


@click.command("recall")
@click.argument("question", nargs=-1)
@click.option("--file", "file", help="Only sessions that touched this path, or a path below it.")
@click.option("--commit", help="Only sessions that led to this commit.")
@click.option("--author", help="Only sessions of this person: part of a name or e-mail address.")
@click.option("--agent", type=AgentName(), help="Only sessions of this agent.")
@click.option("--actor", type=click.Choice(["human", "agent"]), help="Only a person's sessions, or only sub-agents'.")
@click.option("--branch", help="Only sessions on this branch.")
@click.option("--since", help="Only turns from this date on (2026-03-01, 'last week') or of this age (30d).")
@click.option("--until", help="Only turns up to this date.")
@click.option("--as-of", "as_of", help="As the world was at this date or commit.")
@click.option("--known-at", "known_at", help="As the store knew it at this date or commit.")
@click.option("-n", "--limit", type=click.IntRange(0), help="Sessions shown at most.")
@click.option("--budget", type=click.IntRange(50, 8000), help="Tokens of evidence shown, about.")
@click.option("--type", "type", metavar="FORMAT", help="Only documents of this format: markdown, pdf, mailbox, ...")
@click.option(
    "--only", type=click.Choice(["keyword", "meaning"]), help="Only documents, found by one arm of the search."
)
@click.option("--explain", is_flag=True, help="Show what the verdict rests on.")
@json_option
def command(
    question: tuple[str, ...],
    as_json: bool,
    **chosen: Any,
) -> int:
    """Ask what past sessions know.

    INJECT: sessions worth reading (exit 0). KNOWLEDGE: a tracked file answers (exit 0). SILENCE: nothing here bears on
    it (exit 1), with the reason.
    """
    text = " ".join(question).strip()
    if not text and not any(chosen[name] for name in _FILTERS):
        raise UsageError("there is no question", 'write one: rekal recall "why is the queue in Postgres"')
    try:
        app = find_app()
        app.require_store()
    except (NoRepository, NotInitialised) as error:
        return _ask_personal(text, chosen, as_json, error)
    narrowed = any(value for name, value in chosen.items() if name not in _SHAPE)
    answer = (None if narrowed else refuse_thin(text, local_now())) or _ask_store(app, text, chosen)
    lines = answer_lines(answer, chosen["explain"], {name: chosen[name] for name in _FILTERS})
    if answer.exit_code == FOUND and is_for_agent(app.env):
        lines = _fence_rows(lines, "words of past sessions")
    printed = print_record(answer, as_json, lambda shown: lines, paged=False)
    add_use(app.layout.usage, "recall", answer.verdict, printed // CHARACTERS_OF_A_TOKEN)
    wake_worker(app)
    wake_daemon(app)
    return answer.exit_code


def _ask_personal(text: str, chosen: dict[str, Any], as_json: bool, missing: StoreError) -> int:
    """Answer from the person's documents, where there is no store; without any, raise what is ``missing``."""
    from rekal.app.desk import desk_here

    desk = desk_here()
    if not desk.personal.documents.data.exists():
        raise missing
    from rekal.app import ask_question

    answer = ask_question.ask_personal_documents(desk, ask_question.AskedQuestion(text=text, **chosen))
    lines = answer_lines(answer, chosen["explain"])
    if answer.exit_code == FOUND and is_for_agent(desk.env):
        lines = _fence_rows(lines, "words of your documents")
    print_record(answer, as_json, lambda shown: lines)
    return answer.exit_code


def _fence_rows(lines: Iterator[str], whose: str) -> Iterator[str]:
    """Yield the verdict as it is, and what others wrote between marks that no text can foresee."""
    yield next(lines)
    yield from fence_lines(lines, whose)


def _ask_store(app: App, text: str, chosen: dict[str, Any]) -> Answer:
    """Answer from the store, and note which sessions are shown."""
    # All that opens and searches a store: numpy, DuckDB and our own take a quarter of a second to load.
    from rekal.app import ask_question, resources

    if app.config.recall.daemon == "off":
        resources.decline_if_kept()
    answer = ask_question.ask_question(app, ask_question.AskedQuestion(text=text, **chosen))
    try:
        ask_question.note_shown(app, answer)
    except OSError as error:  # a store that cannot be written is recalled from, too
        print_note(f"this recall was not noted ({error.strerror})")
    return answer


def answer_lines(answer: Answer, explain: bool, filters: Mapping[str, object] | None = None) -> Iterator[str]:
    """Yield an answer as lines of text, with ``explain`` all that led to it. ``filters`` narrowed it, by option."""
    notes = "".join(f"  {note}" for note in answer.notes)
    if answer.verdict == "SILENCE":
        yield f"SILENCE {describe_silence(answer, filters or {})}{notes}"
        if answer.uncovered:
            yield f"never seen here: {', '.join(answer.uncovered)}"
        if answer.perhaps:
            yield _perhaps_line(answer.perhaps)
    elif answer.verdict == "KNOWLEDGE":
        yield f"KNOWLEDGE {count_of(len(answer.knowledge), 'passage')}{notes}"
    elif answer.listed:
        yield f"INJECT {len(answer.sessions)} of the {answer.listed} sessions that the question names{notes}"
    else:
        from rekal.app.ask_question import count_evidence  # loaded by now: only an answer comes here

        yield f"{answer.verdict} support={answer.support:.2f} {' '.join(count_evidence(answer))}{notes}"
    for one in answer.memories or ():
        yield _memory_line(one)
    for hit in answer.sessions:
        yield from _format_hit(hit)
    for chunk in answer.documents or ():
        yield _document_line(chunk)
    if answer.sessions and answer.uncovered:
        yield f"uncovered: {', '.join(answer.uncovered)}"
    yield from _anchor_lines(answer, explain)
    for known in answer.knowledge:
        touched = f"  touched by {', '.join(short_id(s) for s in known.sessions)}" if known.sessions else ""
        yield f"KNOWLEDGE {known.path}:{known.start}-{known.end} {known.coverage:.2f}{touched}"
        if answer.verdict == "KNOWLEDGE":
            yield f'  "{one_line(known.text, 400)}"'
    for name, value in answer.features.items():
        yield f"  {name} = {value:g}"
    if answer.people:
        yield f"  people: {', '.join(_person(one) for one in answer.people[:_MOST_PEOPLE])}{_more(len(answer.people))}"


def _person(one: StorePerson) -> str:
    return f"{format_name(one.name)} ({one.kind})"


def _more(people: int) -> str:
    return f", and {people - _MOST_PEOPLE} more" if people > _MOST_PEOPLE else ""


def _anchor_lines(answer: Answer, explain: bool) -> Iterator[str]:
    """Yield the names of the question that nothing shown answers to; with ``explain`` all its names."""
    named = [pin for pin in answer.anchors if pin.kind in _NAMED]
    if answer.sessions and (missed := [pin for pin in named if not pin.shown]):
        yield f"none of these: {', '.join(map(_anchor, missed))}"
    for pin in named if answer.verdict == "SILENCE" else ():
        if pin.kind == "commit":
            yield f"known here: {_anchor(pin)}, see `rekal show {pin.text}`"
    for pin in answer.anchors if explain else ():
        counts = "" if pin.sessions is None else f": {pin.sessions} sessions, {pin.shown} shown"
        yield f"  anchor {_anchor(pin)}{counts}"


def _anchor(pin: Pin) -> str:
    if pin.kind != "date":
        return f"{pin.kind} {clean_text(pin.text)}"
    since, until = (when and format_day(when) for when in (pin.since, pin.until))
    if since and until:
        return f"date {pin.text} ({since if since == until else f'{since} to {until}'})"
    return f"date {pin.text} ({f'from {since}' if since else f'to {until}'})"


def _memory_line(one: MemoryRow) -> str:
    whose = "personal" if one.personal else "" if one.origin == "local" else f"from {one.origin}"
    marks = (one.state, whose, f"scope {', '.join(one.scope)}" if one.scope else "", one.grounds)
    text = f'"{one_line(one.text, 300)}"'
    text += f" because {one_line(one.because, 200)}" if one.because else ""
    text += f"; instead: {one_line(one.instead, 120)}" if one.instead else ""
    cited = f"  [{one_line(format_source(one.source), 60)}]" if one.source else ""
    head = f"{one.label} {short_id(one.id)}  {format_day(one.occurred_at)}  {one_line(one.actor, 40)}"
    return f"{head}  {', '.join(mark for mark in marks if mark)}  {text}{cited}"


def _document_line(chunk: DocumentRow) -> str:
    sender = f"  from {format_name(chunk.sender)}" if chunk.sender else ""
    whose = "  (personal)" if chunk.personal else ""
    head = f"DOCUMENT {one_line(chunk.location, 200)}  {format_day(chunk.occurred_at)}{sender}{whose}"
    return f'{head}  "{one_line(chunk.text, 600)}{"…" if chunk.cut else ""}"'


def _perhaps_line(hit: Hit) -> str:
    """One session in one line: silence stays the verdict, and whoever wants more knows where to look."""
    title = hit.title or next((row.text for row in hit.rows), "")
    name = short_id(hit.session_id)
    return f'PERHAPS {name}  {format_day(hit.started_at)}  "{one_line(title, 100)}"  read it with `rekal show {name}`'


def _format_hit(hit: Hit) -> Iterator[str]:
    """Yield a session: a line on where it is from and what came of it, then its rows, each under a handle."""
    commit = hit.commit or (hit.commits[0] if hit.commits else "")
    about = [f'"{one_line(hit.title, 80)}"'] if hit.title else []
    if commit:
        subject = f' "{one_line(hit.subject, 80)}"' if hit.subject and hit.commit else ""
        merged = {True: ", merged", False: ", not merged", None: ""}[hit.merged]
        about.append(f"led to {commit[:8]}{subject}{merged}")
    day = format_day(hit.started_at or next((row.occurred_at for row in hit.rows), None))
    head = f"{short_id(hit.session_id)}  {day}  {format_name(hit.agent)}  {format_name(hit.branch)}"
    whose = format_origin(hit.origin, {hit.origin: hit.signature or ""})
    yield f"{head}{whose}{'  ' if about else ''}{' '.join(about)}"
    if hit.same_work_as:
        yield f"  the same files as {short_id(hit.same_work_as)}, within hours"
    for row in hit.rows:
        who = format_name(hit.author_name if row.role in ("human", "steering") else hit.agent)
        when = format_day(row.occurred_at)
        other_day = "" if when == day or row.occurred_at is None else f"  {when}"
        yield from _format_row(f"  {short_id(hit.session_id)}:{row.seq}{other_day}  {who}", row)


def _format_row(head: str, row: Row) -> Iterator[str]:
    """Yield a row: prose on one line, blocks of code below it, each line behind a bar."""
    cut = "…" if row.cut else ""
    if "```" not in row.text:
        yield f'{head}  "{one_line(row.text, 600)}{cut}"'
        return
    prose, *rest = row.text.split("```")
    yield f'{head}  "{one_line(prose, 600)}{cut}"'
    for number, part in enumerate(rest):
        if number % 2 == 0:  # a block; its first line names the language
            yield from (f"    | {line}" for line in clean_text(part).rstrip().split("\n")[1:] if line.strip())
        elif part.strip():
            yield f'    "{one_line(part, 600)}"'
