"""Only this person's own browser gets in: token, Host, Origin, the secret of forms, loopback."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")
pytest.importorskip("jinja2", reason="the extra web is not installed")

from rekal.web.access import make_access
from rekal.web.pages import LISTED
from tests.support.app import Rekal
from tests.support.served_page import Checkout, ServedPage, talked_about


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    checkout = Checkout(tmp_path_factory.mktemp("access"))
    talked_about(checkout)
    with ServedPage(checkout) as page:
        yield page


def test_without_the_token_nothing_is_answered(served: ServedPage) -> None:
    for path in ("/", "/search?q=queue", "/sessions", "/live", "/static/page.css", "/nowhere"):
        reply = served.ask("GET", path, cookie=False)
        assert reply.status == 401, path
        assert "queue" not in reply.text
    for wrong in ("x", served.token[:-1], served.token.swapcase(), "ÿ", ""):
        reply = served.ask("GET", "/", {"cookie": f"rekal-{served.port}={wrong}"}, cookie=False)
        assert reply.status == 401
        assert served.ask("GET", "/?token=%C3%BF" + wrong.encode().hex(), cookie=False).status == 401


def test_the_printed_address_leads_in_and_leaves_the_token_behind(served: ServedPage) -> None:
    reply = served.ask("GET", f"/search?q=a%22b&token={served.token}", cookie=False)
    assert reply.status == 200
    assert served.token in reply.headers["set-cookie"]
    for word in ("HttpOnly", "SameSite=Strict"):
        assert word in reply.headers["set-cookie"]
    assert 'url=/search?q=a%22b"' in reply.text
    assert served.token not in reply.text
    # Two slashes would be another host's address.
    away = served.ask("GET", f"//evil.example/?token={served.token}", cookie=False)
    assert 'url=/evil.example/"' in away.text


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "127.0.0.1.evil.example:80"},
        {"host": "127.0.0.1"},
        {"host": "127.0.0.1:1"},
        {"host": ""},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"},
    ],
)
def test_another_host_or_site_is_refused_even_with_the_token(served: ServedPage, headers: dict[str, str]) -> None:
    assert served.ask("GET", "/sessions", headers).status == 403
    assert served.ask("GET", f"/?token={served.token}", headers, cookie=False).status == 403


def test_every_address_that_changes_something_wants_the_secret_of_forms(served: ServedPage) -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}
    for method, path, _ in LISTED:
        if method == "POST":
            for body in ("", "form_token=", f"form_token={served.token}", "form_token=%C3%BF"):
                assert served.ask("POST", path.replace("{name}", "x"), form, body).status == 403, path
    for headers in ({"content-type": "text/plain"}, {}, {"content-type": "multipart/form-data; boundary=x"}):
        for method, path, _ in LISTED:
            if method == "POST":
                assert served.ask("POST", path, headers, "a=b").status in (403, 415), path


def test_every_answer_keeps_itself_to_this_page(served: ServedPage) -> None:
    for path, cookie in (("/sessions", True), ("/static/page.js", True), ("/nowhere", True), ("/", False)):
        headers = served.ask("GET", path, cookie=cookie).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self';" in policy and "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy and "form-action 'self'" in policy and "base-uri 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers
        if path == "/sessions":
            assert headers["cache-control"] == "no-store"


def test_no_file_but_the_pages_own_is_sent(served: ServedPage) -> None:
    for name in ("..%2f..%2faccess.py", "../access.py", "%2e%2e/site.py", "site.py", ""):
        assert served.ask("GET", f"/static/{name}").status == 404, name


def test_only_files_that_git_tracks_are_shown(served: ServedPage) -> None:
    (served.checkout.root / ".env").write_text("PASSWORD=canary\n", encoding="utf-8")
    (served.checkout.root / "away").symlink_to("/etc")
    for path in (
        ".git/config",
        ".env",
        "..%2fhome%2fgitconfig",
        "%2fetc%2fpasswd",
        "away/passwd",
        ".rekal/README",
        "-h",
    ):
        text = served.page(f"/file/{path}", status=400)
        assert "canary" not in text and "root:" not in text, path


def test_other_users_of_the_machine_cannot_read_the_token(served: ServedPage) -> None:
    path = served.checkout.root / ".git/rekal/web-access.json"
    assert served.token in path.read_text("utf-8")
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    if shutil.which("ps") is None:
        return
    words = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, timeout=30, check=False).stdout
    assert served.token not in words


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="takes root, to become another user")
def test_another_user_really_cannot(served: ServedPage) -> None:
    path = served.checkout.root / ".git/rekal/web-access.json"
    above = [place for place in path.parents if place.parts[:2] == ("/", "tmp") and len(place.parts) > 2]
    modes = {place: place.stat().st_mode for place in above}
    try:
        for place in above:
            place.chmod(0o755)  # as open as it gets: the file alone has to hold
        (path.parent / "readable").write_text("x", encoding="utf-8")
        (path.parent / "readable").chmod(0o644)
        for name, code in (("readable", 0), (path.name, 1)):
            done = subprocess.run(["cat", path.parent / name], user=65534, capture_output=True, timeout=30, check=False)
            assert done.returncode == code, done
    finally:
        for place, mode in modes.items():
            place.chmod(mode)


def test_it_listens_on_loopback_alone(served: ServedPage) -> None:
    assert served.host == "127.0.0.1"
    own = [info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    for address in {str(one) for one in own if not str(one).startswith("127.")}:
        with pytest.raises(OSError):
            socket.create_connection((address, served.port), 2).close()


def test_a_wide_address_is_refused(rekal: Rekal) -> None:
    for address in ("0.0.0.0", "::"):
        done = rekal("web", "--let-other-machines-in", address)
        assert (done.code, done.out) == (2, "")
        assert "no single address" in done.err


def test_an_address_beyond_loopback_is_answered_under_its_own_name_only() -> None:
    assert make_access(8765, "192.0.2.7").hosts[-1] == "192.0.2.7:8765"
    assert make_access(8765, "2001:db8::7").hosts[-1] == "[2001:db8::7]:8765"
    assert all(host.endswith(":8765") for host in make_access(8765).hosts)
    assert make_access(1).token != make_access(1).token


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be interrupted alone there")
def test_the_address_goes_with_the_process(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path)
    talked_about(checkout)
    page = ServedPage(checkout)
    assert page.end() == 0, page.errors
    assert not (checkout.root / ".git/rekal/web-access.json").exists()
    assert page.errors == ""


def test_a_port_that_is_taken_is_said(served: ServedPage) -> None:
    checkout = served.checkout
    done = subprocess.run(
        [sys.executable, "-m", "rekal", "web", "--port", str(served.port)], cwd=checkout.root, env=checkout.env,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "cannot be listened on" in done.stderr and "--port" in done.stderr


def test_without_the_extra_one_sentence_says_how_to_get_it(rekal: Rekal, monkeypatch: pytest.MonkeyPatch) -> None:
    real = __import__("importlib.util").util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *more: None if name == "jinja2" else real(name, *more))
    done = rekal("web")
    assert done.code == 2
    assert done.err == "rekal: the web page needs the extra `web`; install rekal with it: `pipx install '.[web]'`\n"
