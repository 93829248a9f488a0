"""The index follows the ledger and HEAD."""

from __future__ import annotations

from rekal.index.knowledge import search_knowledge
from rekal.index.reader import open_index
from rekal.index.text import query_terms
from tests.conftest import git
from tests.support.app import Rekal


def found(rekal: Rekal, question: str) -> list[str]:
    with open_index(rekal.layout.index) as reader:
        return [one.path for one in search_knowledge(reader, query_terms(question))]


def test_the_worker_follows_a_head_that_moved_without_a_capture(rekal: Rekal) -> None:
    rekal("_worker")
    assert found(rekal, "shed") == []
    (rekal.root / "shed.md").write_text("# Shed\n\nIt is green.\n", encoding="utf-8")
    git(rekal.root, "add", ".")
    git(rekal.root, "commit", "-q", "-m", "shed")
    rekal("_worker")
    assert found(rekal, "green shed") == ["shed.md"]
    git(rekal.root, "reset", "-q", "--hard", "HEAD~1")
    assert rekal("index").code == 0
    assert found(rekal, "green shed") == []


def test_prose_is_scrubbed_like_everything_else(rekal: Rekal) -> None:
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    (rekal.root / "shed.md").write_text(f"The shed's token is {token}.\n", encoding="utf-8")
    git(rekal.root, "add", ".")
    git(rekal.root, "commit", "-q", "-m", "shed")
    rekal("index", "--full")
    assert found(rekal, "shed token") == ["shed.md"]
    assert token.encode() not in rekal.layout.index.read_bytes()
