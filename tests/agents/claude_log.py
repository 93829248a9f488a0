"""Hand-written Claude Code records in the real shape, and what a ledger keeps of them read in pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rekal.agents.claude.adapter import ADAPTER
from rekal.agents.contract import Parsed
from rekal.model import RawCall
from tests.agents.pieces import read, write_lines

SESSION = "5e55a000-0000-4000-8000-000000000001"
Record = dict[str, Any]


class Log:
    """Records of one session, each the child of the one before."""

    def __init__(self, session: str = SESSION, cwd: str = "/w/app", start: int = 0) -> None:
        self.session, self.cwd = session, cwd
        self.records: list[Record] = []
        self._number = start
        self._last: str | None = None

    def _stamp(self) -> str:
        self._number += 1
        return f"2026-02-03T10:{self._number // 60:02}:{self._number % 60:02}.000Z"

    def chain(self, kind: str, **more: Any) -> Record:
        at = self._stamp()
        uuid = f"00000000-0000-4000-8000-{self._number:012}"
        record: Record = {"parentUuid": self._last, "isSidechain": False, "cwd": self.cwd, "sessionId": self.session}
        record |= {"gitBranch": "main", "version": "2.1.200", "type": kind, "uuid": uuid, "timestamp": at} | more
        self._last = uuid
        self.records.append(record)
        return record

    def side(self, kind: str, **more: Any) -> Record:
        record = {"type": kind, "sessionId": self.session} | more
        self.records.append(record)
        return record

    def human(self, content: Any, **more: Any) -> Record:
        return self.chain("user", message={"role": "user", "content": content}, **more)

    def blocks(self, *blocks: Record, message: str = "", model: str = "claude-opus-4", **more: Any) -> Record:
        body = {"role": "assistant", "model": model, "id": message or f"msg_{self._number}", "content": list(blocks)}
        return self.chain("assistant", message=body, requestId=f"req_{message}", **more)

    def says(self, text: str, message: str = "", **more: Any) -> Record:
        return self.blocks({"type": "text", "text": text}, message=message, **more)

    def calls(self, tool_id: str, tool: str = "Bash", message: str = "", **given: Any) -> Record:
        return self.blocks({"type": "tool_use", "id": tool_id, "name": tool, "input": given}, message=message)

    def result(self, tool_id: str, content: Any = "done", error: bool = False, details: Any = None) -> Record:
        block = {"type": "tool_result", "tool_use_id": tool_id, "content": content, "is_error": error}
        return self.human([block], toolUseResult=details)

    def enqueue(self, content: Any) -> Record:
        return self.side("queue-operation", operation="enqueue", timestamp=self._stamp(), content=content)

    def queued(self, prompt: Any, **more: Any) -> Record:
        attachment = {"type": "queued_command", "prompt": prompt, "commandMode": "prompt"} | more
        return self.chain("attachment", attachment=attachment)

    def write(self, folder: Path, name: str = "") -> Path:
        return write_lines(folder / f"{name or self.session}.jsonl", self.records)

    def parse(self, folder: Path) -> Parsed:
        return read(ADAPTER, self.write(folder))


def long_session() -> Log:
    """A session with a bit of everything that a cut between two readings could hurt."""
    log = Log()
    log.side("summary", summary="Another session", leafUuid="elsewhere")
    log.human("add a cache")
    log.says("Looking.", "m1")
    log.calls("t1", "Read", "m1", file_path="/w/app/cache.py")
    log.calls("t2", "Grep", "m1", pattern="cache", path="src")
    log.result("t1")
    log.says("One more thing\nwhile that runs.", "m1")
    log.result("t2")
    log.enqueue("use an LRU")
    log.calls("t3", "Edit", "m2", file_path="/w/app/cache.py", old_string="a", new_string="a\nlru = 1")
    log.queued("use an LRU")
    log.result("t3")
    log.says("First part.", "m3")
    log.says("Second part.", "m3")
    log.blocks({"type": "thinking", "thinking": "hm"}, message="m3")
    log.says("Third part.", "m3")
    log.enqueue("then run the tests")
    log.human("then run the tests")
    log.calls("t4", "Task", "m4", prompt="Run the tests", subagent_type="runner", description="Tests")
    log.records += sidechain(log)
    log.result("t4", "all passed")
    log.says("They pass.", "m5")
    log.calls("t5", "Bash", "m5", command="sleep 1000")
    log.human("[Request interrupted by user]")
    log.human("never mind, commit it")
    log.chain("system", subtype="compact_boundary")
    log.human("Summary of what was done so far.", isCompactSummary=True)
    log.side("ai-title", aiTitle="Cache")
    log.calls("t6", "Bash", "m6", command="git commit")
    log.result("t6", "nothing to commit", error=True)
    log.says("Nothing to commit.", "m7")
    log.calls("t7", "Bash", "m7", command="git status")
    return log


def sidechain(log: Log) -> list[Record]:
    inner = Log(log.session, start=500)
    inner.human("Run the tests")
    inner.says("Running.", "s1")
    inner.says("Still running.", "s1")
    inner.calls("s-t1", "Bash", "s1", command="pytest")
    inner.result("s-t1", "3 passed")
    inner.says("All passed.", "s2")
    for record in inner.records:
        record["isSidechain"] = True
    return inner.records


class Ledger:
    """Keeps what the store would: each id once, no human turn that only repeats what was typed in between."""

    def __init__(self) -> None:
        self.turns: dict[tuple[str, str | None], tuple[str, str]] = {}
        self.calls: dict[str | None, RawCall] = {}

    def take(self, parsed: Parsed) -> None:
        for transcript in parsed.transcripts:
            for turn in transcript.turns:
                steering = (transcript.native_id, ("steering", turn.content))
                known = {(session, said) for (session, _), said in self.turns.items()}
                if turn.role != "human" or steering not in known:
                    self.turns.setdefault((transcript.native_id, turn.native_id), (turn.role, turn.content))
            for call in transcript.calls:
                self.calls.setdefault(call.native_id, call)

    def lines(self) -> Counter[tuple[str, str, str]]:
        return Counter(
            (session, role, line) for (session, _), (role, text) in self.turns.items() for line in text.split("\n")
        )

    def called(self) -> dict[str | None, tuple[str | None, str | None, tuple[str, ...]]]:
        return {key: (call.path, call.command, call.wrote) for key, call in self.calls.items()}


def read_in_pieces(path: Path, whole: bytes, cuts: Sequence[int]) -> Ledger:
    ledger, before = Ledger(), None
    for cut in [*cuts, len(whole)]:
        path.write_bytes(whole[:cut])
        before = read(ADAPTER, path, before)
        ledger.take(before)
    return ledger
