"""The library: ``from rekal import Memory``. Eight methods over the services that the command line calls."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rekal.app.ask_question import Arm
    from rekal.app.desk import Desk
    from rekal.app.documents.ingest_documents import IngestAnswer
    from rekal.app.memory_check import Checked
    from rekal.memory.events import MemoryType
    from rekal.memory.state import Memory as StoredMemory
    from rekal.recall.answer import Answer, DocumentRow
    from rekal.why.why import WhyAnswer

# Paths are read from the current directory, which is the process's: one call at a time.
_ONE_AT_A_TIME = threading.RLock()


class Memory:
    """The memory of the repository around ``path``; outside of one with a store, memories are your personal ones.

    Every method opens, acts and closes. Errors are :class:`rekal.errors.RekalError`, one sentence each.

    >>> Memory("/path/to/repository").recall("why is the queue in Postgres").verdict  # doctest: +SKIP
    'INJECT'
    """

    def __init__(self, path: str | Path = ".", *, agent: bool = True) -> None:
        """``agent``: what is remembered is an agent's word, a proposal; else a person's, and accepted."""
        self._path = Path(path).absolute()
        self._kind = "agent" if agent else "human"

    def recall(
        self, question: str, *, file: str | None = None, since: str | None = None, budget: int | None = None
    ) -> Answer:
        """Answer a question from sessions and memories: INJECT, KNOWLEDGE or SILENCE, with the evidence."""
        from rekal.app.ask_question import AskedQuestion, ask_question
        from rekal.errors import NotInitialised

        with self._at_work() as desk:
            if desk.app is None:
                raise NotInitialised("there is no repository with a rekal store here", "run `rekal init` first")
            return ask_question(desk.app, AskedQuestion(text=question, file=file, since=since, budget=budget))

    def search(
        self,
        text: str,
        *,
        type: str | None = None,  # noqa: A002 - the word that the command line uses
        since: str | None = None,
        limit: int = 10,
        only: Arm | None = None,
    ) -> list[DocumentRow]:
        """Find chunks of ingested documents, best first; ``type`` is a format's name, ``only`` asks one arm."""
        from rekal.app.ask_question import AskedQuestion, ask_personal_documents, ask_question

        with self._at_work() as desk:
            question = AskedQuestion(text=text, type=type, since=since, limit=limit, only=only, budget=4000)
            found = ask_personal_documents(desk, question) if desk.app is None else ask_question(desk.app, question)
            return list(found.documents or ())

    def ingest(self, *paths: str | Path, type: str | None = None, prune: bool = False) -> IngestAnswer:  # noqa: A002
        """Read documents that are new or changed, below ``paths``; outside of a repository into your personal store."""
        from rekal.app.documents.ingest_documents import IngestRequest, ingest_documents

        with self._at_work() as desk:
            return ingest_documents(desk, IngestRequest(paths=tuple(map(Path, paths)), kind=type, prune=prune))

    def recall_block(self, text: str, *, exclude: Sequence[str] = (), timeout: float = 1.5, budget: int = 400) -> str:
        """Return a block for an agent's prompt about ``text``; empty when nothing bears on it, or not in time."""
        from rekal.app.documents.recall_block import BlockRequest, recall_block

        with self._at_work() as desk:
            request = BlockRequest(text=text, exclude=tuple(exclude), timeout=timeout, budget=budget)
            return recall_block(desk, request)

    def why(self, target: str) -> WhyAnswer:
        """Say which turns wrote ``FILE``, ``FILE:LINE`` or ``FILE:LINE-LINE``, or led to a commit."""
        from rekal.app.explain_lines import explain_target
        from rekal.errors import NotInitialised

        with self._at_work() as desk:
            if desk.app is None:
                raise NotInitialised("there is no repository with a rekal store here", "run `rekal init` first")
            return explain_target(desk.app, target)

    def check(self, plan: str, *, files: Sequence[str] = ()) -> Checked:
        """Hold a plan, a command or a diff against decisions and ruled-out approaches."""
        from rekal.app.memory_check import check_proposal

        with self._at_work() as desk:
            return check_proposal(desk, plan, files)

    def remember(
        self,
        text: str,
        *,
        type: MemoryType = "note",  # noqa: A002 - the word that the log and --json use
        because: str | None = None,
        tags: Sequence[str] = (),
    ) -> StoredMemory:
        """Keep a text of at most 16 KB; returns the memory, or the one that says the same already."""
        from rekal.app.memories import remember
        from rekal.memory.write import NewMemory

        with self._at_work() as desk:
            return remember(desk, NewMemory(text=text, type=type, because=because, tags=tuple(tags))).memory

    def forget(self, memory_id: str, *, note: str | None = None) -> StoredMemory:
        """Take a memory back; it stays in the log. ``memory_id`` may be cut, to eight characters at least."""
        from rekal.app.memories import review_memory
        from rekal.errors import UsageError

        if len(memory_id) < 8:
            raise UsageError(f"{memory_id} is too short for an id", "give eight characters or more")
        with self._at_work() as desk:
            return review_memory(desk, memory_id, "retract", note).memory

    @contextlib.contextmanager
    def _at_work(self) -> Iterator[Desk]:
        from rekal.app.desk import desk_here

        with _ONE_AT_A_TIME:
            before = Path.cwd()
            os.chdir(self._path)
            try:
                yield desk_here(via="library", actor_kind=self._kind)
            finally:
                os.chdir(before)
