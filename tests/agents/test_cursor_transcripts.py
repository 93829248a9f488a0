"""Cursor's agent transcripts: words, calls, wrappers, directories, pieces, damage; counts over recordings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekal.agents.contract import Resume, Source
from rekal.agents.cursor.adapter import ADAPTER
from rekal.agents.cursor.text import split_typed, strip_answer, uri_path
from rekal.errors import SourceError
from tests.agents.adapter_checks import JUNK, SHARED, check_golden, counts, mutations, shared_file
from tests.agents.cursor_maker import as_source, line, lines, only, parsed, sources, transcript_file, use

TALK = [
    line("user", "<timestamp>Friday, Jul 17, 2026, 6:10 PM (UTC+10)</timestamp>\n<user_query>\ntidy up\n</user_query>"),
    line("assistant", "[REDACTED]", use("Shell", command="make", working_directory="/w/app")),
    line("assistant", "On it.\n\n[REDACTED]", use("Read", path="a.py"), use("Write", path="b.py", contents="one\ntwo")),
    line("assistant", use("StrReplace", path="b.py", old_string="one", new_string="uno\ndos")),
    line("assistant", "Tidied."),
    json.dumps({"type": "turn_ended", "status": "success"}).encode() + b"\n",
    line("user", "tidy up"),
    line("assistant", "Tidied."),
]


def test_a_transcript(tmp_path: Path) -> None:
    transcript_file(tmp_path, "w-app", "t1/t1.jsonl", *TALK)
    transcript = only(tmp_path)
    assert lines(transcript) == [
        ("human", "tidy up"),
        ("assistant", "On it."),
        ("assistant", "Tidied."),
        ("human", "tidy up"),
        ("assistant", "Tidied."),
    ]
    assert [(call.tool, call.path, call.command, call.turn, call.wrote) for call in transcript.calls] == [
        ("Shell", None, "make", 0, ()),
        ("Read", "a.py", None, 1, ()),
        ("Write", "b.py", None, 1, ("one", "two")),
        ("StrReplace", "b.py", None, 1, ("uno", "dos")),
    ]
    assert {call.outcome for call in transcript.calls} == {None}
    assert transcript.started_at == transcript.turns[0].occurred_at == datetime(2026, 7, 17, 8, 10, tzinfo=UTC)
    assert (transcript.native_id, transcript.cwds) == ("t1", ("/w/app",))


def test_the_last_call_waits_and_one_that_was_passed_over_wrote_nothing(tmp_path: Path) -> None:
    start = line("user", "go"), line("assistant", "Going.", use("Write", path="b.py", contents="one line"))
    path = transcript_file(tmp_path, "w-app", "t1.jsonl", *start)
    assert only(tmp_path).calls == ()
    path.write_bytes(b"".join(start) + line("assistant", "Gone."))
    assert [call.wrote for call in only(tmp_path).calls] == [("one line",)]
    path.write_bytes(b"".join(start) + line("user", "no, stop"))
    assert [(call.wrote, call.outcome) for call in only(tmp_path).calls] == [((), None)]


def test_results_are_used_where_a_transcript_has_them(tmp_path: Path) -> None:
    failed = {"type": "tool_result", "is_error": True, "content": [{"type": "text", "text": "denied"}]}
    answers = line("user", {"type": "tool_result", "content": []}), line("user", failed)
    edit = use("Edit", path="a.py", old_string="x", new_string="y line")
    transcript_file(
        tmp_path, "w-app", "t1.jsonl", *(part for reply in answers for part in (line("assistant", edit), reply))
    )
    assert [(call.outcome, call.wrote, call.excerpt) for call in only(tmp_path).calls] == [
        ("ok", ("y line",), None),
        ("error", (), "denied"),
    ]


def test_a_subagent_names_its_parent_and_is_no_session_of_its_own(tmp_path: Path) -> None:
    parent = transcript_file(tmp_path, "w-app", "t1/t1.jsonl", line("user", "go"))
    transcript_file(tmp_path, "w-app", "t1/subagents/s1.jsonl", line("user", "look"), line("assistant", "Looked."))
    first, second = sources(tmp_path)
    assert (first.path, second.parent_key) == (parent, str(parent))
    child = parsed(tmp_path, second).transcripts[0]
    assert (child.native_id, child.parent_native_id, child.actor, child.spawn_depth) == ("s1", "t1", "agent", 1)


def test_the_old_text_form(tmp_path: Path) -> None:
    text = """user:
<user_query>
fix it
</user_query>

assistant:
[Thinking] hm
more of it

I will look.
[Tool call] write
  path: /w/app/a.py
  contents: fixed line
[Tool result] write
a great deal of output

Fixed.

user:
thanks
"""
    path = transcript_file(tmp_path, "w-app", "t1.txt", text.encode())
    transcript = only(tmp_path)
    assert lines(transcript) == [
        ("human", "fix it"),
        ("assistant", "I will look."),
        ("assistant", "Fixed."),
        ("human", "thanks"),
    ]
    (call,) = transcript.calls
    assert (call.tool, call.path, call.wrote, call.turn) == ("write", "/w/app/a.py", ("fixed line",), 1)
    assert ADAPTER.sniff(path.read_bytes())
    path.write_text("only words\n")
    with pytest.raises(SourceError, match="no transcript"):
        parsed(tmp_path, as_source(path))


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (
            "<user_query>\nsay <user_query>it</user_query> twice\n</user_query>",
            "say <user_query>it</user_query> twice",
        ),
        ("<user_info>\nOS\n</user_info>\n<rules>\nbe kind\n</rules>", None),
        ("<external_links>\n# page\n</external_links>\nread this", "read this"),
        ("<user_query>keep <user_info>mine</user_info></user_query>", "keep <user_info>mine</user_info>"),
        ("<user_query>\n\n</user_query>", None),
        ("plain", "plain"),
        ("", None),
    ],
)
def test_only_what_was_typed_is_kept(raw: str, words: str | None) -> None:
    assert split_typed(raw).words == words


@pytest.mark.parametrize(
    ("stamp", "moment"),
    [
        ("Friday, Jul 17, 2026, 6:10 PM (UTC+10)", datetime(2026, 7, 17, 8, 10, tzinfo=UTC)),
        ("Friday, Jul 17, 2026, 12:05 AM (UTC-3:30)", datetime(2026, 7, 17, 3, 35, tzinfo=UTC)),
        ("Friday, Jul 17, 2026, 12:05 PM (UTC)", datetime(2026, 7, 17, 12, 5, tzinfo=UTC)),
        ("Friday, Jul 47, 2026, 12:05 PM (UTC)", None),
        ("yesterday", None),
    ],
)
def test_the_time_around_a_message(stamp: str, moment: datetime | None) -> None:
    assert split_typed(f"<timestamp>{stamp}</timestamp><user_query>x</user_query>").at == moment


def test_placeholders_and_places() -> None:
    assert strip_answer("[REDACTED]\n\n[REDACTED]") is None and strip_answer("a\n\n[REDACTED]") == "a"
    assert uri_path("file:///w/my%20app") == "/w/my app" and uri_path("file:///c%3A/w") == "c:/w"
    assert uri_path("vscode-remote://wsl%2Bubuntu/w/app") == "/w/app"
    assert uri_path("vscode-remote://ssh-remote%2Bbox/w/app") is None and uri_path("http://[bad") is None
    assert uri_path({"external": "file:///w/app"}) == uri_path({"fsPath": "/w/app"}) == "/w/app"


@pytest.mark.parametrize("root", ["app", "app2"])
def test_a_folder_belongs_to_the_directory_that_exists(tmp_path: Path, root: str) -> None:
    home, code = tmp_path / "home", tmp_path / "code"
    for name in ("app/lib", "app2"):
        (code / name).mkdir(parents=True)
    for folder in ("app", "app/lib", "app2", "app/gone", "app-old"):
        encoded = str(code / folder).lstrip("/").replace("/", "-").replace("_", "-")
        transcript_file(home, encoded, f"{folder.replace('/', '.')}.jsonl", line("user", "go"))
    expected = {"app": {"app": "app", "app.lib": "app/lib"}, "app2": {"app2": "app2"}}[root]
    place = str(code / root)
    found = {source.path.stem: parsed(home, source, root=place).transcripts[0].cwds for source in sources(home, place)}
    assert found == {name: (str(code / folder),) for name, folder in expected.items()}


@pytest.mark.parametrize(("touched", "owner"), [("app/lib/a.py", "app/lib"), ("app-lib/a.py", "app-lib"), (None, None)])
def test_where_two_directories_share_a_folder_the_touched_files_decide(
    tmp_path: Path, touched: str | None, owner: str | None
) -> None:
    home, code = tmp_path / "home", tmp_path / "code"
    for name in ("app/lib", "app-lib"):
        (code / name).mkdir(parents=True)
    encoded = str(code / "app-lib").lstrip("/").replace("/", "-").replace("_", "-")
    reads = [line("assistant", use("Read", path=str(code / touched)))] if touched else []
    transcript_file(home, encoded, "t1.jsonl", line("user", "go"), *reads, line("assistant", "Done."))
    (source,) = sources(home, str(code / "app"))
    assert parsed(home, source, root=str(code / "app")).transcripts[0].cwds == ((str(code / owner),) if owner else ())


Said = dict[str | None, tuple[str, str]]


def read_pieces(home: Path, path: Path, cuts: list[int]) -> tuple[Said, set[str | None]]:
    """Turns and calls by id after reading the file as it grew to each of ``cuts``."""
    data, resume = path.read_bytes(), None
    turns: Said = {}
    calls: set[str | None] = set()
    for cut in [*cuts, len(data)]:
        path.write_bytes(data[:cut])
        result = parsed(home, as_source(path), resume)
        resume = Resume(result.offset, result.prefix_hash)
        for turn in result.transcripts[0].turns:
            assert turns.setdefault(turn.native_id, (turn.role, turn.content)) == (turn.role, turn.content)
        calls |= {call.native_id for call in result.transcripts[0].calls}
        assert not result.restarted
    return turns, calls


@pytest.mark.parametrize("glued", [False, True])
def test_pieces_give_what_the_whole_gives(tmp_path: Path, glued: bool) -> None:
    talk = [part.rstrip(b"\n") if glued and n == 3 else part for n, part in enumerate(TALK)]
    path = transcript_file(tmp_path, "w-app", "t1.jsonl", *talk)
    whole = read_pieces(tmp_path, path, [])
    assert len(whole[0]) == 5 and len(whole[1]) == 4
    ends = [sum(map(len, talk[:n])) for n in range(1, len(talk))]
    for cut in range(1, sum(map(len, talk)), 7):
        assert read_pieces(tmp_path, path, [cut]) == whole
    assert read_pieces(tmp_path, path, ends) == whole


@settings(max_examples=40, deadline=None)
@given(changes=st.lists(mutations(), min_size=len(TALK), max_size=len(TALK)), junk=st.binary(max_size=40))
def test_mutated_records_raise_source_error_at_worst(
    tmp_path_factory: pytest.TempPathFactory, changes: list[Any], junk: bytes
) -> None:
    home = tmp_path_factory.mktemp("home")
    changed = [
        json.dumps(change(json.loads(part))).encode() + b"\n" for change, part in zip(changes, TALK, strict=True)
    ]
    path = transcript_file(home, "w-app", "t1.jsonl", *changed, junk)
    try:
        result = parsed(home, as_source(path))
    except SourceError:
        return
    transcript = result.transcripts[0]
    assert all(turn.content.strip() for turn in transcript.turns)
    assert all(-1 <= call.turn < len(transcript.turns) for call in transcript.calls)


def shared_sources() -> Iterator[Source]:
    root = SHARED / "fixtures/cursor"
    yield from (as_source(path) for path in sorted(root.rglob("*.jsonl")))
    yield as_source(root / "r01-git-ai-cursor_test.vscdb")
    store = root / "agent-sessions-test-store.db"
    yield as_source(store)


@pytest.mark.shared
def test_counts_over_the_shared_recordings(tmp_path: Path) -> None:
    root = shared_file("fixtures/cursor")
    found = {str(source.path.relative_to(root)): counts(ADAPTER, source, tmp_path) for source in shared_sources()}
    check_golden("cursor", found)


@pytest.mark.shared
def test_no_file_of_another_agent_is_claimed_and_every_own_one_is() -> None:
    root = shared_file("fixtures")
    files = [path for path in sorted(root.rglob("*")) if path.is_file()]
    claimed = {str(path.relative_to(root)) for path in files if ADAPTER.sniff(path.read_bytes()[:65536])}
    own = {str(path.relative_to(root)) for path in (root / "cursor").rglob("*") if path.is_file()}
    # The two ``.txt`` are outputs of tools, not transcripts.
    assert claimed == {name for name in own if not name.endswith(".txt")}


@pytest.mark.parametrize("junk", JUNK)
def test_junk_is_not_claimed(junk: bytes) -> None:
    assert not ADAPTER.sniff(junk)
