"""Who may call the page: this person's own browser on this machine, with the token of this run.

Three doors, in this order. The *Host* must be an address that is served, so that no name of somebody else's that leads
to this machine (DNS rebinding) is answered. *Origin* and *Sec-Fetch-Site* must not tell of another site, so that no
page elsewhere in the browser has a say. And the *token* must be known: in the address that ``rekal web`` prints, and
from then on in a cookie that no other site's request carries. What changes something needs a second secret, which only
a page that was served from here can know.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from html import escape
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rekal.errors import UsageError

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not `no-referrer`, under which a browser sends the forms of this very page with `Origin: null`.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_OPENED = """<!doctype html><html lang="en"><meta charset="utf-8"><title>rekal</title>
<meta http-equiv="refresh" content="0;url={0}"><p><a href="{0}">Go on to the page</a></p></html>
"""
_REFUSED = {
    401: "this page needs its token: run `rekal web` and open the address that it prints\n",
    403: "refused: this address is for the browser on this machine alone\n",
}


class Access(msgspec.Struct, frozen=True):
    """Secrets and addresses of one run. ``hosts`` are values of the Host header that are answered."""

    token: str
    port: int
    hosts: tuple[str, ...]

    @property
    def cookie(self) -> str:
        """Name of the cookie: one for each port, since browsers do not keep cookies of ports apart."""
        return f"rekal-{self.port}"

    @property
    def form_token(self) -> str:
        """The second secret, which every form carries: made of the token, and no way back to it."""
        return hmac.new(self.token.encode(), b"forms of the page", hashlib.sha256).hexdigest()

    def knows_form(self, given: str) -> bool:
        """True for the second secret."""
        return _is_same(given, self.form_token)


def make_access(port: int, beyond: str = "") -> Access:
    """Return the access of a new run on ``port``; ``beyond`` is an address outside of loopback that is served, too."""
    names = (*LOOPBACK, *([f"[{beyond}]" if ":" in beyond else beyond] if beyond else []))
    return Access(secrets.token_urlsafe(32), port, tuple(f"{name}:{port}" for name in names))


def check_address(address: str) -> str:
    """Return ``address`` where it names one address beyond loopback. UsageError for a name that means all of them."""
    if address in ("0.0.0.0", "::", "*", ""):
        raise UsageError(f"{address or 'nothing'} is no single address", "give the address that others reach")
    return address


class PageGuard:
    """Lets requests through that may see the page, and gives every answer the headers that keep it to itself."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request of ASGI."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # no web socket is served

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": _with_headers(message.get("headers", ()))}
            await send(message)

        headers = {bytes(name).lower(): bytes(value).decode("latin-1") for name, value in scope["headers"]}
        query = dict(parse_qsl(bytes(scope["query_string"]).decode("latin-1"), keep_blank_values=True))
        status = 403 if self._is_foreign(headers) else 0
        given = query.pop("token", "")
        if not status and given and scope["method"] == "GET" and _is_same(given, self._access.token):
            await _send_short(send_guarded, 200, self._opened(str(scope["path"]), query), self._new_cookie())
            return
        if not status and not _is_same(_cookie(headers.get(b"cookie", ""), self._access.cookie), self._access.token):
            status = 401
        if status:
            await _send_short(send_guarded, status, _REFUSED[status], kind="text/plain; charset=utf-8")
            return
        await self._app(scope, receive, send_guarded)

    def _is_foreign(self, headers: Mapping[bytes, str]) -> bool:
        host, origin = headers.get(b"host", "").lower(), headers.get(b"origin")
        if host not in self._access.hosts:
            return True
        if origin is not None and origin.lower() != f"http://{host}":
            return True
        # A link from elsewhere may lead here; what another site loads into itself may not.
        site, mode = headers.get(b"sec-fetch-site", "none"), headers.get(b"sec-fetch-mode", "")
        return site not in ("none", "same-origin") and mode != "navigate"

    def _new_cookie(self) -> str:
        return f"{self._access.cookie}={self._access.token}; Path=/; HttpOnly; SameSite=Strict"

    @staticmethod
    def _opened(path: str, query: Mapping[str, str]) -> str:
        # No redirect: a browser that came from a file or another program would not send the new cookie along with it.
        # One slash alone: two would name another host.
        place = "/" + quote(path.lstrip("/")) + (f"?{urlencode(query)}" if query else "")
        return _OPENED.format(escape(place, quote=True))


def _is_same(given: str, right: str) -> bool:
    # Compared in constant time, and as bytes: `compare_digest` takes no text outside of ASCII.
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), right.encode())


def _cookie(header: str, name: str) -> str:
    for part in header.split(";"):
        key, _, value = part.strip().partition("=")
        if key == name:
            return value
    return ""


def _with_headers(given: Any) -> list[tuple[bytes, bytes]]:
    have = {bytes(name).lower() for name, _ in given}
    more = {"cache-control": "no-store", **_HEADERS}  # what was said stays off the browser's disk
    added = [(name.encode(), value.encode()) for name, value in more.items() if name.encode() not in have]
    return [*((bytes(name), bytes(value)) for name, value in given), *added]


async def _send_short(send: Send, status: int, body: str, cookie: str = "", *, kind: str = "text/html") -> None:
    headers = [(b"content-type", kind.encode()), *([(b"set-cookie", cookie.encode())] if cookie else [])]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body.encode()})
