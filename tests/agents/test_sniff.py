"""Each adapter knows its own files among real ones of every agent, and claims no other's."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekal.agents.codex import adapter as codex
from rekal.agents.contract import Adapter
from rekal.agents.copilot import cli, vscode
from rekal.agents.gemini import adapter as gemini
from tests.agents.adapter_checks import shared_file

HEAD = 64 << 10
ADAPTERS: dict[str, Adapter] = {
    "codex": codex.ADAPTER,
    "gemini": gemini.ADAPTER,
    "copilot/cli": cli.ADAPTER,
    "copilot/vscode": vscode.ADAPTER,
}


def head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD)


@pytest.mark.shared
@pytest.mark.parametrize("place", ADAPTERS)
def test_files_are_claimed_by_their_own_adapter_alone(place: str) -> None:
    folder = shared_file("fixtures")
    claimed = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and ADAPTERS[place].sniff(head(path))
    }
    foreign = {name for name in claimed if not name.startswith(place)}
    # The extension's transcripts are events of the command line's shape.
    assert all("transcripts/" in name or "event_stream" in name for name in foreign)
    assert not foreign or place == "copilot/cli"
    real = {path.relative_to(folder).as_posix() for path in (folder / place).glob("r[0-9]*")}
    assert real <= claimed and (real or place == "copilot/vscode")


@pytest.mark.parametrize("place", ADAPTERS)
@pytest.mark.parametrize("junk", [b"", b"\n", b"{", b"{}", b"[]", b"null", b"\xff\xfe{", b'{"a":' * 20_000, b"\0" * 64])
def test_junk_is_claimed_by_none(place: str, junk: bytes) -> None:
    assert not ADAPTERS[place].sniff(junk)
