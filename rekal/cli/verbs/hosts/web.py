"""``rekal web``."""

from __future__ import annotations

import importlib.util
from urllib.parse import quote

import click

from rekal.app.context import App, find_app
from rekal.app.overview.page_address import find_page
from rekal.cli.output import print_line, print_note
from rekal.errors import UsageError

_NEEDED = ("starlette", "uvicorn", "jinja2")


@click.command("web")
@click.option("--port", type=click.IntRange(0, 65535), help="The port; 0 is any. Left out: 8765, or any that is free.")
@click.option("--open", "browser", is_flag=True, help="Open the page in your browser.")
@click.option(
    "--let-other-machines-in",
    "beyond",
    metavar="ADDRESS",
    help="Serve on this address of this machine instead of loopback. Whoever has the printed address reads all.",
)
def command(port: int | None, browser: bool, beyond: str | None) -> int:
    """Show the store in a browser: search, sessions, files, review, memories, sharing.

    The page is served on this machine alone, until you press Ctrl-C. The printed address holds a secret of this run;
    without it nobody gets in, other users of this machine included.
    """
    app = find_app()
    app.require_store()
    serve(app, "/", port, beyond or "", browser=browser)
    return 0


def serve(app: App, path: str, port: int | None = None, beyond: str = "", *, browser: bool = False) -> None:
    """Serve the page until interrupted. UsageError where what it needs is not installed."""
    require_packages()
    from rekal.web.site import serve_page  # the server's packages: loaded for this alone

    if beyond:
        print_note("other machines can reach this page, and nothing on the way is encrypted")
    serve_page(app, path, port, beyond, browser=browser, say=print_line)


def require_packages() -> None:
    """Raise UsageError where the extra of the web page is not installed."""
    if any(importlib.util.find_spec(name) is None for name in _NEEDED):
        raise UsageError("the web page needs the extra `web`", "install rekal with it: `pipx install '.[web]'`")


def show_page(app: App, path: str) -> None:
    """Print the address of a path of the page that is served for this clone; serve it where none is."""
    if (found := find_page(app)) is not None:
        print_line(found.link(path))
    else:
        serve(app, path)


def page_path(name: str, session_id: str, turn: int | None) -> str:
    """Return the path of the session that ``name`` begins, of one of its turns, or of the commit called ``name``."""
    if not session_id.startswith(name.lower()):
        return f"/commit/{quote(name, safe='')}"
    return f"/session/{quote(session_id, safe='')}" + ("" if turn is None else f"/{turn}#t{turn}")
