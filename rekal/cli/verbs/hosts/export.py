"""``rekal export``."""

from __future__ import annotations

from pathlib import Path

import click

from rekal.app.context import find_app
from rekal.app.desk import desk_here
from rekal.app.overview import hand_out
from rekal.app.transfer.export_log import FORMATS, export_log
from rekal.cli.output import print_block, print_export, print_note
from rekal.cli.verbs.hosts.web import require_packages
from rekal.errors import FOUND, UsageError
from rekal.recall.silences import describe_silence


@click.command("export")
@click.argument("session", required=False)
@click.option(
    "--html",
    "page",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write it into this file instead: one page of HTML that stands by itself.",
)
@click.option("--answer", metavar="QUESTION", help="The answer to this question instead of a session.")
@click.option("--format", "format_", type=click.Choice(sorted(FORMATS)), default="jsonl", show_default=True)
@click.option("--personal", is_flag=True, help="Your personal store instead of the repository's.")
def command(session: str | None, page: Path | None, answer: str | None, format_: str, personal: bool) -> int:
    """Print memories for others to read, or a session or an answer for a colleague.

    SESSION and --answer are printed as Markdown, or written with --html as a page; all texts are scrubbed once more.

    events: the log as it is, a line an event. jsonl: memories with their state, a line each. markdown: those that hold.
    anthropic: the knowledge graph as Anthropic's memory server writes it, byte for byte what was imported from there.

    The page of --html holds no script and no link.
    """
    if page is not None:
        return _write_page(page, session, answer)
    if session or answer:
        return _print_markdown(session, answer)
    text = export_log(desk_here(via="cli"), format_, personal=personal)
    if format_ == "markdown":
        print_block(text)
    else:
        print_export(text)
    return FOUND


def _print_markdown(session: str | None, question: str | None) -> int:
    if session and question:
        raise UsageError("a session or an answer is exported, not both", "give SESSION or --answer QUESTION")
    from rekal.app.transfer.markdown_pages import write_answer_page, write_session_page

    app = find_app()
    app.require_store()
    if session:
        print_block(write_session_page(hand_out.read_session_to_hand_out(app, session)))
        return FOUND
    found = hand_out.ask_to_hand_out(app, str(question))
    print_block(write_answer_page(found, describe_silence(found, {})))
    return found.exit_code


def _write_page(page: Path, session: str | None, question: str | None) -> int:
    if bool(session) is bool(question):
        raise UsageError("one page holds one session or one answer", "give SESSION or --answer QUESTION")
    require_packages()
    from rekal.web import hand_out_page  # templates: loaded for this alone

    app = find_app()
    app.require_store()
    code = FOUND
    if session:
        text = hand_out_page.render_session(hand_out.read_session_to_hand_out(app, session))
    else:
        found = hand_out.ask_to_hand_out(app, str(question))
        text = hand_out_page.render_answer(found, describe_silence(found, {}))
        code = found.exit_code
    try:
        page.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{page} cannot be written ({error.strerror})", "give another file") from None
    print_note(f"{page} is written; read it before you pass it on")
    return code
