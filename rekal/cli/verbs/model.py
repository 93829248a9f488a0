"""``rekal model``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from rekal.app import choose_settings
from rekal.app.choose_settings import ModelList
from rekal.app.context import find_app
from rekal.cli.output import json_option, print_record
from rekal.errors import FOUND


@click.command("model")
@click.argument("action", type=click.Choice(["list", "use", "verify"]), default="list")
@click.argument("name", required=False)
@click.option("--file", type=click.Path(path_type=Path), help="Where the weights of the model to use are.")
@click.option("--user", is_flag=True, help="Use it in all repositories of this user, not in this clone alone.")
@json_option
def command(action: str, name: str | None, file: Path | None, user: bool, as_json: bool) -> int:
    """The models that make vectors: list them, use one, verify the one in use.

    NAME is a profile of the list or a path to a .gguf file; only the first profile comes with rekal, nothing is
    downloaded. After a change vectors are made anew in the background; `rekal embed` makes them at once. `verify`
    checks the weights' sha256 and embeds a sentence.
    """
    app = find_app()
    if action == "use":
        choose_settings.use_model(app, name, file, user=user)
        app = find_app()  # with the settings that were just written
    answer = choose_settings.verify_model(app) if action == "verify" else choose_settings.list_models(app)
    print_record(answer, as_json, _lines)
    return FOUND


def _lines(answer: ModelList) -> Iterator[str]:
    for row in answer.models:
        stored = f"{row.dim}" if row.dim == row.stored_dim else f"{row.stored_dim} of {row.dim}"
        state = row.file if row.present else "its file is not here"
        yield (
            f"{'*' if row.chosen else ' '} {row.name:<24} {stored:>10} dimensions, {row.max_tokens:>4} tokens  {state}"
        )
    if answer.endpoint:
        yield f"* endpoint {answer.endpoint}"
    yield f"engines: {', '.join(answer.engines) or 'none'}"
    if answer.milliseconds is not None:
        weights = f"sha256 {answer.sha256}, " if answer.sha256 else ""
        yield f"verified: {weights}{answer.dim} dimensions, a sentence in {answer.milliseconds} ms"
