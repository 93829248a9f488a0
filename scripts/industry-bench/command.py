"""Verdicts of ``rekal recall --json`` itself: whole, small and spoken stores on disk, questions put in other ways.

    python scripts/industry-bench/command.py build --data FOLDER --to STORES      # once; about 15 minutes of processor
    python scripts/industry-bench/command.py SET --data FOLDER --to STORES [--every 4] [--strictness .25]

SET is one of ``whole``, ``forms``, ``files``, ``words``, ``sizes``, ``talk``. The command runs in this process as it
would in the daemon: index, vectors and model stay open. Prints one line a group; ``--rows`` appends a line a question.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from devrecall import CLEAN
from disk_stores import Sets, build, ids_of, store_name
from forms import FORMS, LEVERED
from locomo import CATEGORIES, evidence, left_out, talk_turns

from rekal.app.resources import kept_between_commands
from rekal.cli.main import run_command_line

SEED = 6
SIZES = (5, 10, 20, 50)


class Asked(msgspec.Struct, frozen=True):
    """One question asked: where, of which group, what came of it; ``rank`` of the first right session, 0 for none."""

    store: str
    group: str
    text: str
    verdict: str
    reason: str
    rank: int
    support: float
    perhaps: bool
    shown: int


class Asker:
    """Asks stores on disk through the command line; the model stays open between questions."""

    def __init__(self, folder: Path, rows: Path | None = None) -> None:
        self.folder, self.rows = folder, rows
        self.done: list[Asked] = []

    def ask(self, store: Path, group: str, text: str, gold: Sequence[str] = (), options: Sequence[str] = ()) -> Asked:
        """Ask one question; ``gold`` are session ids as the store names them."""
        os.chdir(store)
        printed = io.StringIO()
        with redirect_stdout(printed):
            run_command_line(["recall", "--json", *options, "--", text])
        answer = json.loads(printed.getvalue().splitlines()[-1])
        shown = [hit["session_id"] for hit in answer["sessions"]]
        rank = next((at for at, one in enumerate(shown, 1) if one in set(gold)), 0)
        maybe = bool(answer.get("perhaps"))
        asked = Asked(
            store.name, group, text, answer["verdict"], answer["reason"], rank, answer["support"], maybe, len(shown)
        )
        self.done.append(asked)
        if self.rows:
            with self.rows.open("ab") as file:
                file.write(msgspec.json.encode(asked) + b"\n")
        return asked


def report(done: Sequence[Asked]) -> None:
    """Print a line a group: questions, share of each verdict, right session first and among those shown."""
    groups: dict[str, list[Asked]] = defaultdict(list)
    for one in done:
        groups[one.group].append(one)
    print(f"{'group':34s} {'n':>5s} inject knowl silent maybe first within reasons")
    for name, ones in groups.items():
        share = [np.mean([one.verdict == verdict for one in ones]) for verdict in ("INJECT", "KNOWLEDGE", "SILENCE")]
        ranks = np.array([one.rank for one in ones])
        why = Counter(one.reason for one in ones if one.reason)
        maybe, first, within = np.mean([one.perhaps for one in ones]), np.mean(ranks == 1), np.mean(ranks > 0)
        shares = f"{share[0]:6.3f} {share[1]:5.3f} {share[2]:6.3f}"
        print(f"{name:34s} {len(ones):5d} {shares} {maybe:5.3f} {first:5.3f} {within:6.3f} {dict(why)}")


def whole(sets: Sets, asker: Asker, every: int) -> None:
    """Clean and leaky questions, and every group that wants silence."""
    for query in sets.answerable()[::every]:
        store = asker.folder / store_name(query["repo"])
        group = "clean" if query["leak"] <= CLEAN else "leaky"
        asker.ask(store, group, query["text"], [ids_of(store)[g] for g in query["gold"] if g in ids_of(store)])
    for group in ("off_domain", "sibling", "chat", "uncaptured"):
        for query in sets.negatives(group)[::every]:
            asker.ask(asker.folder / store_name(query["repo"]), group, query["text"])


def forms(sets: Sets, asker: Asker, every: int) -> None:
    """The same questions framed, with a paste, misspelled: 110 subjects and the groups that want silence."""
    rng = random.Random(SEED)
    subjects = [query for query in sets.answerable() if query["kind"] == "subject"]
    chosen = {"subject": rng.sample(subjects, 110)}
    off = [query for query in sets.negatives("off_domain") if query["kind"] == "subject"]
    chosen["off_domain"] = rng.sample(off, 110)
    chosen |= {group: rng.sample(sets.negatives(group), 80) for group in ("uncaptured", "sibling")}
    chosen["chat"] = rng.sample(sets.negatives("chat"), 120)
    for form, change in FORMS.items():
        for group, queries in chosen.items():
            for query in queries[::every]:
                if group == "chat" and form not in LEVERED:
                    continue
                store = asker.folder / store_name(query["repo"])
                gold = [ids_of(store)[g] for g in query.get("gold") or [] if g in ids_of(store)]
                asker.ask(store, f"{form}: {group}", change(query["text"], rng), gold)


FILE_QUESTIONS = (
    "what was changed here and why",
    "what should I know before changing this",
    "what was tried",
)
NAMED_FILE = "what do I need to know before editing {}"


def files(sets: Sets, asker: Asker, every: int) -> None:
    """Questions about a file, and the right and a wrong filter beside a topical question."""
    rng = random.Random(SEED)
    for repository, sessions in sorted(sets.sessions.items()):
        store = asker.folder / store_name(repository)
        ids, touched = ids_of(store), defaultdict(list)
        for one in sessions:
            for path in dict.fromkeys(one["files"]):
                touched[path].append((one["started_at"], ids[one["session_id"]]))
        paths = sorted(touched)
        for path in rng.sample(paths, min(len(paths), max(1, 24 // every))):
            right = [session for _, session in sorted(touched[path], reverse=True)]
            for text in FILE_QUESTIONS:
                _ask_file(asker, store, "--file: list", text, right, ["--file", path])
            _ask_file(asker, store, "named file: list", NAMED_FILE.format(path), right, [])
    for query in sets.answerable()[::every]:
        store = asker.folder / store_name(query["repo"])
        by_id = {one["session_id"]: one for one in sets.sessions[query["repo"]]}
        paths = sorted({path for g in query["gold"] if g in by_id for path in by_id[g]["files"]})
        if paths:
            gold = [ids_of(store)[g] for g in query["gold"] if g in by_id]
            path = rng.choice(paths)
            asker.ask(store, "answerable, no filter", query["text"], gold)
            asker.ask(store, "answerable, right filter", query["text"], gold, ["--file", path])
    for query in sets.negatives("off_domain")[::every]:
        paths = sorted({path for one in sets.sessions[query["repo"]] for path in one["files"]})
        asker.ask(
            asker.folder / store_name(query["repo"]),
            "off-domain, filter",
            query["text"],
            (),
            ["--file", rng.choice(paths)],
        )


def _ask_file(asker: Asker, store: Path, group: str, text: str, right: Sequence[str], options: Sequence[str]) -> None:
    """Right: INJECT, and every session shown touched the file, the newest first."""
    asked = asker.ask(store, group, text, right[:1], options)
    asker.done[-1] = msgspec.structs.replace(asked, rank=asked.rank if asked.rank == 1 else 0)


def words(sets: Sets, asker: Asker, every: int) -> None:
    """One word or flag that a session is about: rare in the store, several times in one session."""
    for repository, sessions in sorted(sets.sessions.items()):
        store, counts = asker.folder / store_name(repository), []
        for one in sessions:
            text = "\n".join(turn["text"] for turn in one["turns"])
            flags = re.findall(r"(?<![\w-])--[a-z][a-z-]{3,}\b", text)
            plain = re.findall(r"(?<![\w./-])[a-z]{5,}(?![\w./-])", text)
            counts.append(Counter([*flags, *plain]))
        spread = Counter(word for count in counts for word in count)
        most = max(3, len(sessions) // 10)
        topics = {
            word: at
            for at, count in enumerate(counts)
            for word, times in count.items()
            if times >= 5 and spread[word] <= most
        }
        rng = random.Random(SEED)
        for kind, chosen in (
            ("flag", sorted(word for word in topics if word.startswith("-"))),
            ("topic word", sorted(word for word in topics if not word.startswith("-"))),
        ):
            for word in rng.sample(chosen, min(len(chosen), max(1, 24 // every))):
                ids = ids_of(store)
                gold = [ids[one["session_id"]] for one, count in zip(sessions, counts, strict=True) if count[word] >= 3]
                asker.ask(store, kind, word, gold)
    for query in sets.negatives("chat")[:: every * 2]:
        asker.ask(asker.folder / store_name(query["repo"]), "chat", query["text"])


def sizes(sets: Sets, asker: Asker, every: int) -> None:
    """Small stores: the turns that end with the question's last right turn, filled up with other sessions."""
    rng = random.Random(SEED)
    by_repository: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for query in sets.answerable():
        if query["gold_turns"]:
            by_repository[query["repo"]].append(query)
    off = sets.negatives("off_domain")
    for repository, queries in sorted(by_repository.items()):
        sessions = {one["session_id"]: one for one in sets.sessions[repository]}
        foreign = [query for query in off if query["repo"] == repository]
        for query in rng.sample(queries, min(len(queries), 30))[::every]:
            gold = [name for name in query["gold"] if name in sessions]
            if not gold:
                continue
            last = max(gold, key=lambda name: str(sessions[name]["started_at"]))
            others = sorted(
                (n for n in sessions if n not in query["gold"]), key=lambda n: str(sessions[n]["started_at"])
            )
            other = rng.choice(foreign)["text"] if foreign else None
            for size in SIZES:
                _small(sets, asker, query, other, str(size), _last_turns(sessions, query, last, others, size))
            five = [sessions[name] for name in rng.sample(others, min(4, len(others)))]
            _small(sets, asker, query, other, "5 sessions", [sessions[last], *five], five)


def _last_turns(
    sessions: dict[str, dict[str, Any]], query: dict[str, Any], last: str, others: Sequence[str], size: int
) -> list[dict[str, Any]]:
    """The ``size`` turns of the session ``last`` that end with the last right one, then other sessions' turns."""
    span = query["gold_turns"].get(last) or [0, len(sessions[last]["turns"]) - 1]
    stop = (span[1] if span[1] is not None else len(sessions[last]["turns"]) - 1) + 1
    kept = [{**sessions[last], "turns": sessions[last]["turns"][max(0, stop - size) : stop]}]
    left = size - len(kept[0]["turns"])
    for name in others:
        if left <= 0:
            break
        kept.append({**sessions[name], "turns": sessions[name]["turns"][:left]})
        left -= len(kept[-1]["turns"])
    return kept


def _small(
    sets: Sets,
    asker: Asker,
    query: dict[str, Any],
    other: str | None,
    size: str,
    kept: list[dict[str, Any]],
    removed: list[dict[str, Any]] | None = None,
) -> None:
    # A path of its own: while a reader of an index is open, DuckDB gives every other reader of that path the same file.
    folder = asker.folder / "small" / str(len(asker.done))
    ids = sets.make(folder, kept)
    asker.ask(folder, f"{size}: in", query["text"], [ids[g] for g in query["gold"] if g in ids])
    if other:
        asker.ask(folder, f"{size}: off-domain", other)
    if removed:
        without = folder.with_name(f"{folder.name}-removed")
        sets.make(without, removed)
        asker.ask(without, f"{size}: removed", query["text"])


def talk(sets: Sets, asker: Asker, every: int) -> None:
    """LoCoMo's questions, asked of all ten conversations in one store and of each alone."""
    audit = json.loads((sets.data / "locomo/locomo-audit-errors.json").read_text())
    bad = left_out(audit, 0)
    for number, record in enumerate(sets.talks):
        places = {}
        for turn, session, _ in talk_turns(record["conversation"]):
            places[turn["dia_id"]] = session
        for at, question in list(enumerate(record["qa"]))[number % every :: every]:
            if (number, at) in bad:
                continue
            adversarial = CATEGORIES[question["category"]] == "adversarial"
            names = [f"{record['sample_id']}:{session}" for session in evidence(question, places)]
            if not adversarial and not names:
                continue
            for store in ("talk--ten", f"talk--{record['sample_id']}"):
                ids = ids_of(asker.folder / store)
                group = "ten in one: " if store == "talk--ten" else "alone: "
                group += "adversarial" if adversarial else "answerable"
                asker.ask(
                    asker.folder / store, group, question["question"], [ids[name] for name in names if name in ids]
                )


@contextmanager
def settings(strictness: float | None, keywords: bool) -> Iterator[None]:
    """A home of its own, so that nobody's settings count."""
    with tempfile.TemporaryDirectory() as home:
        chosen = [f"recall:\n  strictness: {strictness}\n"] if strictness is not None else []
        chosen += ["embed:\n  engine: 'off'\n"] if keywords else []
        settings_file = Path(home) / ".config/rekal/config.yml"
        settings_file.parent.mkdir(parents=True)
        settings_file.write_text("".join(chosen))
        os.environ["HOME"] = home
        os.environ.pop("XDG_CONFIG_HOME", None)
        yield


SETS: dict[str, Callable[[Sets, Asker, int], None]] = {
    "whole": whole,
    "forms": forms,
    "files": files,
    "words": words,
    "sizes": sizes,
    "talk": talk,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=["build", *SETS])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--to", type=Path, required=True, help="folder of the stores")
    parser.add_argument("--cache", type=Path, default=Path("/tmp/rekal-bench"), help="vectors")
    parser.add_argument("--every", type=int, default=1, help="ask every n-th question")
    parser.add_argument("--strictness", type=float)
    parser.add_argument("--keywords", action="store_true", help="without vectors")
    parser.add_argument("--rows", type=Path, help="file that a line a question is appended to")
    given = parser.parse_args()
    sets, folder = Sets(given.data, given.cache), given.to.resolve()
    if given.what == "build":
        build(sets, folder)
        return
    asker = Asker(folder, given.rows.resolve() if given.rows else None)
    with settings(given.strictness, given.keywords), kept_between_commands():
        SETS[given.what](sets, asker, given.every)
    report(asker.done)


if __name__ == "__main__":
    main()
