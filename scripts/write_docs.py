"""Write the generated parts of docs/ and the manual page: commands, settings, exit codes.

``--check`` writes nothing and fails when they are stale.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import click
import msgspec

from rekal import errors
from rekal.app.capture_now import CaptureResult
from rekal.app.choose_settings import ModelList, SettingsList
from rekal.app.doctor.diagnosis import Diagnosis
from rekal.app.forget_everywhere import ForgetAnswer
from rekal.app.hosts.brief import Brief
from rekal.app.import_memory import ImportedMemory
from rekal.app.memories import Listed, MemoryHistory, Remembered
from rekal.app.memory_check import Checked
from rekal.app.read_ledger import CommitLog, Mentions, SessionList, ShownSession
from rekal.app.read_status import StoreStatus, UsageStats
from rekal.app.report_range import RangeReport
from rekal.app.resources import EmbedResult
from rekal.app.setup import CleanedUp, SetUp
from rekal.app.share import SentMemory
from rekal.app.transfer.items import ImportReport
from rekal.cli.main import Verbs, root_command
from rekal.cli.verb_table import HIDDEN, VERBS
from rekal.cli.verbs.audit import AuditAnswer
from rekal.cli.verbs.hosts.inject import InjectAnswer
from rekal.cli.verbs.hosts.resume import ResumeAnswer
from rekal.cli.verbs.memory.conflicts import ConflictsAnswer
from rekal.cli.verbs.memory.review import ReviewAnswer
from rekal.cli.verbs.share import ShareAnswer
from rekal.config import ENVIRONMENT, HELP, OTHER_VARIABLES
from rekal.index.build import Indexed
from rekal.memory.graph import Graph
from rekal.memory.state import MemoryLink
from rekal.recall.answer import Answer
from rekal.scrub import ScrubReport
from rekal.shared_settings import STRICTER
from rekal.store.user_query import Table
from rekal.why.why import WhyAnswer

sys.path.insert(0, str(Path(__file__).parent))
from man_page import write_man_page

DOCS = Path(__file__).resolve().parents[1] / "docs"

ANSWERS: dict[str, type[msgspec.Struct]] = {
    "init": SetUp,
    "recall": Answer,
    "sessions": SessionList,
    "show": ShownSession,
    "find": Mentions,
    "why": WhyAnswer,
    "log": CommitLog,
    "report": RangeReport,
    "remember": Remembered,
    "decide": Remembered,
    "rule-out": Remembered,
    "check": Checked,
    "supersede": Remembered,
    "review": ReviewAnswer,
    "memories": Listed,
    "history": MemoryHistory,
    "link": MemoryLink,
    "conflicts": ConflictsAnswer,
    "graph": Graph,
    "query": Table,
    "status": StoreStatus,
    "doctor": Diagnosis,
    "stats": UsageStats,
    "checkpoint": CaptureResult,
    "index": Indexed,
    "embed": EmbedResult,
    "model": ModelList,
    "push": SentMemory,
    "share": ShareAnswer,
    "audit": AuditAnswer,
    "sync": ImportedMemory,
    "receive": ImportedMemory,
    "forget": ForgetAnswer,
    "scrub": ScrubReport,
    "brief": Brief,
    "resume": ResumeAnswer,
    "import": ImportReport,
    "inject": InjectAnswer,
    "config": SettingsList,
    "clean": CleanedUp,
}

EXIT_CODES = {
    errors.FOUND: "found, or done",
    errors.NOTHING_FOUND: "SILENCE, or nothing found",
    errors.USAGE: "the command line or a settings file cannot be understood",
    errors.RULED_OUT: "`check`: ruled out",
    errors.STORE_UNUSABLE: "the store cannot be used: busy, damaged, too new, not writable, not there",
    errors.REFUSED: "refused: a guard said no",
    errors.CONSULT: "`check`: memories bear on it, read them first",
    errors.INTERRUPTED: "interrupted",
}


def commands() -> str:
    """docs/commands.md."""
    parts = [
        "# Commands",
        "Generated from `--help` by `make docs`. Text goes to stdout, diagnostics to stderr behind `rekal:`. With "
        "`--json` a verb prints one JSON object (`show`: one a session), described in [json.md](json.md).",
        '`git rekal VERB` is the same as `rekal VERB`, and `rekal "a question"` the same as `rekal recall`.',
        _block(root_command, "rekal"),
    ]
    assert isinstance(root_command, Verbs)
    for name in VERBS:
        if name not in HIDDEN:
            command = root_command.get_command(click.Context(root_command), name)
            assert command is not None
            parts += [f"## {name}", _block(command, f"rekal {name}")]
    parts += ["## Exit codes", _exit_codes()]
    return "\n\n".join(parts) + "\n"


def _block(command: click.Command, path: str) -> str:
    context = click.Context(command, info_name=path, max_content_width=100, terminal_width=100)
    return f"```\n{command.get_help(context)}\n```"


def _exit_codes() -> str:
    rows = [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    tree = (errors.__doc__ or "").partition("::")[2].rpartition("A message is")[0].rstrip()
    return "| code | meaning |\n|---|---|\n" + "\n".join(rows) + "\n\n```" + tree + "\n```"


def settings() -> str:
    """docs/settings.md."""
    rows = [f"| `{key}` | {text} | {STRICTER.get(key, 'no')} |" for key, text in HELP.items()]
    env = [f"| `{name}` | `{'.'.join(key)}` |" for name, key in ENVIRONMENT.items()]
    env += [f"| `{name}` | {text} |" for name, text in OTHER_VARIABLES.items()]
    env += ["", "The names of 0.1.0, which began with `RECALL_`, are read where the new one is not set."]
    return "\n".join(
        [
            "# Settings",
            "",
            "Generated from the program by `make docs`. `~/.config/rekal/config.yml` is the user's file, "
            "`rekal/config.yml` in the git directory this clone's own, which wins. "
            "`.rekal/config.yml` in the work tree may be committed; whoever may push writes it, so it can only tighten "
            "things, as the last column says, and never a key that this clone's own file sets, but for "
            "patterns, which add up. `status` and `init` say what it changes and what of it is not followed; a mistake "
            "in it stops nothing. `rekal config` prints every value in force.",
            "",
            "| key | what it does | may a shared file set it |",
            "|---|---|---|",
            *rows,
            "",
            "| environment | sets |",
            "|---|---|",
            *env,
            "",
        ]
    )


def json_fields() -> str:
    """docs/json.md."""
    out = [
        "# JSON",
        "Generated from the program by `make docs`. Fields are added over time, never removed and never given another "
        "meaning. Times are ISO 8601 in UTC; a `?` marks what may be null.",
    ]
    seen: dict[str, type[msgspec.Struct]] = {}
    for verb, kind in ANSWERS.items():
        out += [f"## {verb}", _fields(kind, seen)]
    done: set[str] = set()
    while rest := sorted(set(seen) - done):
        for name in rest:
            done.add(name)
            out += [f"### {name}", _fields(seen[name], seen)]
    return "\n\n".join(out) + "\n"


def _fields(kind: type[msgspec.Struct], seen: dict[str, type[msgspec.Struct]]) -> str:
    said = " ".join((kind.__doc__ or "").split()).replace("``", "`")
    hints = get_type_hints(kind)
    rows = [f"| `{name}` | {_type(hints[name], seen)} |" for name in kind.__struct_fields__]
    return f"{said}\n\n| field | type |\n|---|---|\n" + "\n".join(rows)


def _type(hint: object, seen: dict[str, type[msgspec.Struct]]) -> str:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        seen[hint.__name__] = hint
        return hint.__name__
    origin, args = get_origin(hint), [a for a in get_args(hint) if a is not Ellipsis]
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in args)
    if origin in (list, tuple):
        return f"list of {_type(args[0], seen)}" if args else "list"
    if origin in (dict, Mapping):
        return f"object of {_type(args[1], seen)}"
    if args:
        named = [_type(a, seen) for a in args if a not in (type(None), msgspec.UnsetType)]
        return " or ".join(named) + (" ?" if type(None) in args else "")
    return {"str": "text", "int": "number", "float": "number", "bool": "boolean", "datetime": "time"}.get(
        getattr(hint, "__name__", ""), getattr(hint, "__name__", "any")
    )


def man_page() -> str:
    """man/git-rekal.1, which a wheel installs; rekal.1 beside it leads there."""
    return write_man_page(EXIT_CODES)


GENERATED = {
    "commands.md": commands,
    "settings.md": settings,
    "json.md": json_fields,
    "../man/git-rekal.1": man_page,
}


def main() -> int:
    """Write, or with ``--check`` compare."""
    stale = []
    for name, make in GENERATED.items():
        path = DOCS / name
        text = make()
        if "--check" in sys.argv[1:]:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                stale.append(name)
        else:
            path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"docs/{name} is stale: run `make docs`", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
