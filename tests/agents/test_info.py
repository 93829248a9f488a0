"""An agent is one folder: its facts stand there, and every list of agents is made from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekal import agents
from rekal.agents import registry
from rekal.daemon import client

FOLDER = Path(agents.__file__).parent
SHARED = {"formats"}


def test_every_folder_is_an_agent() -> None:
    folders = {path.name for path in FOLDER.iterdir() if (path / "__init__.py").is_file()} - SHARED
    assert folders == set(registry.BUILT_IN)


@pytest.mark.parametrize("name", registry.BUILT_IN)
def test_an_agent_says_its_own_name_and_reads_by_it(name: str) -> None:
    info = registry.describe_agent(name)
    assert info.name == name
    assert {adapter.name for adapter in registry.load_adapters([name])} == {name}
    assert info.traces


def test_the_client_of_the_daemon_hands_over_the_variables_of_every_agent() -> None:
    wanted = {prefix for info in registry.describe_built_in() for prefix in info.environment_prefixes}
    assert set(client.AGENT_PREFIXES) == wanted


def test_an_agent_of_another_distribution_reads_the_file_that_most_read() -> None:
    assert registry.describe_agent("scribe").instruction_file == "AGENTS.md"
