"""Every agent, in every kind of store it has had: captured, linked, recalled, continued."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture.test_link import commit, links, work
from tests.support.app import Rekal
from tests.support.conversations import STORES, Conversation, Round, moment


@pytest.fixture(autouse=True)
def _default_places(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name)


def spoken(rekal: Rekal, role: str) -> list[str]:
    sql = f"SELECT content FROM turns WHERE role = '{role}' ORDER BY seq"
    return [row[0] for row in rekal("query", "--json", sql).json["rows"]]


@pytest.mark.parametrize("store", STORES)
def test_from_the_agents_store_to_recall(rekal: Rekal, home: Path, store: str) -> None:
    rounds = [
        Round("Why keep the retry queue in postgres?", rekal.root / "queue.py", "retries live here\n", "It survives."),
        Round("Colour the warnings of the log", rekal.root / "log.py", "yellow for warnings\n", "Yellow, then."),
    ]
    talk = Conversation(home, rekal.root, f"talk in {store}", rounds)
    for place, one in enumerate(rounds):
        STORES[store](Conversation(home, talk.cwd, talk.name, rounds[: place + 1]))
        work(rekal.root, one.path.name, one.text)
        commit(rekal.root, moment(place, 120), one.path.stem)
        assert rekal("_worker").code == 0
        assert rekal.layout.log.read_text("utf-8") == ""
    found = {
        subject: [(talk.id in native, how) for native, _, _, how in rows] for subject, rows in links(rekal).items()
    }
    assert found == {"queue": [(True, "edited")], "log": [(True, "edited")]}
    assert spoken(rekal, "human") == [one.asked for one in rounds]
    answers = spoken(rekal, "assistant")
    assert [said for said in answers if said in {one.answered for one in rounds}] == [one.answered for one in rounds]
    before = rekal("query", "--json", "SELECT * FROM turns ORDER BY ALL").json["rows"]
    again = rekal("checkpoint", "--json")
    assert (again.code, again.json["sessions"], again.json["warnings"]) == (0, 0, [])
    assert rekal("query", "--json", "SELECT * FROM turns ORDER BY ALL").json["rows"] == before
    (hit,) = rekal("recall", "--json", "why is the retry queue in postgres").json["sessions"]
    assert hit["agent"] == store.split()[0]
