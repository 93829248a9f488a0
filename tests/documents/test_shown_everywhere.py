"""An answer by documents alone is shown by whatever asks, and what is personal stays out of pages for others."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.support.app import Rekal
from tests.support.document_files import write_markdown
from tests.support.served_page import Checkout, ServedPage

STAGE = "The main stage stands on the east quay because the west quay floods at spring tide."
ASKED = "why does the main stage stand on the east quay"
PLACE = "notes/stage.md#Festival > Stage"


def _ingest(rekal: Rekal, folder: Path, *options: str) -> None:
    folder.mkdir()
    write_markdown(folder / "stage.md", f"# Festival\n\n## Stage\n\n{STAGE}\n", date="2026-05-04")
    done = rekal("ingest", str(folder), *options)
    assert done.code == 0, done.err


@pytest.fixture
def ingested(rekal: Rekal, tmp_path: Path) -> Rekal:
    """A repository whose only knowledge is one note."""
    _ingest(rekal, tmp_path / "notes")
    return rekal


@pytest.mark.parametrize(
    ("profile", "tool", "parameter"),
    [("core", "recall", "question"), ("recall", "recall_search", "query")],
)
def test_over_mcp(ingested: Rekal, profile: str, tool: str, parameter: str) -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    from rekal.mcp.mcp_server import RekalServer

    answer = RekalServer(profile, cwd=ingested.root).answer(tool, {parameter: ASKED})
    assert not answer.error
    assert PLACE in answer.texts[0]
    assert STAGE in answer.texts[0]


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_in_a_page_for_somebody_else(ingested: Rekal, form: str) -> None:
    page = _export(ingested, form)
    assert STAGE in page
    assert "notes/stage.md#Festival" in page


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_a_personal_document_is_in_no_page_for_somebody_else(rekal: Rekal, tmp_path: Path, form: str) -> None:
    _ingest(rekal, tmp_path / "notes", "--personal")
    assert STAGE in rekal("recall", ASKED).out, "it would pass where nothing answers"
    page = _export(rekal, form)
    assert "SILENCE" in page
    assert "quay because" not in page
    assert "notes/stage.md" not in page


def _export(rekal: Rekal, form: str) -> str:
    if form == "html":
        pytest.importorskip("jinja2", reason="the extra web is not installed")
    done = rekal("export", *(["--html", "page.html"] if form == "html" else []), "--answer", ASKED)
    assert done.code in (0, 1), done.err
    return (rekal.root / "page.html").read_text("utf-8") if form == "html" else done.out


def test_on_the_page_of_a_search(tmp_path: Path) -> None:
    pytest.importorskip("starlette", reason="the extra web is not installed")
    pytest.importorskip("jinja2", reason="the extra web is not installed")
    checkout = Checkout(tmp_path)
    checkout("init")
    write_markdown(checkout.root / "stage.md", f"# Festival\n\n## Stage\n\n{STAGE}\n", date="2026-05-04")
    checkout("ingest", "stage.md")
    with ServedPage(checkout) as page:
        found = page.page(f"/search?{urlencode({'q': ASKED})}")
    assert "1 chunk of documents" in found
    assert "stage.md#Festival" in found
    assert "<mark>quay</mark>" in found


def test_an_agent_outside_of_a_repository_gets_personal_documents_between_marks(
    rekal: Rekal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _ingest(rekal, tmp_path / "notes", "--personal")
    outside = tmp_path / "outside"
    outside.mkdir()
    monkeypatch.setenv("CLAUDECODE", "1")
    verdict, opened, *rows, closed = rekal("recall", ASKED, cwd=outside).out.strip().split("\n")
    assert verdict.startswith("INJECT")
    mark = opened.split()[0]
    assert mark in closed
    assert any(STAGE in row for row in rows)
