"""Mailboxes and single mails, by the standard library."""

from __future__ import annotations

import mailbox
import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parseaddr
from pathlib import Path

from rekal.documents.document_dates import read_date
from rekal.documents.document_records import DocumentError, DocumentFormat, DocumentItem, ReadOptions
from rekal.documents.formats.decode import decode_text
from rekal.documents.formats.marked_text import html_to_text

_REPLY = re.compile(r"^(?:\s*(?:re|aw|fw|fwd|wg|sv|rv|tr)\s*(?:\[\d+\])?:\s*)+", re.IGNORECASE)
_ATTRIBUTION = re.compile(r"^(?:On|Am|Le|El|Em) .{4,200}(?:wrote|schrieb.*|écrit|escribió|escreveu)\s*:\s*$")
_FORWARDED = re.compile(r"^-{2,}\s*(?:Original Message|Forwarded message)\s*-{2,}$", re.IGNORECASE)
_LARGEST_MAIL = 64 << 20
_BAD_MAIL = (MessageError, LookupError, ValueError, TypeError, AttributeError, IndexError)  # of hostile headers


def read_mailbox(path: Path, options: ReadOptions) -> Iterator[DocumentItem]:
    """Yield the mails of an mbox file in its order, one at a time in memory; a mail that is broken is left out."""
    if path.stat().st_size == 0:
        return
    box = mailbox.mbox(path, factory=None, create=False)
    broken = read = 0
    try:
        for key in box.iterkeys():
            if options.most_mails and read >= options.most_mails:
                break
            with box.get_file(key) as file:
                found = _read_mail(file.read(_LARGEST_MAIL))
            broken += found is None
            if found is not None and found.text:
                read += 1
                yield found
    finally:
        box.close()
    if broken and not read:
        raise DocumentError(f"{path.name} holds no mail that can be read")


def read_mail_file(path: Path, options: ReadOptions) -> Iterator[DocumentItem]:
    """Yield the one mail of an ``.eml`` file. DocumentError for what is none."""
    with path.open("rb") as file:
        found = _read_mail(file.read(_LARGEST_MAIL))
    if found is None:
        raise DocumentError(f"{path.name} is not a mail that can be read")
    yield found


def _read_mail(data: bytes) -> DocumentItem | None:
    try:
        # The old policy: the new one parses a header anew each time it is looked at, two thirds of a mail's cost.
        mail = message_from_bytes(data, policy=policy.compat32)
        if not mail.keys():
            return None
        subject = _read_header(mail, "subject")
        name, address = parseaddr(_read_header(mail, "from"))
        body = strip_quotes(_body_of(mail))
        text = f"{subject}\n\n{body}".strip()
        thread = _REPLY.sub("", subject).strip()
        place = _read_header(mail, "message-id").strip("<> ")
        when = read_date(_read_header(mail, "date"))
        # A thread of its own each: a mailbox of a gigabyte is never held, and a mail that stays is never read again.
        key = f"{thread}\n{place}"
        return DocumentItem(text, place, subject or None, when, name or address or None, key, whole=True)
    except _BAD_MAIL:
        return None


def _read_header(mail: Message, name: str) -> str:
    said = mail.get(name)
    if said is None:
        return ""
    # Parts in several encodings, and bytes that are in none.
    text = str(make_header(decode_header(str(said)))) if "=?" in str(said) else str(said)
    return " ".join(text.encode("utf-8", "replace").decode().split())


def _body_of(mail: Message) -> str:
    part = _find_text(mail)
    if part is None:
        return ""
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    charset = part.get_content_charset()
    try:
        text = data.decode(charset, "replace").replace("\r\n", "\n") if charset else decode_text(data)
    except LookupError:  # a charset that nobody has heard of
        text = decode_text(data)
    return html_to_text(text) if part.get_content_subtype() == "html" else text


def _find_text(mail: Message) -> Message | None:
    """Find the part to read: the first plain text that is no attachment, else the first HTML."""
    parts = [part for part in mail.walk() if part.get_content_maintype() == "text" and not part.get_filename()]
    shown = [part for part in parts if part.get_content_disposition() != "attachment"]
    kinds = {
        kind: next((one for one in shown if one.get_content_subtype() == kind), None) for kind in ("plain", "html")
    }
    return kinds["plain"] or kinds["html"]


def strip_quotes(body: str) -> str:
    """Return a mail's own words: without quoted lines, the line that announces them, and its signature."""
    kept: list[str] = []
    for line in body.split("\n"):
        if line.rstrip() == "--" or _FORWARDED.match(line.strip()):
            break
        if not line.startswith(">") and not _ATTRIBUTION.match(line.strip()):
            kept.append(line)
    return "\n".join(kept).strip()


def _is_mailbox(head: bytes) -> bool:
    return bool(re.match(rb"From [^\r\n]+\d{4}\r?\n[!-9;-~]+:", head))


MAIL_FORMATS = (
    DocumentFormat("mailbox", (".mbox", ".mbx"), read_mailbox, _is_mailbox),
    DocumentFormat("mail", (".eml",), read_mail_file),
)
