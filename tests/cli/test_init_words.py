"""``init`` says what it found, imports the past of a store that exists, and writes nothing where it refuses."""

from __future__ import annotations

import os

import pytest

from rekal.cli import main
from rekal.store.layout import backfill_asked_for
from tests.conftest import git
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession


def test_init_counts_the_transcripts_of_each_agent(rekal: Rekal) -> None:
    assert "found here: no transcripts of any agent yet" in rekal("init").out
    ClaudeSession(rekal.home, rekal.root, "one").human("Make the queue durable.")
    assert "found here: 1 claude transcript\n" in rekal("init").out
    assert rekal("init", "--json").json["transcripts"] == {"claude": 1}


def test_an_age_asks_for_the_past_of_a_store_that_exists(rekal: Rekal, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    monkeypatch.setattr("rekal.cli.verbs.init.start_worker", started.append)
    assert rekal("init").code == 0
    assert (started, backfill_asked_for(rekal.layout.run)) == ([], None)  # nothing was asked for
    assert rekal("init", "--backfill", "1y").code == 0
    assert len(started) == 1
    assert backfill_asked_for(rekal.layout.run) is not None


def test_a_remote_that_is_none_is_found_before_anything_is_written(rekal: Rekal) -> None:
    assert rekal("clean", "--yes").code == 0
    before = sorted(os.listdir(rekal.root / ".git")), git(rekal.root, "config", "--list", "--local")  # noqa: PTH208
    ran = rekal("init", "--share", "nowhere")
    assert ran.code == 2
    assert "there is no remote nowhere" in ran.err
    assert before == (sorted(os.listdir(rekal.root / ".git")), git(rekal.root, "config", "--list", "--local"))  # noqa: PTH208
    assert not (rekal.root / ".rekal").exists()


def test_an_interrupted_command_says_what_is_kept(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "_call_verb", interrupt)
    assert main.run_command_line(["status"]) == 130
    assert "what was stored before is kept" in capsys.readouterr().err
