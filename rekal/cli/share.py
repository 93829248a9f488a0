"""``rekal share``."""

from __future__ import annotations

import re
from typing import Any

import click
import msgspec
import yaml

from rekal.cli.app import App, here
from rekal.cli.output import emit_json, json_option
from rekal.errors import UsageError
from rekal.transport import refs
from rekal.transport.push import MARKER


class ShareAnswer(msgspec.Struct, frozen=True):
    """What ``share --json`` prints: how sharing stands now."""

    share: str
    remotes: dict[str, str]
    mainline: str | None


@click.command("share")
@click.argument("remote", required=False)
@click.option(
    "--mode",
    type=click.Choice(["full", "distilled"]),
    default="full",
    show_default=True,
    help="Whole sessions, or commits and memories only.",
)
@click.option("--mainline", help="The branch that work must be merged into; left out: the remote's default branch.")
@click.option("--stop", is_flag=True, help="Share no more with REMOTE, or with nobody when it is left out.")
@json_option
def command(remote: str | None, mode: str, mainline: str | None, stop: bool, as_json: bool) -> None:
    """Say where memory may go, or show where it goes.

    From then on a `git push` to REMOTE takes merged work along, and a `git fetch` from it brings teammates'. This is
    decided for this clone alone: nothing that can be committed turns it on.
    """
    app = here()
    app.require_store()
    if stop:
        stop_sharing(app, remote)
    elif remote:
        start_sharing(app, remote, mode, mainline)
    now = here().config.transport
    answer = ShareAnswer(now.share, dict(now.remotes), now.mainline)
    if as_json:
        emit_json(answer)
    elif answer.share == "none" or not answer.remotes:
        click.echo("nothing is shared")
    else:
        for name, url in sorted(answer.remotes.items()):
            branch = answer.mainline or "its default branch"
            click.echo(f"{answer.share} memory of work merged into {branch} goes to {name} ({url})")


def start_sharing(app: App, remote: str, mode: str, mainline: str | None) -> None:
    """Allow a remote. Raises :class:`UsageError` when there is none of that name."""
    url = app.repo.ask("remote", "get-url", "--push", remote)
    if url is None:
        raise UsageError(f"there is no remote {remote}", "`git remote -v` lists them")
    values = _read(app)
    transport = values.setdefault("transport", {})
    transport["share"] = mode
    transport.setdefault("remotes", {})[remote] = url
    branch = mainline or _default_branch(app, remote)
    if branch:
        transport["mainline"] = branch
    _write(app, values)
    spec = refs.refspec(remote, app.config.transport.namespace)
    known = app.repo.ask("config", "--get-all", f"remote.{remote}.fetch") or ""
    if spec not in known.splitlines():
        app.repo.run("config", "--add", f"remote.{remote}.fetch", spec)
    (app.layout.run / MARKER).touch()


def _default_branch(app: App, remote: str) -> str | None:
    """The remote's default branch where git does not know it yet: asked once, now, while somebody is looking."""
    if app.repo.ask("symbolic-ref", "--quiet", f"refs/remotes/{remote}/HEAD"):
        return None
    out = app.repo.ask("ls-remote", "--symref", remote, "HEAD", timeout=10.0) or ""
    for line in out.splitlines():
        if line.startswith("ref: refs/heads/"):
            return line.split()[1].removeprefix("refs/heads/")
    return app.repo.branch()


def stop_sharing(app: App, remote: str | None) -> None:
    """Take a remote, or all, off the list, with the fetch refspec."""
    values = _read(app)
    transport = values.get("transport", {})
    remotes: dict[str, str] = transport.get("remotes", {})
    for name in [remote] if remote else list(remotes):
        remotes.pop(name, None)
        remove_refspec(app, name)
    if not remotes:
        values.pop("transport", None)
        (app.layout.run / MARKER).unlink(missing_ok=True)
    _write(app, values)


def remove_refspec(app: App, remote: str) -> None:
    """Undo what :func:`start_sharing` added to git's configuration."""
    for spec in (refs.refspec(remote, "rekal"), refs.refspec(remote, "heads")):
        app.repo.ask("config", "--unset-all", f"remote.{remote}.fetch", f"^{re.escape(spec)}$")


def _read(app: App) -> dict[str, Any]:
    path = app.layout.run / "config.yml"
    values = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}
    return values if isinstance(values, dict) else {}


def _write(app: App, values: dict[str, Any]) -> None:
    path = app.layout.run / "config.yml"
    if not values:
        path.unlink(missing_ok=True)
        return
    part = path.with_suffix(".part")
    part.write_text(yaml.safe_dump(values, sort_keys=True), encoding="utf-8")
    part.replace(path)
