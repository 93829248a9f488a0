"""The command line: cuts a call into words, finds the verb, imports only its file, reports errors in one sentence.

A first word that is no verb starts a question: ``rekal "why is the queue in Postgres"`` is ``rekal recall``.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from pathlib import Path

import click

from rekal import __version__
from rekal.cli.look import LOOK, Appearance
from rekal.cli.output import print_block, print_note
from rekal.cli.verb_table import GROUPS, HIDDEN, VERBS
from rekal.errors import INTERRUPTED, USAGE, RekalError, UsageError
from rekal.plain_text import replace_surrogates

# The words of a call before click sees them: a verb, a question, or a verb that was mistyped.

# Two edits make verbs of some of these ("where" and "share"): they begin questions.
_QUESTION_WORDS = frozenset(
    [
        "a",
        "any",
        "are",
        "as",
        "at",
        "can",
        "could",
        "did",
        "do",
        "does",
        "for",
        "had",
        "has",
        "have",
        "how",
        "if",
        "in",
        "is",
        "it",
        "know",
        "may",
        "must",
        "of",
        "on",
        "or",
        "should",
        "shall",
        "the",
        "there",
        "these",
        "they",
        "this",
        "those",
        "to",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "whom",
        "whose",
        "will",
        "with",
        "would",
        "you",
    ]
)
# What other programs call it; with a sentence behind them these words are a question all the same.
_OTHER_NAMES = {
    "add": "remember", "ask": "recall", "blame": "why", "capture": "checkpoint", "cat": "show", "commit": "checkpoint",
    "continue": "resume", "delete": "forget", "diff": "report", "fetch": "sync", "grep": "find", "install": "init",
    "list": "sessions", "ls": "sessions", "open": "show", "pull": "sync", "purge": "forget", "remove": "forget",
    "rm": "forget", "search": "recall", "settings": "config", "setup": "init", "uninstall": "clean", "upgrade": "init",
    "view": "show",
}  # fmt: skip
_COUNT = re.compile(r"-\d+")
_SHORT = 5  # letters of a verb in which one edit makes another word, not two
_TYPED = 2  # words after a mistyped verb: more of them are a question


_COLORS = ("auto", "always", "never")


def take_look_options(words: Sequence[str]) -> list[str]:
    """Take ``--color[=WHEN]``, ``--no-color``, ``--no-pager`` and ``--utc`` out of a call, wherever they stand.

    UsageError for another WHEN. Words behind ``--`` are left alone.
    """
    look, rest = Appearance(), list(words)
    end = rest.index("--") if "--" in rest else len(rest)
    kept: list[str] = []
    for word in rest[:end]:
        name, mark, value = word.partition("=")
        if name == "--color":
            # As in git: `--color` alone is always, and the next word is not its value.
            value = value if mark else "always"
            if value not in _COLORS:
                raise UsageError(f"--color={value} is none of {', '.join(_COLORS)}", "write --color=never")
            look = look._replace(color=value)
        elif word == "--no-color":
            look = look._replace(color="never")
        elif word == "--no-pager":
            look = look._replace(pager=False)
        elif word == "--utc":
            look = look._replace(utc=True)
        else:
            kept.append(word)
    LOOK.set(look)
    return [*kept, *rest[end:]]


def split_global_options(words: Sequence[str]) -> list[str]:
    """Carry out ``-C DIR`` before the verb and move ``--json`` behind it, where verbs take them."""
    rest = list(words)
    moved: list[str] = []
    while rest:
        if rest[0] == "-C" and len(rest) > 1:
            _change_directory(rest[1])
            del rest[:2]
        elif rest[0] == "--json":
            moved.append(rest.pop(0))
        else:
            break
    if rest[:1] in (["log"], ["find"], ["sessions"], ["show"]):
        # As in `git log -5`.
        rest = [word for given in rest for word in (["-n", given[1:]] if _COUNT.fullmatch(given) else [given])]
    return [*rest[:1], *moved, *rest[1:]] if rest else moved


def _change_directory(path: str) -> None:
    try:
        os.chdir(path)
    except OSError as error:
        raise UsageError(f"cannot change to {path} ({error.strerror})", "give a directory that is there") from None


def refuse_mistyped(words: Sequence[str], verbs: Collection[str]) -> None:
    """Raise :class:`UsageError` when the first word is nearly a verb and no question goes on behind it."""
    first = words[0].lower()
    plain = [word for word in words[1:] if not word.startswith("-")]
    if first in _QUESTION_WORDS or " " in first or "?" in first:
        return
    if len(plain) > _TYPED and not any(word.startswith("--") for word in words[1:]):
        return
    if verb := _OTHER_NAMES.get(first):
        hint = f"did you mean `rekal {verb}`? To ask about the word: `rekal recall {first}`"
        raise UsageError(f"there is no verb `{first}`", hint)
    # Of two verbs as near (`stauts`), the one of the same length: letters are swapped more often than left out.
    edits, _, verb = min((count_edits(first, verb), abs(len(first) - len(verb)), verb) for verb in verbs)
    if edits <= (1 if min(len(first), len(verb)) <= _SHORT else 2):
        raise UsageError(
            f"there is no verb `{first}`",
            f'did you mean `rekal {verb}`? A question goes into quotes: rekal "{" ".join(words)[:60]}"',
        )


def count_edits(left: str, right: str) -> int:
    """Count the letters to insert, delete, replace or swap with their neighbour to make one word of the other."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        older, before, row = before, row, [i]
        for j, b in enumerate(right, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b)))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                row[j] = min(row[j], older[j - 2] + 1)
    return row[-1]


_LEAST_WORDS = 3  # of a question that begins with a verb's name
_EXAMPLES = (
    ("rekal init", "set this repository up"),
    ('rekal "why is the queue in Postgres"', "ask"),
    ("rekal show 27tn23jge7:3", "read around a turn"),
    ("rekal why src/queue.py:41", "the reason for a line"),
)


class Verbs(click.Group):
    """A group whose commands are imported when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in VERBS if name not in HIDDEN]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module, _ = VERBS[cmd_name]
        command = import_module(f"rekal.cli.verbs.{module}").command
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in VERBS:
            refuse_mistyped(args, [name for name in VERBS if name not in HIDDEN])
            return super().resolve_command(ctx, ["recall", *args])
        if self._is_question(ctx, args):
            return super().resolve_command(ctx, ["recall", "--", *args])
        return super().resolve_command(ctx, args)

    def _is_question(self, ctx: click.Context, args: list[str]) -> bool:
        """True for more words than a verb takes, as in ``rekal why is the queue in Postgres``."""
        if len(args) <= _LEAST_WORDS or any(word.startswith("-") for word in args):
            return False
        command = self.get_command(ctx, args[0])
        taken = [p.nargs for p in command.params if isinstance(p, click.Argument)] if command else []
        if args[0] == "log":  # takes paths, which words of a question are not
            return not any(".." in word or Path(word).exists() for word in args[1:])
        return -1 not in taken and len(args) - 1 > sum(taken)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # The table holds the short helps: importing every verb for them would take a quarter of a second.
        for group, names in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(name, VERBS[name][1]) for name in names])
        with formatter.section("Examples"):
            formatter.write_dl(_EXAMPLES)


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "ignore_unknown_options": False},
)
@click.version_option(__version__, "-V", "--version", prog_name="rekal", message="%(prog)s %(version)s")
def root_command() -> None:
    """Memory for coding agents that lives in git.

    A question that is no verb is recalled: rekal "why is the queue in Postgres". `rekal help VERB` explains a verb; -C
    DIR before the verb runs it there. Everywhere: --color=auto|always|never, --no-pager, --utc.
    """


def run_command_line(args: Sequence[str] | None = None) -> int:
    """Run the command line (the process's own unless ``args`` are given) and return the exit code."""
    _survive_any_locale()
    # Before numpy is loaded, whose helpers spin after each product: twice the processor time of a recall, for nothing.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return _run_guarded(lambda: _call_verb(list(sys.argv[1:] if args is None else args)))


def _call_verb(words: list[str]) -> object:
    # Neither git nor DuckDB takes one, and each says so in its own way.
    if any("\0" in word for word in words):
        raise UsageError("the call contains a NUL character", "leave it out")
    words = split_global_options(take_look_options(words))
    if words and words[0] != "why":  # which asks git, by the very bytes, before it asks the store
        words = [replace_surrogates(word) for word in words]
    return root_command.main(args=words or ["--help"], prog_name="rekal", standalone_mode=False)


def _run_guarded(action: Callable[[], object]) -> int:
    """Run ``action``; whatever goes wrong becomes one sentence on stderr and the documented exit code."""
    try:
        result = action()
        sys.stdout.flush()
    except RekalError as error:
        print_note(str(error))
        return error.exit_code
    except click.ClickException as error:
        print_note(_describe_misuse(error))
        return USAGE
    except (KeyboardInterrupt, click.Abort):
        print_note("interrupted; what was stored before is kept, and running the command again goes on from there")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output left (`rekal log | head`); keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except OSError as error:
        print_note(f"{error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
        return 4
    except Exception:  # noqa: BLE001 - the last line of defence: a bug is reported, never thrown at the user
        print_note(f"unexpected error, this is a bug; details are in {_write_report()}")
        return 1
    return result if isinstance(result, int) else 0


def _describe_misuse(error: click.ClickException) -> str:
    """Return click's complaint as one sentence with the command that explains the verb."""
    context = getattr(error, "ctx", None)
    verb = context.info_name if context is not None and context.parent is not None else ""
    explained = f"`rekal help {verb}` explains it" if verb else "`rekal help` lists what there is"
    if isinstance(error, click.MissingParameter):
        missing = error.param.make_metavar(context) if error.param and context else "more words"
        return f"`rekal {verb}` needs {missing}; {explained}"
    message = error.format_message().rstrip(".")
    return f"{message[:1].lower()}{message[1:]}; {explained}"


def _survive_any_locale() -> None:
    """A terminal that cannot show a character gets a stand-in, not an exception."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(encoding="utf-8", errors="replace")


def _write_report() -> str:
    """Write the traceback where the user can paste it from. Frames only: values might hold what must not be stored."""
    import traceback  # 2 ms, for what hardly ever happens

    error = sys.exception()
    text = "".join(traceback.format_tb(error.__traceback__)) if error else ""
    versions = f"rekal {__version__}, Python {sys.version.split()[0]}, {sys.platform}"
    body = f"{versions}\n\n```\n{text}{type(error).__name__}\n```\n"
    for directory in (Path.cwd() / ".git" / "rekal", Path(os.environ.get("TMPDIR", "/tmp"))):
        with contextlib.suppress(OSError):
            path = directory / "rekal-error.md"
            path.write_text(body, encoding="utf-8")
            return str(path)
    print_block(body)
    return "the lines above"
