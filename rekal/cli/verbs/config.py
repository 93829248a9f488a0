"""``rekal config``."""

from __future__ import annotations

from collections.abc import Iterator

import click

from rekal.app import choose_settings
from rekal.app.choose_settings import SettingsList
from rekal.app.context import find_app
from rekal.cli.output import json_option, print_note, print_record
from rekal.errors import UsageError


@click.command("config")
@click.argument("key", required=False)
@click.argument("value", required=False)
@click.option("--global", "user", is_flag=True, help="Set it for all repositories of this user, not for this clone.")
@json_option
def command(key: str | None, value: str | None, user: bool, as_json: bool) -> None:
    """Every setting with its value and what it does; with KEY just that one, with VALUE it is set.

    Settings are in ~/.config/rekal/config.yml and in this clone's own file, which is never committed and which VALUE
    goes into; an empty one takes the setting out of it. .rekal/config.yml, which may be committed, can only make
    things stricter.
    """
    app = find_app()
    if key is not None and value is not None:
        path = choose_settings.set_setting(app, key, value, user=user)
        print_note(f"written to {path}")
        app = find_app()  # with the setting that was just written
    elif user:
        raise UsageError("--global goes with a value", "write `rekal config --global KEY VALUE`")
    answer = choose_settings.list_settings(app, key)
    print_record(answer, as_json, _lines, answer.warnings)


def _lines(answer: SettingsList) -> Iterator[str]:
    for setting in answer.settings:
        yield f"{setting.key}: {_format_value(setting.value)}"
        yield f"    {setting.help}"


def _format_value(value: object) -> str:
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(str, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
