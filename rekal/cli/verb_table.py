"""Which file implements which verb."""

from __future__ import annotations

VERBS: dict[str, str] = {
    "init": "init",
    "recall": "recall",
    "show": "show",
    "find": "find",
    "why": "why",
    "log": "log",
    "report": "report",
    "remember": "memory.remember",
    "decide": "memory.decide",
    "rule-out": "memory.rule_out",
    "check": "memory.check",
    "supersede": "memory.supersede",
    "review": "memory.review",
    "memories": "memory.memories",
    "history": "memory.history",
    "link": "memory.link",
    "conflicts": "memory.conflicts",
    "graph": "memory.graph",
    "query": "query",
    "status": "status",
    "checkpoint": "checkpoint",
    "index": "index",
    "embed": "embed",
    "model": "model",
    "daemon": "daemon",
    "push": "push",
    "share": "share",
    "audit": "audit",
    "sync": "sync",
    "receive": "receive",
    "forget": "forget",
    "scrub": "scrub",
    "config": "config",
    "clean": "clean",
    "version": "version",
    "_worker": "worker",
}

HIDDEN = frozenset({"_worker"})
