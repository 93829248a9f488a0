"""Write Claude Code transcripts in the real shape, line by line as the agent does while it works."""

from __future__ import annotations

import json
import re
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any


def folder_of(cwd: Path | str) -> str:
    """The project folder that Claude Code files a working directory under."""
    return re.sub(r"[^A-Za-z0-9]", "-", str(cwd))


class ClaudeSession:
    """One transcript being written. Ids are derived from the session's name, times advance by ``step``."""

    def __init__(
        self,
        home: Path,
        cwd: Path | str,
        name: str = "one",
        *,
        start: datetime | None = None,
        step: timedelta = timedelta(seconds=20),
        branch: str = "main",
    ) -> None:
        self.session_id = str(uuid.uuid5(uuid.NAMESPACE_URL, name))
        self.cwd = str(cwd)
        self.branch = branch
        self.now = start or datetime.now(UTC) - timedelta(minutes=30)
        self.step = step
        self.path = home / ".claude" / "projects" / folder_of(cwd) / f"{self.session_id}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._count = 0
        self._parent: str | None = None

    def _id(self, kind: str) -> str:
        self._count += 1
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.session_id}/{kind}/{self._count}"))

    def _write(self, record: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, separators=(",", ":")) + "\n")

    def _chain(self, kind: str, message: dict[str, Any], **more: Any) -> None:
        self.now += self.step
        record = {
            "parentUuid": self._parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": "2.1.183",
            "gitBranch": self.branch,
            "type": kind,
            "message": message,
            "uuid": self._id(kind),
            "timestamp": self.now.strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.now.microsecond // 1000:03d}Z",
            **more,
        }
        self._parent = record["uuid"]
        self._write(record)

    def human(self, text: str) -> ClaudeSession:
        """A typed prompt."""
        self._chain("user", {"role": "user", "content": text})
        return self

    def steer(self, text: str) -> ClaudeSession:
        """A prompt typed while the agent works."""
        self.now += self.step
        stamp = self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        record = {"type": "queue-operation", "operation": "enqueue", "timestamp": stamp, "content": text}
        self._write({**record, "sessionId": self.session_id})
        return self

    def says(self, text: str) -> ClaudeSession:
        """An answer in words."""
        self._assistant([{"type": "text", "text": text}], f"msg_{self._id('msg')}")
        return self

    def _assistant(self, content: list[dict[str, Any]], message_id: str) -> None:
        for block in content:  # one line a block, all with the message's id
            message = {"id": message_id, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5"}
            self._chain(
                "assistant", {**message, "content": [block], "stop_reason": None, "usage": {"output_tokens": 9}}
            )

    def uses(
        self, tool: str, arguments: dict[str, Any], result: str = "ok", *, error: bool = False, text: str = ""
    ) -> ClaudeSession:
        """A tool call, with words before it when given, and its result."""
        call = f"toolu_{self._id('call')}"
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        blocks.append({"type": "tool_use", "id": call, "name": tool, "input": arguments})
        self._assistant(blocks, f"msg_{self._id('msg')}")
        answer = {"type": "tool_result", "tool_use_id": call, "content": result, "is_error": error}
        self._chain("user", {"role": "user", "content": [answer]}, toolUseResult=result)
        return self

    def edits(self, path: Path | str, new: str, old: str = "", text: str = "") -> ClaudeSession:
        """An edit that went well."""
        arguments = {"file_path": str(path), "old_string": old, "new_string": new}
        return self.uses("Edit", arguments, "The file has been updated.", text=text)

    def writes(self, path: Path | str, content: str, text: str = "") -> ClaudeSession:
        """A whole file written."""
        return self.uses("Write", {"file_path": str(path), "content": content}, "File created.", text=text)

    def runs(self, command: str, result: str = "", *, error: bool = False) -> ClaudeSession:
        """A shell command."""
        return self.uses("Bash", {"command": command}, result, error=error)
