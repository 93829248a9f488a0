"""Patches and diffs: paths, kinds of change and the lines they write."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekal.agents.formats.patches import FilePatch, added_lines, parse_patch, parse_unified, text_lines

PATCH = """*** Begin Patch
*** Add File: notes/new.md
+# Title
+
+++ counter
*** Update File: src/app.py
*** Move to: src/main.py
@@ def run():
-    return 1
+    return 2
 context
*** Update File: lib/b.py
@@
+import os
*** Delete File: old.txt
*** End Patch
"""


def test_every_file_of_a_patch_is_read() -> None:
    assert parse_patch(PATCH) == (
        FilePatch("notes/new.md", "A", ("# Title", "", "++ counter")),
        FilePatch("src/main.py", "R", ("    return 2",), "src/app.py"),
        FilePatch("lib/b.py", "M", ("import os",)),
        FilePatch("old.txt", "D"),
    )


def test_patch_inside_a_shell_command() -> None:
    command = f"cd /w && apply_patch <<'EOF'\n{PATCH}EOF\n+not part of it\n"
    paths = [file.path for file in parse_patch(command)]
    assert paths == ["notes/new.md", "src/main.py", "lib/b.py", "old.txt"]
    assert parse_patch(command)[3].wrote == ()


def test_crlf_and_missing_end_are_tolerated() -> None:
    assert parse_patch("*** Begin Patch\r\n*** Add File: a b.txt\r\n+x\r\n+y") == (
        FilePatch("a b.txt", "A", ("x", "y")),
    )


@pytest.mark.parametrize("text", ["", "no patch", "*** Update File: a\n+x", "*** Begin Patch\n*** End Patch"])
def test_text_without_files_yields_nothing(text: str) -> None:
    assert parse_patch(text) == ()


def test_added_lines_follow_the_hunk_counts() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+++ d\n\\ No newline at end of file\n+outside\n"
    assert added_lines(diff) == ("c", "++ d")


def test_added_lines_of_several_hunks_without_headers() -> None:
    assert added_lines("@@ -6,2 +6,3 @@\n x\n+y\n z\n@@ -9 +10 @@\n-p\n+q\n") == ("y", "q")


def test_unified_diff_file_by_file() -> None:
    diff = (
        "diff --git a/one b/one\n--- a/one\n+++ b/one\n@@ -1 +1 @@\n-a\n+b\n"
        "--- /dev/null\n+++ b/two\n@@ -0,0 +1 @@\n+new\n"
        "--- a/three\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
        "--- a/four\n+++ b/five\n@@ -1 +1 @@\n-a\n+c\n"
    )
    assert parse_unified(diff) == (
        FilePatch("one", "M", ("b",)),
        FilePatch("two", "A", ("new",)),
        FilePatch("three", "D"),
        FilePatch("five", "R", ("c",), "four"),
    )


def test_text_lines_drop_only_the_final_newline() -> None:
    assert text_lines("a\r\n\nb\n") == ("a", "", "b")
    assert text_lines("a\u2028b") == ("a\u2028b",)
    assert text_lines("") == ()


@settings(deadline=None, max_examples=80)
@given(st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"])), max_size=6))
def test_what_an_added_file_holds_comes_back(lines: list[str]) -> None:
    body = "".join(f"+{line}\n" for line in lines)
    (file,) = parse_patch(f"*** Begin Patch\n*** Add File: f\n{body}*** End Patch")
    assert file.wrote == tuple(lines)


@settings(deadline=None, max_examples=80)
@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    for file in (*parse_patch("*** Begin Patch\n" + text), *parse_unified(text)):
        assert file.path
    added_lines(text)
