"""A store in which every text that a ref or a transcript can bring is hostile to a browser."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from rekal import ids
from rekal.git import find_repo
from rekal.model import Checkpoint, Edit, FileChange, MemoryEvent, Session, SessionRange, ToolCall, Turn
from rekal.store.layout import Layout
from rekal.store.ledger import open_ledger
from rekal.store.memory_log import append_events
from tests.support.served_page import Checkout

# Each calls `canary`, which a test looks at; the words "needle" and "haystack" make them found.
PAYLOADS = (
    "<script>canary('script')</script>",
    "<img src=x onerror=\"canary('img')\">",
    "\"><svg onload=canary('svg')>",
    "' onmouseover='canary(1)' autofocus onfocus='canary(2)' x='",
    "javascript:canary('link')",
    "[click](javascript:canary('markdown')) ![i](x\" onerror=\"canary('image'))",
    "<style>@import url(//evil.example/x.css);*{background:url(javascript:canary('css'))}</style>",
    "<a href='javascript:canary(3)' hx-get='/x' hx-trigger='load' hx-on:load='canary(4)'>x</a>",
    "<iframe srcdoc='<script>parent.canary(5)</script>'></iframe><base href=//evil.example/>",
    "</textarea></title></style></script><script>canary('closed')</script>",
    "{{ 7*191 }} {% raw %} ${canary(6)} <!-- --> ]]> \\u003cscript\\u003e",
    "\u202egnp.exe\u202c \u2066hidden\u2069 \u200b\u200d \x1b[31mred\x1b[0m \x00\x07\x08 \ufeff \U000e0041",
    "```\n</pre><script>canary('fence')</script>\n``` needle in the haystack",
)
WHOLE = " ".join(PAYLOADS)
LONG = "needle " + "<" * 1_000_000
_NOW = datetime.now(UTC)


def _session(number: int, name: str, text: str, **more: str | None) -> Session:
    at = _NOW - timedelta(hours=1, minutes=number)
    turns = tuple(
        Turn(seq, ids.derive("turn", name, str(seq)), role, said, at, WHOLE)  # type: ignore[arg-type]
        for seq, (role, said) in enumerate(
            (("human", f"needle haystack {text}"), ("assistant", text), ("steering", text), ("summary", text),
             ("human", text))
        )
    )  # fmt: skip
    calls = tuple(
        ToolCall(n, ids.derive("call", name, str(n)), 1, text, path, f"pytest needle {text}", "error", text, at)
        for n, path in enumerate((text, "evil.py", "../../etc/passwd"))
    )
    return Session(
        name, "claude", f"native-{number}", text, text, more.get("origin") or "local", more.get("parent"),
        more.get("fork"), "human", text, text, 1, text, text, text, text, at, turns, calls,
        (Edit(0, 1, "evil.py", (1, 2)),),
    )  # fmt: skip


def _events(session: str) -> list[MemoryEvent]:
    def event(kind: str, memory: str, payload: object, origin: str = "local", actor: str = "agent") -> MemoryEvent:
        text = msgspec.json.encode(payload).decode()
        return MemoryEvent(ids.ulid(), memory, kind, text, WHOLE, actor, _NOW, _NOW, f"{session}#1", origin)

    made = []
    for number, text in enumerate((*PAYLOADS, WHOLE)):
        said = {
            "text": f"needle haystack {text}", "type": "decision", "because": text, "instead": text, "subject": text,
            "quote": text, "tags": [text], "project": text, "scope": {"paths": [text], "branch": text},
        }  # fmt: skip
        made.append(event("assert", ids.derive("memory", str(number)), said))
        made.append(event("assert", ids.derive("memory", f"teammate {number}"), said, f"refs/rekal/{text}"))
        made.append(event("assert", ids.derive("memory", f"human {number}"), said, actor="human"))
        made.append(event("entity", ids.derive("entity", text), {"name": text, "type": text, "status": text}))
        made.append(event("observe", ids.derive("entity", text), {"text": text, "kind": text}))
        relation = {"source": text, "target": PAYLOADS[0], "type": text, "context": text}
        made.append(event("relate", ids.derive("relation", text, PAYLOADS[0], text), relation))
        made.append(event("reflect", ids.derive("reflect", text), {"text": text, "about": text, "mood": text}))
        made.append(event("conversation", ids.derive("talk", text), {"title": text, "project": text}))
        made.append(event(text, ids.derive("memory", str(number)), {"text": text}))
    return made


def fill_with_hostile_text(checkout: Checkout) -> dict[str, str]:
    """Add it to a store that exists; names of what is there: ``session``, ``long``, ``commit``, ``memory``."""
    (checkout.root / "evil.py").write_text("\n".join((*PAYLOADS, LONG, "end")).replace("\x00", ""), encoding="utf-8")
    name = "<img src=x onerror=canary('name')> & \"quoted\".py"
    (checkout.root / name).write_text("x\n", encoding="utf-8")
    checkout.git("add", "-A")
    checkout.git("commit", "-q", "-m", f"needle {WHOLE}".replace("\x00", ""))
    commit = checkout.git("rev-parse", "HEAD").strip()
    found = find_repo(checkout.root)
    session = ids.derive("session", "hostile")
    fork = ids.derive("session", "hostile fork")
    odd = "\"><img src=x onerror=canary('id')>"
    sessions = [
        _session(1, session, WHOLE),
        _session(2, ids.derive("session", "long"), LONG),
        _session(3, fork, WHOLE, fork=session, origin=f"refs/rekal/{WHOLE}"),
        _session(4, ids.derive("session", "child"), WHOLE, parent=session),
        _session(5, odd, PAYLOADS[1]),
        *(_session(10 + n, ids.derive("session", f"one {n}"), text) for n, text in enumerate(PAYLOADS)),
    ]
    with open_ledger(Layout(found.store_dir, found.private_dir).data, read_only=False) as ledger, ledger.transaction():
        ledger.append_all(sessions)
        files = tuple(FileChange(path, "M") for path in ("evil.py", name, WHOLE, "javascript:canary(9)"))
        ranges = tuple(SessionRange(one.id, 0, 4, "edited") for one in sessions)
        ledger.add_checkpoint(
            Checkpoint(ids.derive("checkpoint", "h"), commit, WHOLE, branch=WHOLE, subject=WHOLE, committed_at=_NOW,
                       files=files, sessions=ranges)
        )  # fmt: skip
        ledger.add_checkpoint(
            Checkpoint(ids.derive("checkpoint", "t"), "f" * 40, WHOLE, subject=WHOLE, committed_at=_NOW,
                       origin=f"refs/rekal/{WHOLE}", files=files, sessions=ranges)
        )  # fmt: skip
        ledger.add_recall_edge("surfaced", session, WHOLE, _NOW)
        ledger.add_recall_edge("opened", odd, None, _NOW)
        ledger.add_uncovered([("e" * 40, WHOLE)])
        append_events(ledger, _events(session))
    checkout("index")
    return {
        "session": session, "long": ids.derive("session", "long"), "odd": odd, "commit": commit,
        "memory": ids.derive("memory", str(len(PAYLOADS))), "file": name,
    }  # fmt: skip
