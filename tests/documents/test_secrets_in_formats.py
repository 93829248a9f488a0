"""Every kind of secret in every format: none of them is in any file of the store, as bytes."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Iterable
from email.message import EmailMessage
from pathlib import Path

import pytest

from rekal.scrub import Rules, Scrubber
from tests.scrub import corpus
from tests.support import document_files as files
from tests.support.app import Rekal

_DATE = "Wed, 06 May 2026 10:00:00 +0200"


def _secrets() -> dict[str, tuple[str, str]]:
    """A token of each kind that scrubbing knows in a sentence, and its secret part, by the kind's name."""
    scrub = Scrubber(Rules(homes=("/home/zelda",), username="zelda", salt="s")).text
    drawn = {
        name: corpus.fill_template(random.Random(f"formats {name}"), template)
        for name, template in corpus.VENDORS.items()
    }
    return {name: (token, secret) for name, (token, secret) in drawn.items() if secret not in scrub(_said(token))}


def _said(secret: str) -> str:
    return f"please use {secret} for the call"


def _mails(texts: Iterable[str], *, html: bool = False) -> list[EmailMessage]:
    return [
        files.make_mail("a@x.org", "Key", f"<p>{text}</p>" if html else text, date=_DATE, number=n, html=html)
        for n, text in enumerate(texts)
    ]


def _write_csv(path: Path, texts: Iterable[str]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["name", "note"], *(["ci", text] for text in texts)])


def _write_messages(path: Path, texts: Iterable[str]) -> None:
    files.write_messages(path, [{"id": str(n), "from": "Jo", "text": text} for n, text in enumerate(texts)])


WRITERS: dict[str, Callable[[Path, list[str]], object]] = {
    "note.md": lambda path, texts: files.write_markdown(path, "# Keys\n\n" + "\n\n".join(texts)),
    "head.md": lambda path, texts: files.write_markdown(path, "\n\n".join(f"## {text}\n\nfor it" for text in texts)),
    "plain.txt": lambda path, texts: path.write_text("\n".join(texts), encoding="utf-8"),
    "wide.txt": lambda path, texts: path.write_text("\n".join(texts), encoding="utf-16"),
    "page.html": lambda path, texts: files.write_html(path, "".join(f"<p>{text}</p>" for text in texts)),
    "bold.html": lambda path, texts: files.write_html(path, "".join(f"<p>it is <b>{text}</b></p>" for text in texts)),
    "talk.json": _write_messages,
    "other.json": lambda path, texts: path.write_text(json.dumps({"notes": texts}), encoding="utf-8"),
    "table.csv": _write_csv,
    "in.mbox": lambda path, texts: files.write_mailbox(path, _mails(texts)),
    "html.mbox": lambda path, texts: files.write_mailbox(path, _mails(texts, html=True)),
    "one.eml": lambda path, texts: path.write_bytes(_mails(["\n\n".join(texts)])[0].as_bytes()),
    "paper.pdf": lambda path, texts: files.write_pdf(
        path, ["\n".join(texts[n : n + 20]) for n in range(0, len(texts), 20)]
    ),
    "letter.docx": lambda path, texts: files.write_word(path, "Keys", texts),
}


@pytest.mark.parametrize("name", WRITERS)
def test_no_kind_of_secret_stays(rekal: Rekal, tmp_path: Path, name: str) -> None:
    secrets = _secrets()
    assert len(secrets) >= 200, "it would pass where scrubbing knows nothing"
    folder = tmp_path / "documents"
    folder.mkdir()
    WRITERS[name](folder / name, [_said(token) for token, _ in secrets.values()])
    done = rekal("ingest", str(folder))
    assert done.code == 0, done.err
    rekal("index")
    kept = [
        path.read_bytes()
        for where in (".rekal", ".git/rekal")
        for path in (rekal.root / where).rglob("*")
        if path.is_file()
    ]
    assert b"please use" in b"".join(kept), "it would pass where nothing was read"
    assert [kind for kind, (_, secret) in secrets.items() if any(secret.encode() in data for data in kept)] == []


def test_no_secret_stays_of_a_title_a_sender_or_a_place(rekal: Rekal, tmp_path: Path) -> None:
    key = corpus.fill_template(random.Random("place"), corpus.VENDORS["github-pat"])[0]
    folder = tmp_path / "documents"
    folder.mkdir()
    files.write_markdown(folder / "a.md", "# The note\n\nof it", title=f"about {key}")
    files.write_mailbox(folder / "in.mbox", [files.make_mail(f"{key} <a@x.org>", f"it is {key}", "text", date=_DATE)])
    files.write_messages(folder / "talk.json", [{"id": key, "from": f"Jo {key}", "text": "hello", "thread": key}])
    assert rekal("ingest", str(folder)).code == 0
    for where in (".rekal", ".git/rekal"):
        for path in (rekal.root / where).rglob("*"):
            assert not path.is_file() or key.encode() not in path.read_bytes(), path
