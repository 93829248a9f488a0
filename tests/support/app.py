"""Run the command line against a repository in a temporary directory, in this process."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rekal.cli.main import run_command_line
from rekal.git import find_repo
from rekal.store.layout import Layout


class Ran(msgspec.Struct, frozen=True):
    """Exit code and what was printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """stdout as JSON."""
        return json.loads(self.out)


class Rekal:
    """``rekal`` in one repository, with the agents' home of the test."""

    def __init__(self, root: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self.home = home
        self._capsys = capsys

    def __call__(self, *args: str, cwd: Path | None = None) -> Ran:
        before = Path.cwd()
        os.chdir(cwd or self.root)
        try:
            self._capsys.readouterr()
            code = run_command_line(args)
            captured = self._capsys.readouterr()
        finally:
            os.chdir(before)
        return Ran(code, captured.out, captured.err)

    @property
    def layout(self) -> Layout:
        """The store's paths."""
        found = find_repo(self.root)
        return Layout(found.store_dir, found.private_dir)
