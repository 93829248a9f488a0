"""The server: routes to pages, one request at a time, errors as pages, and the files that pages need."""

from __future__ import annotations

import functools
import os
import socket
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import parse_qsl

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route as HttpRoute

from rekal.app import resources
from rekal.app.context import App
from rekal.app.overview import live_state, page_address
from rekal.app.overview.page_address import PageAddress
from rekal.errors import NotInitialised, Refused, RekalError, StoreBusy, UsageError
from rekal.web import render
from rekal.web.access import Access, PageGuard, check_address, make_access
from rekal.web.pages import LISTED, MENU
from rekal.web.pages.asked import Asked, PageView, ServedClone

DEFAULT_PORT = 8765
_MOST_SENT = 1 << 20  # bytes of a form
_STATIC = Path(__file__).parent / "static"
_KINDS = {".js": "text/javascript", ".css": "text/css", ".LICENSE": "text/plain", ".svg": "image/svg+xml"}
_ONE_AT_A_TIME = threading.Lock()
"""A process can open a DuckDB file to read or to write, not both at once."""
_STATUS: tuple[tuple[type[RekalError], int], ...] = (
    (StoreBusy, 503), (NotInitialised, 503), (Refused, 403), (UsageError, 400)
)  # fmt: skip


def page_app(place: ServedClone, access: Access) -> PageGuard:
    """Return the ASGI application."""
    routes = [HttpRoute(path, _endpoint(place, access, page), methods=[method]) for method, path, page in LISTED]
    routes += [HttpRoute("/static/{name}", _send_file), HttpRoute("/live", _live_endpoint(place))]
    missing = PageView("error.html", {"title": "Nothing here", "message": "there is no such page", "hint": ""}, 404)

    def not_found(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        return _render(place, access, request, missing) if status == 404 else PlainTextResponse("refused\n", status)

    def failed(request: Request, error: Exception) -> Response:
        # The server's log has the traceback: values, which may be anybody's words, stay out of the page.
        return PlainTextResponse("unexpected error, this is a bug; the terminal of `rekal web` shows where\n", 500)

    return PageGuard(Starlette(routes=routes, exception_handlers={HTTPException: not_found, Exception: failed}), access)


def _endpoint(
    place: ServedClone, access: Access, page: Callable[[Asked], PageView]
) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        form: dict[str, str] = {}
        if request.method == "POST":
            form = await _read_sent_form(request)
            given = request.headers.get("x-rekal-form") or form.pop("form_token", "")
            if not access.knows_form(given):
                return PlainTextResponse("refused: the form lacks its secret; load the page again\n", 403)
        path = {name: str(value) for name, value in request.path_params.items()}
        asked = Asked(place, path, dict(request.query_params), form, "hx-request" in request.headers)
        view = await run_in_threadpool(_answer_asked, page, asked)
        if view.see:
            return RedirectResponse(view.see, 303)
        return await run_in_threadpool(_render, place, access, request, view)

    return serve


async def _read_sent_form(request: Request) -> dict[str, str]:
    """Return the fields of a form; HTTPException for one that no page of ours sends."""
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        raise HTTPException(415)
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_SENT:
            raise HTTPException(413)
    try:
        return dict(parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=100))
    except ValueError:
        raise HTTPException(400) from None


def _answer_asked(page: Callable[[Asked], PageView], asked: Asked) -> PageView:
    """Return the page's answer; what goes wrong with a store is a page of one sentence."""
    try:
        with _ONE_AT_A_TIME:
            return page(asked)
    except RekalError as error:
        status = next((code for kind, code in _STATUS if isinstance(error, kind)), 500)
        title = "The store is being written" if isinstance(error, StoreBusy) else "That did not work"
        fields = {"title": title, "message": error.message, "hint": error.hint, "again": isinstance(error, StoreBusy)}
        return PageView("error.html", fields, status)


def _render(place: ServedClone, access: Access, request: Request, view: PageView) -> Response:
    shared = {
        "form_token": access.form_token,
        "repository": place.repo.worktree.name,
        "menu": MENU,
        "here": request.url.path + (f"?{request.url.query}" if request.url.query else ""),
        "section": view.fields.get("section", ""),
        "live": live_state.read_live_state(place.app()),
        "again": False,
    }
    headers = {"retry-after": "2"} if view.status == 503 else {}
    return HTMLResponse(render.render_page(view.template, {**shared, **view.fields}), view.status, headers)


def _live_endpoint(place: ServedClone) -> Callable[[Request], Response]:
    def serve(request: Request) -> Response:
        state = live_state.read_live_state(place.app())
        changed = request.query_params.get("mark", "") != state.mark
        answer = HTMLResponse(render.render_page("live.html", {"live": state}))
        if changed:
            answer.headers["HX-Trigger"] = "store-changed"
        return answer

    return serve


@functools.cache
def _static_files() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in _STATIC.iterdir() if path.suffix in _KINDS}


def _send_file(request: Request) -> Response:
    name = request.path_params["name"]
    body = _static_files().get(name)
    if body is None:
        return PlainTextResponse("there is no such file\n", 404)
    kind = f"{_KINDS[Path(name).suffix]}; charset=utf-8"
    # The address carries the version.
    return Response(body, headers={"content-type": kind, "cache-control": "private, max-age=86400"})


def serve_page(
    app: App, path: str, port: int | None, beyond: str, *, browser: bool, say: Callable[[str], None]
) -> None:
    """Serve until interrupted; ``say`` is told the address first. ``port`` None: the usual one, or any that is free.

    Raises UsageError for a port that is taken, and for an address that is not one of this machine's.
    """
    host = check_address(beyond) if beyond else "127.0.0.1"
    listener = _listen(host, port)
    bound = int(listener.getsockname()[1])
    access = make_access(bound, beyond)
    address = PageAddress(f"[{host}]" if ":" in host else host, bound, access.token, os.getpid())
    os.chdir(app.repo.worktree if not app.repo.bare else app.repo.common_dir)  # paths in questions are from the top
    page_address.announce_page(app, address)
    say(address.link(path))
    if browser and not page_address.open_browser(app, address, path):
        say("there is no browser to open; open the address above yourself")
    server = uvicorn.Server(
        uvicorn.Config(
            page_app(ServedClone(app.repo, app.home, app.env), access), log_level="warning", access_log=False
        )
    )
    try:
        with resources.kept_between_commands():
            server.run(sockets=[listener])
    except KeyboardInterrupt:
        return
    finally:
        listener.close()
        page_address.withdraw_page(app, address)


def _listen(host: str, port: int | None) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for wanted in (DEFAULT_PORT, 0) if port is None else (port,):
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, wanted))
        except OSError as error:
            listener.close()
            reason = error.strerror
        else:
            return listener
    raise UsageError(f"{host}:{port} cannot be listened on ({reason})", "give another with --port; 0 takes any")
