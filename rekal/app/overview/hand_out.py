"""A session or an answer for somebody who has no store: scrubbed once more, as all is that leaves this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from rekal.app.ask_question import AskedQuestion, ask_question
from rekal.app.context import App
from rekal.app.read_ledger import ShownSession, show_sessions
from rekal.errors import NOTHING_FOUND, UsageError
from rekal.recall.answer import Answer

_ALL = 1 << 30  # turns
_NAMES = frozenset({"id", "uid", "native_id", "session_id", "git_sha", "commit", "commits", "tree_sha", "patch_id",
                    "parent_sha", "parent_id", "forked_from", "line_hashes", "origin"})  # fmt: skip
Record = TypeVar("Record")


def read_session_to_hand_out(app: App, name: str) -> ShownSession:
    """Read all turns of the one session called ``name``, scrubbed once more. UsageError where there is none."""
    found = show_sessions(app, name, 0, _ALL)
    if len(found) != 1:
        raise UsageError(f"{name} names {len(found)} sessions", "`rekal sessions` lists them; give the id of one")
    return scrub_record(found[0], app.scrub)


def ask_to_hand_out(app: App, question: str) -> Answer:
    """Answer a question as :func:`rekal.app.ask_question.ask_question` does, scrubbed once more.

    What is personal (documents and memories outside of the repository) is left out: SILENCE where nothing else answers.
    """
    answer = ask_question(app, AskedQuestion(text=question))
    memories = [one for one in answer.memories or () if not one.personal]
    documents = [one for one in answer.documents or () if not one.personal]
    nothing = answer.verdict == "INJECT" and not (answer.sessions or memories or documents)
    shared = msgspec.structs.replace(
        answer,
        verdict="SILENCE" if nothing else answer.verdict,
        reason="below_gate" if nothing else answer.reason,
        support=0.0 if nothing else answer.support,
        exit_code=NOTHING_FOUND if nothing else answer.exit_code,
        memories=memories or msgspec.UNSET,
        documents=documents or msgspec.UNSET,
    )
    return scrub_record(shared, app.scrub)


def scrub_record(record: Record, scrub: Callable[[str], str], field: str = "") -> Record:
    """Return a record with every text in it scrubbed; names made of hashes, which look like secrets, are kept."""
    value: object = record
    if isinstance(value, str):
        return record if field in _NAMES else scrub(value)  # type: ignore[return-value]
    if isinstance(value, list | tuple):
        return type(value)(scrub_record(one, scrub, field) for one in value)  # type: ignore[return-value]
    if isinstance(value, msgspec.Struct):
        changed = {name: scrub_record(getattr(value, name), scrub, name) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **changed)  # type: ignore[return-value]
    return record
