"""``rekal config``."""

from __future__ import annotations

from collections.abc import Mapping

import click
import msgspec

from rekal.app.context import here
from rekal.cli.output import emit_json, json_option
from rekal.config import HELP
from rekal.errors import ConfigError


class Setting(msgspec.Struct, frozen=True):
    """One key, its value now, and what it does."""

    key: str
    value: object
    help: str


class ConfigAnswer(msgspec.Struct, frozen=True):
    """What ``config --json`` prints."""

    settings: list[Setting]
    files: list[str]
    warnings: list[str]


@click.command("config")
@click.argument("key", required=False)
@json_option
def command(key: str | None, as_json: bool) -> None:
    """Every setting with its value and what it does; with KEY just that one.

    Settings are written in .rekal/config.yml (may be committed) or in ~/.config/rekal/config.yml.
    """
    app = here()
    if key is not None and key not in HELP:
        raise ConfigError(f"there is no setting {key}", "`rekal config` lists them all")
    values = msgspec.to_builtins(app.config)
    settings = [Setting(k, _value(values, k), text) for k, text in HELP.items() if key in (None, k)]
    answer = ConfigAnswer(settings, [str(f) for f in app.settings.files], list(app.settings.warnings))
    if as_json:
        emit_json(answer)
        return
    for setting in settings:
        click.echo(f"{setting.key}: {_written(setting.value)}\n    {setting.help}")
    for warning in answer.warnings:
        click.echo(f"rekal: {warning}", err=True)


def _value(values: Mapping[str, object], key: str) -> object:
    node: object = values
    for part in key.split("."):
        node = node[part] if isinstance(node, Mapping) else None
    return node


def _written(value: object) -> str:
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(str, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
