"""Every format: the right text, place, date and sender; one sentence for what cannot be read."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rekal.documents.document_records import DocumentError, DocumentItem, DocumentSource, ReadOptions
from rekal.documents.formats import choose_format, load_formats, read_items
from rekal.documents.formats.mail import strip_quotes
from tests.support import document_files as files


def read(path: Path, kind: str | None = None, most_mails: int = 0) -> tuple[str, list[DocumentItem]]:
    """The format's name, and the items."""
    found = path.stat()
    source = DocumentSource(path, path.name, found.st_size, found.st_mtime_ns)
    chosen = choose_format(source, load_formats(), kind)
    assert chosen is not None
    return chosen.name, list(read_items(source, chosen, ReadOptions(lambda text: text, most_mails)))


def test_markdown_stands_under_its_headings(tmp_path: Path) -> None:
    body = "# Harbour\n\nintro\n\n## Stage\n\non the east quay\n\n```sh\n# no heading\n\nls\n```\n\n# Food\nsoup\n"
    name, items = read(files.write_markdown(tmp_path / "a.md", body, title="Plan", date="2026-05-04"))
    assert name == "markdown"
    assert [(item.text, item.place) for item in items] == [
        ("# Harbour\nintro", "#Harbour"),
        ("## Stage\non the east quay", "#Harbour > Stage"),
        ("```sh\n# no heading\n\nls\n```", "#Harbour > Stage"),
        ("# Food\nsoup", "#Food"),
    ]
    assert {item.title for item in items} == {"Plan"}
    assert {item.occurred_at for item in items} == {datetime(2026, 5, 4, tzinfo=UTC)}


@pytest.mark.parametrize(
    "front", ["---\n- a list\n---\n", "---\nbad: [\n---\n", "---\ndate: 2026-02-31\n---\n", "---\n"]
)
def test_a_broken_front_matter_is_text(tmp_path: Path, front: str) -> None:
    path = tmp_path / "a.md"
    path.write_text(f"{front}words\n", encoding="utf-8")
    assert "words" in read(path)[1][-1].text


def test_a_date_line_near_the_top_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Minutes\nDate: 4 May 2026\n\nWe met.\n", encoding="utf-8")
    assert read(path)[1][0].occurred_at == datetime(2026, 5, 4, tzinfo=UTC)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_text_is_read_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.txt"
    text = "Der Kai wird bei Springflut überflutet, darum steht die Bühne im Osten. Größe: fünf Meter.\r\nJa.\r\n"
    path.write_bytes(text.encode(encoding))
    assert read(path)[1][0].text == text.replace("\r\n", "\n").strip()


def test_html_gives_its_words_alone(tmp_path: Path) -> None:
    body = "<h1>Stage</h1><p>East <b>quay</b></p><script>alert(1)</script><style>p{}</style><ul><li>soup</li></ul>"
    name, items = read(files.write_html(tmp_path / "a.html", body, "Plan"))
    assert name == "html"
    assert [(item.text, item.place, item.title) for item in items] == [
        ("Stage", "#Stage", "Plan"),
        ("East quay", "#Stage", "Plan"),
        ("soup", "#Stage", "Plan"),
    ]


def test_plain_messages_keep_who_and_when(tmp_path: Path) -> None:
    one = {"id": "m1", "from": "Marta", "text": "We rent a battery.", "ts": "2026-05-06T10:00:00Z", "thread": "power"}
    wanted = DocumentItem(
        "Marta: We rent a battery.", "m1", None, datetime(2026, 5, 6, 10, tzinfo=UTC), "Marta", "power", whole=True
    )
    assert read(files.write_messages(tmp_path / "a.json", [one, {"id": 2}, "junk"])) == ("messages", [wanted])
    assert read(files.write_messages(tmp_path / "b.json", {"items": [one]}))[1] == [wanted]
    lines = tmp_path / "c.jsonl"
    lines.write_text(f"{json.dumps(one)}\nbroken\n", encoding="utf-8")
    assert read(lines)[1] == [wanted]


def test_a_discord_export_is_told_by_its_shape(tmp_path: Path) -> None:
    export = {
        "guild": {"name": "crew"},
        "channel": {"name": "power"},
        "messages": [
            {"id": "1", "content": "A battery it is.", "timestamp": "2026-05-06T10:00:00+00:00",
             "author": {"name": "marta", "nickname": "Marta", "isBot": False}},
            {"id": "2", "content": "beep", "timestamp": "2026-05-06T10:00:01Z", "author": {"name": "b", "isBot": True}},
            {"id": "3", "content": "", "timestamp": "2026-05-06T10:00:02+00:00", "author": {"name": "c"}},
        ],
    }  # fmt: skip
    (item,) = read(files.write_messages(tmp_path / "a.json", export))[1]
    assert (item.text, item.title, item.sender, item.thread) == (
        "Marta: A battery it is.",
        "power",
        "Marta",
        "2026-05-06",
    )


def test_a_slack_export_takes_names_from_beside(tmp_path: Path) -> None:
    channel = tmp_path / "power"
    channel.mkdir()
    files.write_messages(tmp_path / "users.json", [{"id": "U1", "name": "m", "profile": {"real_name": "Marta"}}])
    messages = [
        {
            "type": "message",
            "user": "U1",
            "text": "ask <@U1> &amp; <https://example.org|the shop>",
            "ts": "1778061600.1",
        },
        {"type": "message", "user": "U1", "text": "reply", "ts": "1778061700.1", "thread_ts": "1778061600.1"},
        {"type": "message", "user": "USLACKBOT", "text": "hi", "ts": "1778061800.1"},
        {"type": "message", "bot_id": "B1", "user": "U9", "text": "beep", "ts": "1778061900.1"},
    ]
    items = read(files.write_messages(channel / "2026-05-06.json", messages))[1]
    assert [(item.text, item.thread) for item in items] == [
        ("Marta: ask @Marta & the shop", "2026-05-06"),
        ("Marta: reply", "1778061600.1"),
    ]
    assert items[0].title == "power"


def test_other_json_is_text(tmp_path: Path) -> None:
    (item,) = read(files.write_messages(tmp_path / "a.json", {"stage": "east quay"}))[1]
    assert item.text == '{"stage": "east quay"}'


def test_mails_keep_their_own_words(tmp_path: Path) -> None:
    body = "The battery costs 900.\n\nOn Mon, 4 May 2026 at 10:00, Jonas wrote:\n> how much?\n-- \nMarta\n"
    mails = [
        files.make_mail("Marta <m@example.org>", "Re: Power", body, date="Wed, 06 May 2026 10:00:00 +0200"),
        files.make_mail("j@example.org", "Soup", "<p>400 portions</p>", date="bad date", number=2, html=True),
    ]
    name, items = read(files.write_mailbox(tmp_path / "a.mbox", mails))
    assert name == "mailbox"
    assert items[0].text == "Re: Power\n\nThe battery costs 900."
    assert (items[0].sender, items[0].place) == ("Marta", "m1@example.org")
    assert items[0].occurred_at == datetime(2026, 5, 6, 8, tzinfo=UTC)
    assert (items[1].text, items[1].sender, items[1].occurred_at) == ("Soup\n\n400 portions", "j@example.org", None)
    single = tmp_path / "one.eml"
    single.write_bytes(mails[0].as_bytes())
    assert read(single)[1][0].text == items[0].text
    assert len(read(tmp_path / "a.mbox", most_mails=1)[1]) == 1


def test_a_mailbox_is_told_by_its_first_line(tmp_path: Path) -> None:
    mail = files.make_mail("a@example.org", "Hi", "body", date="Wed, 06 May 2026 10:00:00 +0200")
    files.write_mailbox(tmp_path / "a.mbox", [mail])
    (tmp_path / "a.mbox").rename(tmp_path / "inbox")
    assert read(tmp_path / "inbox")[0] == "mailbox"


@pytest.mark.parametrize(
    "header",
    ["Content-Type: text/plain; charset=no-such", "Content-Transfer-Encoding: base64", "From: =?x?q?=", "Date: \x00"],
)
def test_a_hostile_header_costs_at_most_its_mail(tmp_path: Path, header: str) -> None:
    good = files.make_mail("a@example.org", "Good", "body", date="Wed, 06 May 2026 10:00:00 +0200")
    files.write_mailbox(tmp_path / "a.mbox", [good])
    with (tmp_path / "a.mbox").open("ab") as file:
        file.write(f"From x@example.org Wed May  6 10:00:00 2026\n{header}\nSubject: odd\n\nwords\n\n".encode())
    assert read(tmp_path / "a.mbox")[1][0].title == "Good"


def test_forwarded_words_are_not_the_senders() -> None:
    assert strip_quotes("mine\n---- Original Message ----\nFrom: x\ntheirs") == "mine"


def test_a_pdf_is_read_page_by_page(tmp_path: Path) -> None:
    path = files.write_pdf(tmp_path / "a.pdf", ["The stage stands east.", "Soup: 400 portions."])
    path.rename(tmp_path / "wrong.txt")
    name, items = read(tmp_path / "wrong.txt")
    assert name == "pdf"
    assert [(item.place, item.text) for item in items] == [
        ("p. 1", "The stage stands east."),
        ("p. 2", "Soup: 400 portions."),
    ]


def test_a_word_file_is_read_with_its_tables(tmp_path: Path) -> None:
    name, items = read(files.write_word(tmp_path / "a.docx", "Stage", ["It stands east."]))
    assert name == "word"
    assert [(item.text, item.place) for item in items] == [
        ("Stage", "#Stage"), ("It stands east.", "#Stage"), ("deposit; 400 crowns", "#Stage"),
    ]  # fmt: skip


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table_says_its_columns(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "a.csv"
    rows = [["who", "what"], ["Marta", "battery"], ["Jonas", "soup"]]
    path.write_text("\n".join(separator.join(row) for row in rows), encoding="utf-8")
    (item,) = read(path)[1]
    assert (item.text, item.place) == ("who: Marta; what: battery\nwho: Jonas; what: soup", "rows 2-3")


def test_an_encrypted_pdf_says_so(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="is encrypted; save it without a password"):
        read(files.write_pdf(tmp_path / "a.pdf", ["secret"], password="opensesame"))


def test_a_pdf_of_pictures_says_so(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="OCR"):
        read(files.write_pdf(tmp_path / "a.pdf", [""]))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.pdf", b"%PDF-1.7\nnothing of the kind"),
        ("a.docx", b"PK\x03\x04" + b"[Content_Types].xml" * 3),
        ("a.docx", b"no zip at all"),
        ("a.json", b'{"items": ['),
        ("a.json", b"[" * 100_000),
        ("a.jsonl", b"no message\n"),
        ("a.eml", b""),
    ],
)
def test_a_damaged_file_is_one_sentence(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(DocumentError) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("name", ["a.md", "a.txt", "a.html", "a.csv", "a.mbox"])
def test_an_empty_file_has_no_items(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    assert read(tmp_path / name)[1] == []


def test_a_cut_file_of_a_library_is_one_sentence(tmp_path: Path) -> None:
    whole = files.write_word(tmp_path / "a.docx", "Stage", ["words " * 500]).read_bytes()
    pdf = files.write_pdf(tmp_path / "a.pdf", ["words " * 500]).read_bytes()
    for name, data in (("b.docx", whole[: len(whole) // 2]), ("b.pdf", pdf[: len(pdf) // 3])):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(DocumentError):
            read(tmp_path / name)


def test_a_binary_file_has_no_format(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\x7fELF\0\0\0")
    assert choose_format(DocumentSource(path, "a.txt", 7, 0), load_formats()) is None
