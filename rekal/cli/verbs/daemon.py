"""``rekal daemon``."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack
from pathlib import Path

import click

from rekal.cli.output import print_line
from rekal.daemon import client
from rekal.daemon.client import STOP
from rekal.errors import FOUND, NOTHING_FOUND, Refused, UsageError
from rekal.store.locks import hold_lock

_HANGS = 2.0  # seconds without a greeting: a busy daemon has answered by then


@click.command("daemon")
@click.option("--stop", is_flag=True, help="End the one that runs.")
@click.option("--status", is_flag=True, help="Say whether one runs; exit 1 when none does.")
def command(stop: bool, status: bool) -> int:
    """Keep the model and the index ready, so that a recall takes a tenth of a second.

    The first recall that has vectors to compare with starts it by itself (`recall.daemon: off` prevents that), and it
    ends after 15 minutes without a question. One serves all repositories of a user. Without options: be it, in the
    foreground. Not on Windows.
    """
    if not client.is_supported():
        raise UsageError("this system has no daemon", "recall works without it")
    if stop or status:
        return _stop() if stop else _status()
    return _run_here()


def _stop() -> int:
    link = client.connect_daemon(_HANGS)
    if link is None:
        hung = client.find_hung_daemon()
        if hung is None:
            print_line("no daemon runs")
            return NOTHING_FOUND
        os.kill(hung, signal.SIGKILL)  # one that is stopped or hangs heeds nothing less; it holds nothing to lose
        print_line(f"ended process {hung}, which did not answer")
        return FOUND
    try:
        client.send_frames(link, STOP)
        client.receive_frame(link)
    finally:
        link.close()
    print_line("stopped")
    return FOUND


def _status() -> int:
    link = client.connect_daemon(_HANGS)
    if link is None:
        hung = client.find_hung_daemon()
        if hung is not None:
            print_line(f"process {hung} does not answer: `rekal daemon --stop` ends it")
        else:
            print_line("no daemon runs")
        return NOTHING_FOUND
    link.close()
    print_line(f"runs at {client.socket_address()}")
    return FOUND


def _run_here() -> int:
    path = Path(client.socket_address())
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not client.is_private(str(path.parent)):
        raise Refused(f"{path.parent} can be written by others", "remove it, or set XDG_RUNTIME_DIR")
    os.umask(0o077)
    with ExitStack() as starting:
        starting.enter_context(hold_lock(path.with_suffix(".lock"), wait=0, purpose="starting the daemon"))
        link = client.connect_daemon(_HANGS)  # one that hangs does not greet, and is replaced
        if link is not None:
            link.close()
            print_line("a daemon runs already")
            return 0
        from rekal.cli.served import run_daemon

        def ready() -> None:
            starting.close()
            print_line(f"ready at {path}")

        # The system's own answer ends the process also while it is inside a library. Nothing is lost by it: the
        # daemon writes nothing, and the socket of a dead one is replaced by the next.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        run_daemon(path, ready)
    return 0
