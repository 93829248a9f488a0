"""Answering the hooks of agents' hosts: whatever goes wrong, the host hears nothing and goes on."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from rekal.app.context import App, find_app
from rekal.app.hosts.host_events import HostEvent, host_answer, read_host_event
from rekal.config import read_environment
from rekal.errors import NoRepository, RekalError
from rekal.install.host_hooks import read_injection

MOMENTS = ("start", "prompt", "tool", "compact", "end")


class HookAnswer(msgspec.Struct, frozen=True):
    """``text`` is what the host gets on stdout. ``capture``: the moment asks for a capture in ``app`` now."""

    text: str = ""
    app: App | None = None
    capture: bool = False


def answer_hook(moment: str, host: str, data: str) -> HookAnswer:
    """Answer a host's call. Never raises."""
    app = None
    try:
        event = read_host_event(moment, host, data, read_environment())
        app = find_app_of(event)
        if moment == "wake":
            return HookAnswer(app=app)
        if app is None or moment not in MOMENTS or answers_elsewhere(app, event):
            return HookAnswer()
        if moment in ("compact", "end"):
            return HookAnswer(app=app, capture=True)
        from rekal.app.hosts.inject_context import context_for  # not for a capture: it loads what recalls

        return HookAnswer(host_answer(event, context_for(app, event)), app)
    except Exception as error:  # noqa: BLE001 - some hosts drop the prompt of a person whose hook fails
        note_failure(app, moment, error)
        return HookAnswer()


def find_app_of(event: HostEvent) -> App | None:
    """The repository that the host works in; None where rekal is not set up or is off."""
    if event.cwd and Path(event.cwd).is_dir():
        os.chdir(event.cwd)
    try:
        app = find_app()
    except NoRepository:
        return None
    return app if app.layout.data.exists() and app.config.enabled else None


def answers_elsewhere(app: App, event: HostEvent) -> bool:
    """True if the calling host has an entry of its own: by that of another one it would get all twice."""
    return event.host != event.configured and any(one.host == event.host for one in read_injection(app.repo).hosts)


def note_failure(app: App | None, moment: str, error: Exception) -> None:
    """Leave one line in the worker's log."""
    if app is None:
        return
    text = str(error) if isinstance(error, RekalError) else type(error).__name__
    try:
        with app.layout.log.open("a", encoding="utf-8") as file:
            file.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {app.scrubber.text(f'hook {moment}: {text}')}\n")
    except OSError:
        return  # a log that cannot be written is no reason to fail a prompt
