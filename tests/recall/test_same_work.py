"""Sessions of one piece of work stand together: the same files, begun within hours of each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rekal.cli.verbs.recall import answer_lines
from rekal.index.filters import NO_FILTERS
from rekal.index.reader import open_index
from rekal.recall.answer import Answer
from rekal.recall.recall import Options, answer_question
from tests.index.ledgers import Store, calls, session

QUESTION = "why does the upload worker retry a chunk"
FILES = ("src/worker.py", "src/chunk.py")


def _ask(directory: Path, sessions: Sequence[tuple[str, str, int, tuple[str, ...]]]) -> Answer:
    store = Store(directory)
    store.append(
        *(session(name, text, "Done.", day=day, tool_calls=calls(name, *paths)) for name, text, day, paths in sessions)
    )
    store.update()
    with open_index(store.index) as reader:
        return answer_question(reader, QUESTION, NO_FILTERS, Options(strictness=0))


def test_the_next_session_of_a_piece_of_work_stands_behind_the_best(tmp_path: Path) -> None:
    answer = _ask(
        tmp_path,
        [
            ("best", "the upload worker retries a chunk, the worker retries the upload", 0, FILES),
            ("other", "the upload worker retries a chunk when it must", 9, ("docs/a.md", "docs/b.md")),
            ("next", "a chunk of the upload worker", 0, (*FILES, "src/more.py")),
        ],
    )
    best, behind, other = answer.sessions
    assert behind.same_work_as == best.session_id
    assert other.same_work_as is None is best.same_work_as
    assert any("the same files as" in line for line in answer_lines(answer, explain=False))


def test_other_files_other_days_and_one_common_file_are_other_work(tmp_path: Path) -> None:
    answer = _ask(
        tmp_path,
        [
            ("best", "the upload worker retries a chunk, the worker retries the upload", 0, FILES),
            ("later", "the upload worker retries a chunk when it must", 3, FILES),
            ("one", "the upload worker retries a chunk when it can", 0, ("src/worker.py", "src/x.py")),
            ("none", "the upload worker retries a chunk if it can", 0, ()),
        ],
    )
    assert len(answer.sessions) > 2
    assert {hit.same_work_as for hit in answer.sessions} == {None}
