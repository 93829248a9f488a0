"""Home directories: one's own becomes ``~``, another's a pseudonym, a machine's stays."""

from __future__ import annotations

import re

import pytest

from rekal.scrub import Rules, Scrubber

OWN = Scrubber(Rules(homes=("/home/zelda", "/Users/zelda"), username="zelda", salt="one"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/zelda/src/app.py", "~/src/app.py"),
        ("/home/zelda", "~"),
        ("cd /home/zelda && ls", "cd ~ && ls"),
        ("PATH=/home/zelda/bin:/home/zelda/.local/bin", "PATH=~/bin:~/.local/bin"),
        ("it is in /home/zelda.", "it is in ~."),
        ('"/home/zelda"', '"~"'),
        ('{\\"cwd\\":\\"/home/zelda/x\\"}', '{\\"cwd\\":\\"~/x\\"}'),
        ("out\\n/home/zelda/x", "out\\n~/x"),
        ("/Users/zelda/Library", "~/Library"),
        ("/private/Users/zelda/x", "~/x"),
        ("C:\\Users\\zelda\\repo", "~\\repo"),
        ("C:\\\\Users\\\\zelda\\\\repo", "~\\\\repo"),
        ("c:/Users/Zelda/repo", "~/repo"),
        ("/mnt/c/Users/zelda/repo", "~/repo"),
        ("/c/Users/zelda/repo", "~/repo"),
        ("file:///home/zelda/x", "file://~/x"),
        ("file:///c%3A/Users/zelda/x", "file:///~/x"),
        ("\\/home\\/zelda\\/x", "~\\/x"),
        ("projects/-home-zelda-src-app/1.jsonl", "projects/~-src-app/1.jsonl"),
        ("-Users-zelda-app", "~-app"),
        ("C--Users-zelda-app", "~-app"),
        ("gcc -I/home/zelda/include", "gcc -I~/include"),
    ],
)
def test_own_home(text: str, expected: str) -> None:
    assert OWN.text(text) == expected
    assert OWN.text(expected) == expected


@pytest.mark.parametrize(
    "text",
    [
        "/home/zeldas/x is /home/runner/work",
        "src/home/index.tsx",
        "https://site.org/home/news/today",
        "/home/dashboard",
        "/Users/Shared/tool",
        "/home/<user>/x",
        "/home/$USER/x",
        "app/users/zoe/edit",
        "the-home-page-title",
        "at home/office",
        "/root/project",
        "/var/lib/postgresql/data",
    ],
)
def test_what_is_nobodys_home_stays(text: str) -> None:
    assert OWN.text(text).replace(_pseudonym_of(OWN, "zeldas"), "zeldas") == text


def _pseudonym_of(scrubber: Scrubber, name: str) -> str:
    return scrubber.text(f"/home/{name}/x").split("/")[2]


@pytest.mark.parametrize(
    "text",
    ["/home/quentin/x", "/Users/quentin/x", "C:\\Users\\quentin\\x", "/mnt/d/Users/quentin/x", "-home-quentin-x"],
)
def test_another_home_gets_a_pseudonym(text: str) -> None:
    scrubbed = OWN.text(text)
    assert "quentin" not in scrubbed
    assert re.search(r"user-[0-9a-f]{6}", scrubbed)
    assert OWN.text(scrubbed) == scrubbed


def test_pseudonyms_are_stable_within_a_store_and_differ_between_stores() -> None:
    other = Scrubber(Rules(salt="two"))
    assert _pseudonym_of(OWN, "quentin") == _pseudonym_of(OWN, "Quentin")
    assert _pseudonym_of(OWN, "quentin") != _pseudonym_of(OWN, "quentina")
    assert _pseudonym_of(OWN, "quentin") != _pseudonym_of(other, "quentin")


def test_own_name_below_another_directory_is_hidden_in_place() -> None:
    scrubbed = OWN.text("/backup/home/zelda/x")
    assert "zelda" not in scrubbed
    assert scrubbed.startswith("/backup/home/user-")


def test_windows_name_with_a_space() -> None:
    scrubber = Scrubber(Rules(homes=("C:\\Users\\Zelda Fitz",), username="Zelda Fitz"))
    assert scrubber.text("C:\\Users\\Zelda Fitz\\x") == "~\\x"


def test_unusual_homes() -> None:
    scrubber = Scrubber(Rules(homes=("/root", "/data/people/zelda"), username="root"))
    assert scrubber.text("/root/x and /root, not /rooted or /a/root/b") == "~/x and ~, not /rooted or /a/root/b"
    assert scrubber.text("/data/people/zelda/x") == "~/x"
