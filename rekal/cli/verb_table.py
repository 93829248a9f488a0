"""Verbs by name: the module below ``rekal.cli.verbs`` that implements each, and its short help.

Read before every recall, so it imports nothing. A test holds the short helps equal to the commands' own.
"""

from __future__ import annotations

VERBS: dict[str, tuple[str, str]] = {
    "init": ("init", "Set rekal up in this repository: store, hooks, one line for the agents."),
    "status": ("status", "How the store is: what it holds, what was skipped, what waits, what is wrong."),
    "doctor": ("doctor", "Do each thing once, and name what is wrong with what mends it."),
    "stats": ("program.stats", "Count by week: sessions, turns, commits, verdicts, tokens printed and given unasked."),
    "config": (
        "config",
        "Every setting with its value and what it does; with KEY just that one, with VALUE it is set.",
    ),
    "model": ("model", "The models that make vectors: list them, use one, verify the one in use."),
    "inject": (
        "hosts.inject",
        "Let agents have what bears on their work without asking; off until it is turned on.",
    ),
    "hook": ("hosts.hook", "Answer a hook of an agent's host: start, prompt, tool, compact or end."),
    "mcp": ("hosts.mcp", "Serve memory to agents over MCP, on standard input and output."),
    "import": ("hosts.import_", "Import the store of another memory program; what it is shows in its content."),
    "export": ("hosts.export", "Print memories for others to read."),
    "completion": (
        "program.completion",
        "Print the script that completes verbs, options and values in a shell.",
    ),
    "help": ("program.help", "Explain a verb, or list all of them."),
    "version": ("program.version", "Print the version."),
    "recall": ("recall", "Ask what past sessions know."),
    "sessions": ("sessions", "List sessions, newest first: when, who, agent, title, turns, commits."),
    "show": ("show", "A session, one turn of it with its neighbours, or the sessions of a commit."),
    "find": ("find", "Every turn that contains TEXT literally, whatever its case."),
    "why": ("why", "Why a line is here: the turn that wrote it, its prompt, the reason given."),
    "log": ("log", "Commits with the sessions that led to them, newest first."),
    "report": (
        "report",
        "For a pull request: the commits of a range, each with its prompt and reason in three lines.",
    ),
    "brief": (
        "hosts.brief",
        "Hand over: what the last sessions on this branch did, what was decided, what is open.",
    ),
    "resume": (
        "hosts.resume",
        "Print the command that goes on with this branch's last session of yours, and the hand-over.",
    ),
    "query": ("query", "One read-only SELECT over data.db."),
    "ingest": ("documents.ingest", "Read notes, mails and exports, so that `rekal recall` finds them."),
    "remember": ("memory.remember", "Keep something somebody should know later."),
    "decide": ("memory.decide", "Record a decision, to be consulted by `rekal check` and shown by `rekal recall`."),
    "rule-out": ("memory.rule_out", "Rule an approach out, so that nobody proposes it again."),
    "check": (
        "memory.check",
        "Consult decisions and ruled-out approaches about what you are about to do: a text, a command, a...",
    ),
    "supersede": ("memory.supersede", "Replace a memory by a new one."),
    "review": ("memory.review", "Rule on what agents and reflexes proposed: one by one, a key each."),
    "memories": (
        "memory.memories",
        "List memories, newest first: without --state those that hold now, or at the time asked for.",
    ),
    "history": (
        "memory.history",
        "All that ever happened to a memory: who said, accepted, changed or replaced it, when and through...",
    ),
    "link": ("memory.link", "Link two memories: `contradicts`, `related_to`, or any relation of your own."),
    "conflicts": (
        "memory.conflicts",
        "Memories that speak against each other, and those on which two people ruled differently.",
    ),
    "graph": (
        "memory.graph",
        "The knowledge graph: entities with observations, relations between them, reflections, conversations.",
    ),
    "share": ("share", "Say where memory may go, or show where it goes."),
    "push": ("push", "Send merged work to the remote that memory may go to."),
    "sync": ("sync", "Fetch teammates' memory now and import it."),
    "receive": ("receive", "Import what a plain `git fetch` or `git pull` brought."),
    "audit": ("audit", "What left this clone, when and where to; or what changed memories."),
    "checkpoint": ("checkpoint", "Capture now what is new in the agents' transcripts."),
    "index": ("index", "Bring the index up to the ledger."),
    "embed": ("embed", "Make the vectors that are missing, now and in the foreground."),
    "daemon": ("daemon", "Keep the model and the index ready, so that a recall takes a tenth of a second."),
    "forget": ("forget", "Forget for good: here, in what was shared, and for teammates at their next fetch."),
    "scrub": ("scrub", "Say what scrubbing would redact, by kind, without printing any of it."),
    "clean": ("clean", "Leave the repository as it was before `rekal init`, byte for byte."),
    "_worker": ("worker", "Drain the spool: capture, link, index."),
}

HIDDEN = frozenset({"_worker"})

GROUPS: dict[str, tuple[str, ...]] = {
    "Start": (
        "init",
        "status",
        "doctor",
        "stats",
        "config",
        "model",
        "inject",
        "hook",
        "mcp",
        "completion",
        "help",
        "version",
    ),
    "Ask": (
        "recall",
        "sessions",
        "show",
        "find",
        "why",
        "log",
        "report",
        "brief",
        "resume",
        "query",
        "ingest",
    ),
    "Remember": (
        "remember",
        "decide",
        "rule-out",
        "check",
        "supersede",
        "review",
        "memories",
        "history",
        "link",
        "conflicts",
        "graph",
    ),
    "Share": (
        "share",
        "push",
        "sync",
        "receive",
        "audit",
    ),
    "Look after": (
        "checkpoint",
        "index",
        "embed",
        "daemon",
        "forget",
        "import",
        "export",
        "scrub",
        "clean",
    ),
}
