"""A call as people type it: mistyped verbs, questions without quotes, options before the verb, help."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from rekal.app.context import parse_handle
from rekal.cli.main import count_edits
from rekal.cli.verb_table import HIDDEN, VERBS
from rekal.errors import UsageError
from tests.conftest import git
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession


@pytest.mark.parametrize(
    ("words", "verb"),
    [
        (["stauts"], "status"),
        (["checkpiont", "--since", "90d"], "checkpoint"),
        (["recal", "the queue"], "recall"),
        (["shwo", "27tn23jge7"], "show"),
        (["forgt", "--list"], "forget"),
        (["Lgo"], "log"),
    ],
)
def test_a_mistyped_verb_is_refused_with_a_suggestion(rekal: Rekal, words: list[str], verb: str) -> None:
    done = rekal(*words)
    assert done.code == 2
    assert f"did you mean `rekal {verb}`?" in done.err


@pytest.mark.parametrize(
    "words",
    [
        ["where is the queue"],
        ["where", "is", "it"],
        ["who wrote the queue"],
        ["authentication"],
        ["why", "is", "the", "queue", "in", "Postgres"],
        ["show", "me", "the", "retry", "logic"],
        ["log", "lines", "in", "UTC"],
    ],
)
def test_a_question_is_a_question(rekal: Rekal, words: list[str]) -> None:
    done = rekal(*words)
    assert done.code == 1, done.err
    assert done.out.startswith("SILENCE")


def test_recall_without_a_question_says_what_to_write(rekal: Rekal) -> None:
    done = rekal("recall")
    assert (done.code, "there is no question" in done.err) == (2, True)


def test_help_is_on_stdout_and_explains_verbs(rekal: Rekal) -> None:
    bare = rekal()
    assert bare.code == 0
    assert all(f"{group}:" in bare.out for group in ("Start", "Ask", "Share", "Look after", "Examples"))
    assert rekal("help").out == bare.out
    assert rekal("help", "show").out.startswith("Usage: rekal show")
    assert "did you mean `rekal status`?" in rekal("help", "stauts").err
    assert rekal("help", "nonsense").code == 2
    assert rekal("-V").out.startswith("rekal ")


def test_options_before_the_verb(rekal: Rekal, tmp_path: Path) -> None:
    assert rekal("-C", str(rekal.root), "--json", "status", cwd=tmp_path).json["enabled"] is True
    assert rekal("-C", "/nowhere/at/all", "status").code == 2


@pytest.mark.parametrize("text", ["7f3a9c:41", "7f3a9c#41", "7f3a9c t41", "7f3a9c:t41"])
def test_every_form_of_a_handle_is_read(text: str) -> None:
    assert parse_handle(text) == ("7f3a9c", 41)


def test_names_without_a_turn() -> None:
    assert parse_handle("7f3a9c") == ("7f3a9c", None)
    assert parse_handle("HEAD~2") == ("HEAD~2", None)
    for text in ("#3", "x#y", "x#-1"):
        with pytest.raises(UsageError):
            parse_handle(text)


def test_edits() -> None:
    assert [count_edits("status", other) for other in ("stauts", "status", "statu", "stat", "queue")] == [1, 0, 1, 2, 5]


def test_rows_can_be_pasted_into_show(rekal: Rekal) -> None:
    session = ClaudeSession(rekal.home, rekal.root)
    session.human("why is the retry queue in Postgres")
    session.says("Because the retry queue survives a restart there.")
    assert rekal("checkpoint").code == 0
    handle = rekal("find", "survives a restart").out.split()[0]
    shown = rekal("show", handle)
    assert shown.code == 0
    assert f"> {handle} " in shown.out
    assert handle in rekal("recall", "why is the retry queue in Postgres").out


def test_show_says_what_is_not_there(rekal: Rekal) -> None:
    session = ClaudeSession(rekal.home, rekal.root)
    session.human("why is the retry queue in Postgres")
    session.says("Because the retry queue survives a restart there.")
    assert rekal("checkpoint").code == 0
    name = rekal("find", "restart").out.split(":")[0]
    beyond = rekal("show", f"{name}:999")
    assert (beyond.code, "has 2 turns, 0 to 1" in beyond.out) == (1, True)
    assert rekal("show", "").code == 2
    assert rekal("show", "#3").code == 2
    assert rekal("show", name, "-n", "-1").code == 2
    assert "rekal sessions" in rekal("show", "nothing-of-that-name").out


def test_sessions_are_listed_and_narrowed(rekal: Rekal) -> None:
    for name, text in (("one", "paint the shed green"), ("two", "why is the retry queue in Postgres")):
        session = ClaudeSession(rekal.home, rekal.root, name)
        session.human(text)
        session.writes(f"{name}.py", "x = 1\n")
        session.says("Done, because it was asked.")
    assert rekal("checkpoint").code == 0
    listed = rekal("sessions")
    assert listed.code == 0
    assert len(rekal("sessions", "--json").json["sessions"]) == 2
    assert rekal("sessions", "-n", "1", "--json").json["truncated"] is True
    assert "--all" in rekal("sessions", "-n", "1").out
    below = rekal.root / "deep"
    below.mkdir()
    assert len(rekal("sessions", "--json", "--file", "../one.py", cwd=below).json["sessions"]) == 1
    assert rekal("sessions", "--author", "nobody").code == 1
    assert rekal("sessions", "--until", "2020-01-01").code == 1
    assert rekal("sessions", "--agent", "clade").code == 2
    assert rekal("show", listed.out.split()[0]).code == 0


def test_a_commit_shows_the_turns_that_led_to_it(rekal: Rekal) -> None:
    session = ClaudeSession(rekal.home, rekal.root)
    for name in ("one", "two"):
        session.human(f"write {name}")
        session.writes(f"{name}.py", "x = 1\n")
        session.says(f"Wrote {name}.")
        (rekal.root / f"{name}.py").write_text("x = 1\n", encoding="utf-8")
        git(rekal.root, "add", f"{name}.py")
        git(rekal.root, "commit", "-qm", name)
        assert rekal("checkpoint").code == 0
    shown = rekal("show", "HEAD").out
    assert "write two" in shown
    assert "human: write one" not in shown
    assert rekal("show", "HEAD~2").code == 1


def test_a_store_that_cannot_be_written_is_shown(rekal: Rekal, monkeypatch: pytest.MonkeyPatch) -> None:
    ClaudeSession(rekal.home, rekal.root).human("why is the retry queue in Postgres")
    assert rekal("checkpoint").code == 0

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("rekal.store.spool.note_recall", refuse)
    name = rekal("sessions").out.split()[0]
    done = rekal("show", name)
    assert (done.code, "was not noted" in done.err) == (0, True)


def test_log_narrows_as_git_does(rekal: Rekal, monkeypatch: pytest.MonkeyPatch) -> None:
    now = int(time.time())
    session = ClaudeSession(rekal.home, rekal.root)
    for name in ("one", "two", "three"):
        session.human(f"write {name}")
        session.writes(f"{name}.py", "x = 1\n")
        (rekal.root / f"{name}.py").write_text("x = 1\n", encoding="utf-8")
        git(rekal.root, "add", f"{name}.py")
        now += 1  # commits of one second have no order of their own
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"{now} +0000")
        git(rekal.root, "commit", "-qm", name)
        assert rekal("checkpoint").code == 0

    def subjects(*args: str, cwd: Path | None = None) -> list[str]:
        return [one["subject"] for one in rekal("log", "--json", *args, cwd=cwd).json["checkpoints"]]

    assert subjects() == ["three", "two", "one"]
    assert subjects("-2") == ["three", "two"]
    assert subjects("HEAD~2..HEAD") == ["three", "two"]
    assert subjects("--", "one.py") == ["one"]
    below = rekal.root / "deep"
    below.mkdir()
    assert subjects("../two.py", cwd=below) == ["two"]
    assert subjects("--author", "PERSON@") == ["three", "two", "one"]
    assert subjects("--agent", "claude", "--since", "1d") == ["three", "two", "one"]
    assert subjects("--until", "2020-01-01") == []
    assert [line.split()[1] for line in rekal("log", "--oneline").out.splitlines()] == ["three", "two", "one"]
    assert rekal("log", "no-such..range").code == 2


def test_find_is_bounded_and_narrowed(rekal: Rekal) -> None:
    session = ClaudeSession(rekal.home, rekal.root)
    for number in range(5):
        session.human(f"the queue number {number} retries")
    assert rekal("checkpoint").code == 0
    done = rekal("find", "queue", "-2")
    assert len(done.out.splitlines()) == 4
    assert "3 more turns; --all prints them" in done.out
    assert '5 mentions in 1 session: "queue"' in done.out
    assert len(rekal("find", "queue", "--json", "-n", "1").json["turns"]) == 5
    assert len(rekal("find", "-E", "number [34]", "--json").json["turns"]) == 2
    assert rekal("find", "-E", "(").code == 2
    assert rekal("find", "queue", "--until", "2020-01-01").code == 1
    assert rekal("find", "queue", "--author", "nobody").code == 1


def test_a_silence_says_what_to_do(rekal: Rekal) -> None:
    assert "rekal checkpoint --since 90d" in rekal("recall", "why is the queue in Postgres").out
    session = ClaudeSession(rekal.home, rekal.root)
    session.human("why is the retry queue in Postgres")
    session.says("Because the retry queue survives a restart there.")
    assert rekal("checkpoint").code == 0
    narrowed = rekal("recall", "--author", "nobody", "why is the retry queue in Postgres").out
    assert "--author nobody" in narrowed
    words = ("below_gate", "thin_question", "filtered_out", "empty_store", "anchor_mismatch", "common_word")
    for question in ("how are ingress certificates rotated", "yes do it", "commit and push"):
        out = rekal("recall", question).out
        assert out.startswith("SILENCE ")
        assert not any(word in out for word in words)


def test_without_a_terminal_a_yes_is_asked_for_in_words(rekal: Rekal) -> None:
    done = rekal("clean")
    assert (done.code, "give --yes" in done.err) == (2, True)
    assert rekal.layout.data.exists()


def test_bash_completes_without_starting_rekal(rekal: Rekal) -> None:
    script = rekal("completion", "bash").out
    ask = 'COMP_WORDS=({words}); COMP_CWORD={at}; _rekal; printf "%s\\n" "${{COMPREPLY[@]}}"'

    def complete(words: str, at: int) -> set[str]:
        done = subprocess.run(
            ["bash", "-c", script + ask.format(words=words, at=at)], capture_output=True, text=True, timeout=60,
            cwd=rekal.root, env={"PATH": os.environ["PATH"]}, check=True,
        )  # fmt: skip
        return set(done.stdout.split())

    assert complete("rekal st", 1) == {"stats", "status"}
    assert "--since" in complete("rekal log --s", 2)
    assert complete("rekal recall --agent cla", 3) == {"claude"}
    assert complete("rekal recall --branch ma", 3) == {"main"}
    assert complete("rekal config recall.strict", 2) == {"recall.strictness"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_every_verb(rekal: Rekal, shell: str) -> None:
    script = rekal("completion", shell).out
    assert [name for name in VERBS if name not in HIDDEN and name not in script] == []
    if found := shutil.which(shell):
        subprocess.run([found, "-n"], input=script, text=True, timeout=60, check=True)


def test_config_sets_for_this_clone_and_for_the_user(rekal: Rekal) -> None:
    assert rekal("config", "recall.limit", "3").code == 0
    assert rekal("config", "recall.limit").out.startswith("recall.limit: 3\n")
    assert rekal("config", "--global", "recall.limit", "7").code == 0
    assert rekal("config", "recall.limit", "").code == 0
    assert rekal("config", "recall.limit").out.startswith("recall.limit: 7\n")
    assert rekal("config", "recall.limit", "many").code == 2
    assert rekal("config", "recall.limit").out.startswith("recall.limit: 7\n")
    assert rekal("config", "recall.limt", "3").code == 2
    assert rekal("config", "--global", "recall.limit").code == 2


def test_a_named_session_is_resumed(rekal: Rekal) -> None:
    session = ClaudeSession(rekal.home, rekal.root)
    session.human("why is the retry queue in Postgres")
    assert rekal("checkpoint").code == 0
    name = rekal("sessions").out.split()[0]
    assert session.session_id in rekal("resume", name).out
    assert rekal("resume", "nothing").code == 2
