"""The address of the page that is being served: a file that only its owner can read, while it is served."""

from __future__ import annotations

import contextlib
import socket
import webbrowser
from html import escape
from urllib.parse import urlencode

import msgspec

from rekal.app.context import App
from rekal.files import write_atomically

_PATIENCE = 0.5  # seconds for a server on this machine to take a connection


class PageAddress(msgspec.Struct, frozen=True):
    """One run of the page: ``http://HOST:PORT``, its secret, the process that serves it."""

    host: str
    port: int
    token: str
    pid: int

    def link(self, path: str = "/") -> str:
        """Return the address of a path of the page, with the token."""
        place, mark, part = path.partition("#")
        return f"http://{self.host}:{self.port}{place}?{urlencode({'token': self.token})}{mark}{part}"


def announce_page(app: App, address: PageAddress) -> None:
    """Leave the address where ``rekal show --web`` finds it."""
    write_atomically(app.layout.web_access, msgspec.json.encode(address), 0o600)


def find_page(app: App) -> PageAddress | None:
    """Return the address of the page that is being served for this clone; None when none is."""
    try:
        found = msgspec.json.decode(app.layout.web_access.read_bytes(), type=PageAddress)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    try:
        # The file may have outlived its process.
        socket.create_connection((found.host.strip("[]"), found.port), _PATIENCE).close()
    except OSError:
        return None
    return found


def withdraw_page(app: App, address: PageAddress) -> None:
    """Remove the address, unless another run has written its own since."""
    with contextlib.suppress(OSError, msgspec.DecodeError):
        if msgspec.json.decode(app.layout.web_access.read_bytes(), type=PageAddress).token == address.token:
            app.layout.web_access.unlink()
            app.layout.web_opener.unlink(missing_ok=True)


def open_browser(app: App, address: PageAddress, path: str) -> bool:
    """Open a path of the page in this person's browser; False where there is none.

    The browser is given a file that only its owner can read: the words of a command line, and with them the token,
    can be seen by everybody on the machine.
    """
    link = escape(address.link(path), quote=True)
    text = f'<!doctype html><meta http-equiv="refresh" content="0;url={link}"><title>rekal</title>'
    write_atomically(app.layout.web_opener, text.encode(), 0o600)
    return webbrowser.open(app.layout.web_opener.as_uri())
