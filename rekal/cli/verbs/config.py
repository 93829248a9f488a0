"""``rekal config``."""

from __future__ import annotations

from collections.abc import Iterator

import click

from rekal.app import choose_settings
from rekal.app.choose_settings import SettingsList
from rekal.app.context import find_app
from rekal.cli.output import json_option, print_record


@click.command("config")
@click.argument("key", required=False)
@json_option
def command(key: str | None, as_json: bool) -> None:
    """Every setting with its value and what it does; with KEY just that one.

    Settings are written in .rekal/config.yml (may be committed) or in ~/.config/rekal/config.yml.
    """
    answer = choose_settings.list_settings(find_app(), key)
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
