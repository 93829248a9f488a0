"""The table of verbs: complete, with the commands' own short helps, and enough for the help of the program."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from rekal.cli.main import Verbs, root_command
from rekal.cli.verb_table import GROUPS, HIDDEN, VERBS


@pytest.mark.parametrize("name", VERBS)
def test_a_short_help_is_the_beginning_of_the_commands_help(name: str) -> None:
    assert isinstance(root_command, Verbs)
    command = root_command.get_command(click.Context(root_command), name)
    assert command is not None
    assert command.get_short_help_str(100) == VERBS[name][1]


def test_every_verb_that_is_not_hidden_stands_in_one_group() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(set(VERBS) - HIDDEN)


def test_the_help_of_the_program_imports_no_verb() -> None:
    code = (
        "import sys; from rekal.cli.main import run_command_line; run_command_line(['--help']);"
        "sys.stderr.write(str([m for m in sys.modules if m.startswith('rekal.cli.verbs') or m in ('numpy', 'duckdb')]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == "[]"
    assert "recall" in done.stdout
