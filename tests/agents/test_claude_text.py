"""What a person said, under everything the client puts around it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekal.agents.claude.content import agent_words, spoken_content, strip_machine_text, text_blocks, without_injected

MEMORY = "<rekal-memory v=1>\nan older answer\n</rekal-memory>\n"

NAMED = "<command-name>/{0}</command-name>\n<command-message>{0}</command-message>\n<command-args>{1}</command-args>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("  two\n\nlines ", "two\n\nlines"),
        ("a <system-reminder>no</system-reminder>b", "a b"),
        ("before<system-reminder>never closed", "before"),
        ("<ide_opened_file>The user opened x</ide_opened_file>\nfix it", "fix it"),
        ("<ide_selection>x</ide_selection><ide_opened_file>y</ide_opened_file> go", "go"),
        ("what does <ide_selection> mean?", "what does <ide_selection> mean?"),
        (NAMED.format("clear", ""), ""),
        (NAMED.format("review", "PR 7"), "/review PR 7"),
        ("<command-args>only these</command-args>", "only these"),
        ("<local-command-stdout>Set model</local-command-stdout>", ""),
        ("<local-command-caveat>Caveat</local-command-caveat>", ""),
        ("<bash-input>git status</bash-input>", "! git status"),
        ("<bash-stdout>clean</bash-stdout><bash-stderr></bash-stderr>", ""),
        ('<teammate-message teammate_id="x">done</teammate-message>', ""),
        ("<task-notification>\n<status>done</status>\n</task-notification>", ""),
        ('<cross-session-message from="w2">your branch is behind</cross-session-message>', ""),
        ("<some-new-wrapper>of a later version</some-new-wrapper>", ""),
        ("<div>what a person pastes</div>", "<div>what a person pastes</div>"),
        ("<my-element></my-element> why is it empty", "<my-element></my-element> why is it empty"),
        ('<channel source="plugin:chat" user="ann">fix the lexer</channel>', "fix the lexer"),
        ("[Request interrupted by user]", ""),
        ("[Request interrupted by user for tool use]", ""),
        ("[Request interrupted by user] stop that", "stop that"),
        ("Caveat: The messages below were generated", ""),
        ("Base directory for this skill: /x", ""),
        ("Stop hook feedback:\n- x", ""),
        ('{"task_id":"b1"}', ""),
        ("Warmup", ""),
        ("Warmup the cache", "Warmup the cache"),
        ("/theme", ""),
        ("/theme is ugly", "/theme is ugly"),
        (MEMORY + "and now?", "and now?"),
    ],
)  # fmt: skip
def test_spoken(text: str, expected: str) -> None:
    assert strip_machine_text(text) == expected


def test_what_rekal_injected_is_cut_from_everything() -> None:
    assert without_injected(f"one\n{MEMORY}two\n  <rekal-memory>x</rekal-memory>\nthree") == "one\ntwo\nthree"
    inline = "the <rekal-memory> tag is ours, and </rekal-memory> ends it"
    assert without_injected(inline) == inline
    assert agent_words([{"type": "text", "text": f"As before:\n{MEMORY}Done."}]) == "As before:\nDone."
    assert agent_words(MEMORY) == ""


def test_content_is_a_string_or_blocks() -> None:
    blocks = [
        {"type": "image"},
        {"type": "text", "text": "a"},
        7,
        {"type": "text", "text": 7},
        {"type": "text", "text": "Warmup"},
    ]
    assert list(text_blocks(blocks)) == ["a", "Warmup"]
    assert spoken_content(blocks) == "a"
    assert spoken_content("b") == "b"
    assert spoken_content({"text": "c"}) == ""


@settings(deadline=None, max_examples=100)
@given(
    st.lists(
        st.sampled_from(
            ["<system-reminder>", "</system-reminder>", "<command-name>", "</command-name>", "<command-args>", "word ",
             "<bash-input>", "\n", "<rekal-memory", "</rekal-memory>", "[Request interrupted by user", "]", "\ud800"]
        )
    ).map("".join)
)  # fmt: skip
def test_any_text_can_be_unwrapped(text: str) -> None:
    found = spoken_content(text)
    assert found == found.strip()
    assert "\ud800" not in found
    assert "<system-reminder>" not in found
