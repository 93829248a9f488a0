"""Take the pictures of the web page that docs/web.md shows.

    python -m scripts.web_pictures RECORDINGS [--to docs/images]

``RECORDINGS`` is a folder of agents' recordings, laid out as :mod:`benchmarks.fixture_home` reads them. They are
imported into a scratch repository together with a small project of this script's own; then a Chromium of the system
goes through every page at 1280 and 390 pixels, light and dark. With Pillow installed the files take a third.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from playwright import sync_api

from benchmarks.fixture_home import lay_out
from tests.support.served_page import Checkout, ServedPage

_QUESTION = "why does the retry queue live in Postgres and not in the broker"
_BEFORE = "import broker\n\n\ndef claim():\n    return broker.next()\n"
_CLAIM = """import psycopg


def claim(connection):
    return connection.execute("SELECT * FROM jobs FOR UPDATE SKIP LOCKED LIMIT 1")


"""
_WAIT = "def wait_before(attempt):\n    return min(2 ** attempt, 3600)\n"
_ENTITIES = (
    ("ledger", "store", "append-only, the only copy"), ("index", "store", "can be built again at any time"),
    ("worker", "process", "started by hooks, nobody waits for it"), ("daemon", "process", ""), ("hook", "git", ""),
    ("recall", "feature", ""), ("gate", "feature", ""), ("scrubber", "safety", ""), ("wire", "format", ""),
    ("remote", "git", ""),
)  # fmt: skip
_RELATIONS = (
    ("hook", "starts", "worker"), ("worker", "calls", "scrubber"), ("worker", "appends to", "ledger"),
    ("worker", "updates", "index"), ("index", "is made of", "ledger"), ("recall", "reads", "index"),
    ("daemon", "answers", "recall"), ("gate", "judges", "recall"), ("ledger", "is sent by", "wire"),
    ("wire", "is kept by", "remote"),
)  # fmt: skip


def make_store(base: Path, recordings: Path) -> tuple[Checkout, dict[str, str]]:
    """Fill a scratch repository; the paths of the pages by the pictures' names."""
    checkout = Checkout(base)
    (checkout.root / "queue.py").write_text(_BEFORE, encoding="utf-8")
    checkout.git("add", "-A")
    long_ago = "2026-01-05T09:00:00+0000"
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("GIT_AUTHOR_DATE", long_ago)
        patched.setenv("GIT_COMMITTER_DATE", long_ago)
        checkout.git("commit", "-q", "-m", "Take jobs from the broker")
    lay_out(recordings, checkout.home, checkout.root)
    checkout("init", "--backfill", "10y", "--hooks-only")
    one = checkout.session("queue")
    one.human("Why should the retry queue live in Postgres and not in the broker?")
    one.says("A queue in Postgres survives a restart of the broker, and SKIP LOCKED lets many workers share it.")
    one.human("Good. Write the retry queue that way.")
    (checkout.root / "queue.py").write_text(_CLAIM, encoding="utf-8")
    text = "I move the retry queue to Postgres because the broker forgets what was not acknowledged."
    one.writes(checkout.root / "queue.py", _CLAIM, text=text)
    two = checkout.session("waiting", days_ago=0.05)
    two.human("Retries come too fast when the mail server is down. Wait longer each time.")
    (checkout.root / "queue.py").write_text(_CLAIM + _WAIT, encoding="utf-8")
    text = "I double the wait with each attempt and stop at an hour, since an outage lasts longer than a few seconds."
    two.writes(checkout.root / "queue.py", _CLAIM + _WAIT, text=text)
    commit = checkout.commit("Keep the retry queue in Postgres")
    _remember(checkout)
    sessions = msgspec.json.decode(checkout("sessions", "--json"))["sessions"]
    memories = msgspec.json.decode(checkout("memories", "--json"))["memories"]
    session = next(row["id"] for row in sessions if row["commits"])
    decision = next(row["id"] for row in memories if row["type"] == "decision")
    return checkout, {
        "since": "/", "search": f"/search?{urlencode({'q': _QUESTION})}",
        "silence": f"/search?{urlencode({'q': 'how do we rotate the certificates of the ingress'})}",
        "session": f"/session/{session}", "file": "/file/queue.py", "commit": f"/commit/{commit}",
        "timeline": "/timeline?days=3650", "review": "/review", "memories": "/memories",
        "memory": f"/memory/{decision}",
        "graph": "/graph", "sharing": "/sharing", "stats": "/stats", "sessions": "/sessions", "files": "/files",
    }  # fmt: skip


def _remember(checkout: Checkout) -> None:
    for words in ("staging is reset on Mondays", "prefer tabs in makefiles"):
        checkout("remember", words, CLAUDECODE="1")
    checkout("decide", "jobs are kept in Postgres, in queue.py", "--because", "the broker loses what it did not send")
    checkout("rule-out", "keep jobs in Redis", "--because", "it forgets on restart", "--instead", "Postgres")
    for name, kind, words in _ENTITIES:
        checkout("graph", "add", name, kind)
        if words:
            checkout("graph", "observe", name, words)
    for relation in _RELATIONS:
        checkout("graph", "relate", *relation)


def take_pictures(page: ServedPage, paths: dict[str, str], chromium: Any, to: Path) -> None:
    """Take every page in both widths and both schemes."""
    for scheme in ("light", "dark"):
        for width in (1280, 390):
            context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
            tab = context.new_page()
            tab.goto(page.link("/"))
            tab.wait_for_url(f"http://{page.host}:{page.port}/")
            for name, path in paths.items():
                tab.goto(f"http://{page.host}:{page.port}{path}")
                if name == "file":
                    tab.hover("text=def claim")
                    tab.wait_for_selector("#quote .panel")
                target = to / f"web-{name}-{width}-{scheme}.png"
                tab.screenshot(path=target)
                _shrink(target)
            context.close()


def _shrink(picture: Path) -> None:
    try:
        from PIL import Image
    except ImportError:
        return
    with Image.open(picture) as whole:
        whole.convert("RGB").quantize(64, dither=Image.Dither.NONE).save(picture, optimize=True)


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recordings", type=Path)
    parser.add_argument("--to", type=Path, default=Path("docs/images"))
    chosen = parser.parse_args()
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as base, sync_api.sync_playwright() as started:
        checkout, paths = make_store(Path(base), chosen.recordings)
        chromium = started.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        with ServedPage(checkout) as page:
            take_pictures(page, paths, chromium, chosen.to)
        chromium.close()


if __name__ == "__main__":
    main()
