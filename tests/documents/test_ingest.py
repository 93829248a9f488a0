"""``rekal ingest``: what is read, what is not read again, what is taken out; and documents in ``rekal recall``."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from rekal.documents import ingest as ingest_room
from rekal.store.ledger import open_ledger
from rekal.store.source_state import erase_sessions
from tests.conftest import git
from tests.support import document_files as files
from tests.support.app import Rekal

STAGE = "The main stage stands on the east quay because the west quay floods at spring tide."
SOUP = "Marta orders four hundred portions of fish soup from the harbour cooperative."


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder with two notes outside of the repository."""
    folder = tmp_path / "notes"
    folder.mkdir()
    files.write_markdown(folder / "stage.md", f"# Festival\n\n## Stage\n\n{STAGE}\n", date="2026-05-04")
    files.write_markdown(folder / "soup.md", f"# Catering\n\n{SOUP}\n")
    return folder


def ingest(rekal: Rekal, *args: object) -> dict[str, Any]:
    done = rekal("ingest", *map(str, args), "--json")
    assert done.code in (0, 1), done.err
    found: dict[str, Any] = done.json
    return found


def stored(rekal: Rekal) -> list[tuple[str, str]]:
    """Every chunk with the file it is of."""
    with open_ledger(rekal.layout.documents.data, read_only=True) as ledger:
        rows = ledger.con.execute("SELECT cwd, content FROM turns JOIN sessions ON id = session_id ORDER BY ALL")
        return [(str(name), str(text)) for name, text in rows.fetchall()]


def test_a_document_answers_with_its_place_and_date(rekal: Rekal, notes: Path) -> None:
    assert ingest(rekal, notes)["sources"] == {"added": 2}
    answer = rekal("recall", "why does the main stage stand on the east quay")
    assert answer.code == 0
    assert "INJECT" in answer.out
    assert f'DOCUMENT notes/stage.md#Festival > Stage  2026-05-04  "Stage {STAGE}"' in answer.out


def test_a_question_about_something_else_is_silent(rekal: Rekal, notes: Path) -> None:
    ingest(rekal, notes)
    assert rekal("recall", "how do we rotate the tls certificates of the ingress").code == 1


def test_recall_without_documents_has_no_field_for_them(rekal: Rekal) -> None:
    assert "documents" not in rekal("recall", "why is the stage in the east", "--json").json


def test_what_did_not_change_is_not_read_again(rekal: Rekal, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ingest(rekal, notes)
    monkeypatch.setattr(ingest_room, "read_items", lambda *_: pytest.fail("read again"))
    assert ingest(rekal, notes)["sources"] == {"unchanged": 2}
    os.utime(notes / "soup.md", ns=(1, 1))  # touched, and the same
    assert ingest(rekal, notes)["sources"] == {"unchanged": 2}


def test_a_changed_document_takes_the_place_of_the_old_one(rekal: Rekal, notes: Path) -> None:
    ingest(rekal, notes)
    files.write_markdown(notes / "stage.md", "# Festival\n\nThe stage moved to the fish market hall.\n")
    assert ingest(rekal, notes)["sources"] == {"changed": 1, "unchanged": 1}
    assert [text for name, text in stored(rekal) if name == "notes/stage.md"] == [
        "# Festival\nThe stage moved to the fish market hall."
    ]
    assert "fish market hall" in rekal("recall", "where did the stage move to, the fish market hall").out
    assert "east quay" not in rekal("recall", "why does the main stage stand on the east quay").out


def test_a_mailbox_that_grows_adds_its_new_mails_alone(rekal: Rekal, tmp_path: Path) -> None:
    mails = [
        files.make_mail("a@example.org", f"Topic {n}", f"body {n}", date="Wed, 06 May 2026 10:00:00 +0200", number=n)
        for n in range(5)
    ]
    box = files.write_mailbox(tmp_path / "in.mbox", mails[:4])
    assert ingest(rekal, box)["chunks"] == 4
    box.unlink()
    files.write_mailbox(box, mails)
    again = ingest(rekal, box)
    assert (again["chunks"], again["removed"]) == (1, 0)


def test_a_file_that_fails_keeps_what_was_stored(rekal: Rekal, notes: Path) -> None:
    page = files.write_pdf(notes / "plan.pdf", [STAGE])
    ingest(rekal, notes)
    whole = page.read_bytes()
    page.write_bytes(whole[:300])
    failed = ingest(rekal, notes)
    assert failed["sources"] == {"failed": 1, "unchanged": 2}
    assert failed["problems"][0].startswith("notes/plan.pdf: plan.pdf is not a PDF")
    assert ("notes/plan.pdf", STAGE) in [(name, " ".join(text.split())) for name, text in stored(rekal)]
    page.write_bytes(whole)
    assert ingest(rekal, notes)["sources"] == {"unchanged": 3}
    assert rekal("recall", "why does the main stage stand on the east quay").code == 0


def test_bad_files_stop_nothing(rekal: Rekal, notes: Path) -> None:
    (notes / "bad.json").write_bytes(b"{")
    (notes / "tool.exe").write_bytes(b"MZ\0\0")
    (notes / "empty.md").write_bytes(b"")
    (notes / "node_modules").mkdir()
    (notes / "node_modules" / "readme.md").write_text(SOUP, encoding="utf-8")
    (notes / ".obsidian").mkdir()
    os.mkfifo(notes / "pipe.txt")
    done = ingest(rekal, notes)
    assert done["sources"] == {"added": 2, "empty": 1, "failed": 1, "skipped": 1}
    assert done["passed_over"] == {
        "folder node_modules": 1, "folder whose name begins with a dot": 1, "not a file": 1,
        "of no format that is known": 1,
    }  # fmt: skip


def test_what_git_ignores_is_not_read(rekal: Rekal) -> None:
    (rekal.root / ".gitignore").write_text("drafts/\n", encoding="utf-8")
    (rekal.root / "drafts").mkdir()
    files.write_markdown(rekal.root / "drafts" / "a.md", SOUP)
    assert ingest(rekal, rekal.root)["passed_over"]["ignored by git"] > 0
    assert all("drafts" not in name for name, _ in stored(rekal))
    assert ingest(rekal, rekal.root / "drafts" / "a.md")["sources"] == {"added": 1}  # named, so wanted


def test_files_are_chosen(rekal: Rekal, notes: Path) -> None:
    assert ingest(rekal, notes, "--exclude", "stage.*")["sources"] == {"added": 1}
    assert ingest(rekal, notes, "--top", "1")["sources"] == {"added": 1}
    assert [one["name"] for one in rekal("ingest", "--list", "--json").json] == ["notes/soup.md", "notes/stage.md"]


def test_a_file_that_is_gone_is_taken_out_when_asked(rekal: Rekal, notes: Path) -> None:
    ingest(rekal, notes)
    (notes / "soup.md").unlink()
    assert ingest(rekal, notes)["pruned"] == []
    assert ingest(rekal, notes, "--prune")["pruned"] == [str(notes / "soup.md")]
    assert {name for name, _ in stored(rekal)} == {"notes/stage.md"}


def test_the_same_name_in_two_folders_is_two_documents(rekal: Rekal, notes: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "notes"
    other.mkdir(parents=True)
    files.write_markdown(other / "stage.md", "# Other\n\nNothing of the festival.\n")
    ingest(rekal, notes, other)
    assert len([name for name, _ in stored(rekal) if name == "notes/stage.md"]) == 2


def test_secrets_are_in_no_file_of_the_store(rekal: Rekal, notes: Path) -> None:
    key = "ghp_" + "x7Kq2mWz9RtBv4Lp8NcY3hJd6SfGa1Qe5Uo0"
    files.write_markdown(notes / "a.md", f"# Token\n\nexport GITHUB_TOKEN={key}\n")
    files.write_messages(notes / "b.json", [{"id": "1", "from": "Jo", "text": f"take {key}"}])
    files.write_mailbox(notes / "c.mbox", [files.make_mail("a@x.org", f"key {key}", f"it is {key}", date="x")])
    files.write_word(notes / "d.docx", "Key", [f"token: {key}"])
    files.write_pdf(notes / "e.pdf", [f"token: {key}"])
    files.write_html(notes / "f.html", f"<p>token: {key}</p>")
    (notes / "g.csv").write_text(f"name,token\nci,{key}\n", encoding="utf-8")
    assert ingest(rekal, notes)["sources"] == {"added": 9}
    for folder in (rekal.layout.documents.directory, rekal.layout.run):
        for path in folder.rglob("*"):
            assert not path.is_file() or key.encode() not in path.read_bytes(), path


def test_filters_hold_for_documents(rekal: Rekal, notes: Path) -> None:
    box = files.make_mail("Marta <m@example.org>", "Soup", SOUP, date="Wed, 06 May 2026 10:00:00 +0200")
    files.write_mailbox(notes / "in.mbox", [box])
    ingest(rekal, notes)
    question = "fish soup portions from the harbour cooperative"

    def paths(*options: str) -> set[str]:
        return {row["path"] for row in rekal("recall", question, "--json", *options).json.get("documents", [])}

    assert paths() == {"notes/soup.md", "notes/in.mbox"}
    assert paths("--type", "mailbox") == {"notes/in.mbox"}
    assert paths("--file", "notes/soup.md") == {"notes/soup.md"}
    assert paths("--author", "Marta") == {"notes/in.mbox"}
    assert paths("--only", "keyword") == {"notes/soup.md", "notes/in.mbox"}
    assert paths("--type", "mailbox", "--since", "2026-05-07") == set()


def test_forgotten_words_stay_out_of_documents(rekal: Rekal, notes: Path) -> None:
    ingest(rekal, notes)
    assert rekal("forget", "--text", "four hundred portions", "--yes").code == 0
    assert ingest(rekal, notes, "--again")["problems"] == []
    assert all("portions" not in text for _, text in stored(rekal))
    for path in (rekal.layout.documents.data, rekal.layout.documents.index):
        assert b"portions" not in path.read_bytes()


def test_a_source_is_forgotten_until_it_is_asked_for(rekal: Rekal, notes: Path) -> None:
    ingest(rekal, notes)
    gone = rekal("forget", "--source", str(notes / "soup.md"), "--yes", "--json")
    assert gone.json["sources"] == [str(notes / "soup.md")]
    assert b"cooperative" not in rekal.layout.documents.data.read_bytes()
    files.write_markdown(notes / "soup.md", f"# Catering\n\n{SOUP} Truly.\n")
    assert ingest(rekal, notes)["sources"] == {"forgotten": 1, "unchanged": 1}
    assert ingest(rekal, notes, "--again")["sources"] == {"added": 1, "unchanged": 1}
    assert any("cooperative" in text for _, text in stored(rekal))


def test_personal_documents_are_asked_everywhere(rekal: Rekal, notes: Path, tmp_path: Path) -> None:
    ingest(rekal, notes, "--personal")
    assert "(personal)" in rekal("recall", "fish soup portions of the cooperative").out
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert "notes/soup.md" in rekal("recall", "fish soup portions of the cooperative", cwd=elsewhere).out


def test_git_clean_does_not_take_documents(rekal: Rekal, notes: Path) -> None:
    ingest(rekal, notes)
    git(rekal.root, "clean", "-fdxq")
    assert rekal("recall", "why does the main stage stand on the east quay").code == 0


def test_clean_leaves_nothing_of_them(rekal: Rekal, notes: Path) -> None:
    ingest(rekal, notes)
    assert rekal("clean", "--yes").code == 0
    assert not rekal.layout.documents.directory.exists()
    assert not rekal.layout.run.exists()


@pytest.mark.parametrize(
    "died_at", [point if point % 3 == 0 else pytest.param(point, marks=pytest.mark.soak) for point in range(30)]
)
def test_interrupted_and_repeated_is_the_same(
    rekal: Rekal, notes: Path, monkeypatch: pytest.MonkeyPatch, died_at: int
) -> None:
    """Ends the ingestion at a statement of its own, then runs it again."""
    monkeypatch.setattr(ingest_room, "_BATCH_SOURCES", 2)
    monkeypatch.setattr(ingest_room, "_BATCH", 400)
    mails = [
        files.make_mail("a@x.org", f"T{n}", f"{SOUP} {n}", date="Wed, 06 May 2026 10:00:00 +0200", number=n)
        for n in range(12)
    ]
    files.write_mailbox(notes / "in.mbox", mails)
    for name in "abcdefghijklmnopqrstuvwxyz":
        files.write_markdown(notes / f"{name}.md", f"# {name}\n\n{STAGE} {name}\n")
    steps = iter(range(1000))
    real = erase_sessions
    added = ingest_room._add_sessions

    class Died(BaseException):
        """Stands for a process that ends here."""

    def step() -> None:
        if next(steps) == died_at:
            raise Died

    def erase(ledger: Any, names: Any) -> int:
        step()
        return real(ledger, names)

    def add(ledger: Any, sessions: Any, done: Any) -> None:
        step()
        added(ledger, sessions, done)
        step()

    with monkeypatch.context() as patched:
        patched.setattr("rekal.store.source_state.erase_sessions", erase)
        patched.setattr(ingest_room, "_add_sessions", add)
        with pytest.raises(Died):  # else it is a point beyond the last
            rekal("ingest", str(notes))
    ingest(rekal, notes)
    interrupted = stored(rekal)
    shutil.rmtree(rekal.layout.documents.directory)
    shutil.rmtree(rekal.layout.documents.run)
    ingest(rekal, notes)
    assert stored(rekal) == interrupted
    assert len(interrupted) == 40


def test_mistakes_are_one_sentence(rekal: Rekal, tmp_path: Path) -> None:
    assert rekal("ingest").code == 2
    assert "there is no" in rekal("ingest", str(tmp_path / "nowhere")).err
    assert "no format of documents" in rekal("ingest", "--type", "wav", str(tmp_path)).err
    assert "was ingested" in rekal("forget", "--source", str(tmp_path)).err
