"""Files of every format that documents are read from, each made by the format's own library."""

from __future__ import annotations

import json
import mailbox
from email.message import EmailMessage
from pathlib import Path


def write_markdown(path: Path, body: str, *, title: str = "", date: str = "") -> Path:
    """Write a note, with a front matter where it has a title or a date."""
    meta = [f"{name}: {value}" for name, value in (("title", title), ("date", date)) if value]
    head = ["---", *meta, "---", ""] if meta else []
    path.write_text("\n".join([*head, body]), encoding="utf-8")
    return path


def write_html(path: Path, body: str, title: str = "Page") -> Path:
    """Write an HTML page."""
    path.write_text(f"<!doctype html><html><head><title>{title}</title></head><body>{body}</body></html>", "utf-8")
    return path


def write_pdf(path: Path, pages: list[str], *, password: str = "") -> Path:
    """Write a PDF with a text a page; with a password it is encrypted."""
    from fpdf import FPDF

    pdf = FPDF()
    pdf.set_font("Helvetica", size=11)
    for page in pages:
        pdf.add_page()
        pdf.multi_cell(0, 6, page)
    plain = bytes(pdf.output())
    path.write_bytes(plain)
    if password:
        from pypdf import PdfReader, PdfWriter

        writer = PdfWriter(clone_from=PdfReader(path))
        writer.encrypt(password, algorithm="RC4-128")
        writer.write(path)
    return path


def write_word(path: Path, heading: str, paragraphs: list[str]) -> Path:
    """Write a Word file."""
    from docx import Document

    document = Document()
    document.add_heading(heading, 1)
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    table = document.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "deposit", "400 crowns"
    document.save(str(path))
    return path


def make_mail(sender: str, subject: str, body: str, *, date: str, number: int = 1, html: bool = False) -> EmailMessage:
    """Make one mail."""
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"], mail["Date"] = sender, "crew@example.org", subject, date
    mail["Message-ID"] = f"<m{number}@example.org>"
    mail.set_content(body, subtype="html" if html else "plain")
    return mail


def write_mailbox(path: Path, mails: list[EmailMessage]) -> Path:
    """Write an mbox file."""
    box = mailbox.mbox(path)
    for mail in mails:
        box.add(mailbox.mboxMessage(mail))
    box.close()
    return path


def write_messages(path: Path, messages: object) -> Path:
    """Write messages as JSON."""
    path.write_text(json.dumps(messages), encoding="utf-8")
    return path
