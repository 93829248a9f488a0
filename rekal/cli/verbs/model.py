"""``rekal model``."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import msgspec
import yaml

from rekal.app.context import App, here
from rekal.app.semantic import KEY
from rekal.cli.output import emit_json, json_option
from rekal.config import user_file
from rekal.embed.open import available_engines, chosen_profile, open_chosen
from rekal.embed.profiles import PROFILES, Profile, find_profile, verify_weights
from rekal.errors import FOUND, EngineError, Refused, UsageError


class ModelRow(msgspec.Struct, frozen=True):
    """One model: what it gives, how much of that is stored, the tokens it reads, and whether its file is there."""

    name: str
    file: str
    present: bool
    dim: int
    stored_dim: int
    max_tokens: int
    chosen: bool


class ModelAnswer(msgspec.Struct, frozen=True):
    """What ``model --json`` prints. ``engines`` are the local ones installed, the preferred one first.

    ``endpoint`` is the address that embeds instead of a local model, if one is set. ``sha256``, ``dim`` and
    ``milliseconds`` (to embed one sentence) are of ``verify``, else null.
    """

    models: list[ModelRow]
    engines: list[str]
    endpoint: str | None
    sha256: str | None = None
    dim: int | None = None
    milliseconds: float | None = None


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
    app = here()
    if action == "use":
        _use(app, name, file, user)
        app = here()
    answer = _verified(app) if action == "verify" else _listed(app)
    if as_json:
        emit_json(answer)
    else:
        _print(answer)
    return FOUND


def _use(app: App, name: str | None, file: Path | None, user: bool) -> None:
    if name is None:
        raise UsageError("no model is named", "`rekal model list` names them")
    profile = find_profile(name, file)
    verify_weights(profile)
    path = user_file(app.env, app.home) if user else app.layout.run / "config.yml"
    if not user:
        app.require_store()
    _set(path, {"model": name if name in PROFILES else profile.file, "file": str(file.absolute()) if file else None})


def _set(path: Path, wanted: dict[str, str | None]) -> None:
    """Set keys of ``embed`` in a settings file."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if "#" in text:
        lines = ", ".join(f"{key}: {value}" for key, value in wanted.items() if value)
        raise Refused(f"{path} has comments, which rewriting it would lose", f"write `embed: {{{lines}}}` there")
    values: Any = yaml.safe_load(text) or {}
    kept = {k: v for k, v in {**values.get("embed", {}), **wanted}.items() if v is not None}
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(yaml.safe_dump({**values, "embed": kept}, sort_keys=True), encoding="utf-8")
    part.replace(path)


def _row(profile: Profile, chosen: bool) -> ModelRow:
    shape = (profile.dim, profile.stored_dim, profile.max_tokens)
    return ModelRow(profile.name, str(profile.path), profile.path.is_file(), *shape, chosen)


def _listed(app: App) -> ModelAnswer:
    chosen = app.config.embed
    remote = chosen.url if chosen.engine in ("auto", "remote") else None
    rows = [_row(profile, False) for name, profile in PROFILES.items() if remote or name != chosen.model]
    if not remote:
        rows.insert(0, _row(chosen_profile(chosen), True))
    return ModelAnswer(rows, available_engines(), remote)


def _verified(app: App) -> ModelAnswer:
    answer = _listed(app)
    digest = None if answer.endpoint else verify_weights(chosen_profile(app.config.embed))
    with closing(open_chosen(app.config.embed, app.env.get(KEY))) as embedder:
        start = time.perf_counter()
        vector = embedder.embed_query("A sentence of a few words.")
        took = (time.perf_counter() - start) * 1000
    if len(vector) != embedder.dim or not 0.99 < float(vector @ vector) < 1.01:
        raise EngineError("the model gives no unit vectors", "use another one")
    return msgspec.structs.replace(answer, sha256=digest, dim=embedder.dim, milliseconds=round(took, 1))


def _print(answer: ModelAnswer) -> None:
    for row in answer.models:
        stored = f"{row.dim}" if row.dim == row.stored_dim else f"{row.stored_dim} of {row.dim}"
        state = row.file if row.present else "its file is not here"
        click.echo(
            f"{'*' if row.chosen else ' '} {row.name:<24} {stored:>10} dimensions, {row.max_tokens:>4} tokens  {state}"
        )
    if answer.endpoint:
        click.echo(f"* endpoint {answer.endpoint}")
    click.echo(f"engines: {', '.join(answer.engines) or 'none'}")
    if answer.milliseconds is not None:
        weights = f"sha256 {answer.sha256}, " if answer.sha256 else ""
        click.echo(f"verified: {weights}{answer.dim} dimensions, a sentence in {answer.milliseconds} ms")
