"""What a diff adds is held against rules; what it removes, moves, tests, documents or comments on is not."""

from __future__ import annotations

from collections import Counter

import pytest

from rekal.memory.added_lines import check_diff, is_diff, read_diff
from rekal.memory.scope import Place
from tests.memory.diff_examples import CASES, RULES, Diff, examples

EXAMPLES = list(examples())


def test_there_are_a_hundred_examples_with_a_third_of_violations() -> None:
    assert len(EXAMPLES) == 100
    assert sum(one.violation for one in EXAMPLES) == 33
    assert all(is_diff(one.text) for one in EXAMPLES if one.kind != "renames")


def ruled_out(diff: Diff) -> bool:
    return any(one.level == "RULED-OUT" for one in check_diff(RULES, diff.text, Place()))


def test_of_what_is_called_ruled_out_at_least_95_in_100_is() -> None:
    called = [one for one in EXAMPLES if ruled_out(one)]
    right = sum(one.violation for one in called)
    missed = [one.name for one in EXAMPLES if one.violation and one not in called]
    wrong = Counter(one.kind for one in called if not one.violation)
    assert right / len(called) >= 0.95, (wrong, [one.name for one in called if not one.violation])
    assert right >= 0.9 * 33, missed


@pytest.mark.parametrize("case", CASES, ids=[case.rule.id for case in CASES])
def test_a_finding_names_the_line(case: object) -> None:
    (diff,) = (one for one in EXAMPLES if one.name == f"{case.rule.id}-add-0")  # type: ignore[attr-defined]
    (found,) = check_diff(RULES, diff.text, Place())
    assert (found.path, found.line) == (case.file, 3)  # type: ignore[attr-defined]


def test_lines_are_numbered_as_in_the_new_file() -> None:
    text = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n@@ -10 +11 @@\n-e\n+f\n"
    (file,) = read_diff(text)
    assert [(line.number, line.text) for line in file.added] == [(2, "c"), (3, "d"), (11, "f")]


def test_a_removed_comment_of_sql_is_no_new_file() -> None:
    text = "diff --git a/q.sql b/q.sql\n--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,1 @@\n--- old note\n+select 1\n"
    (file,) = read_diff(text)
    assert (file.path, [line.text for line in file.added]) == ("q.sql", ["select 1"])


def test_removed_files_and_garbage_are_nothing() -> None:
    assert read_diff("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-import redis\n") == []
    assert read_diff("@@ nonsense\n+++\n---\n") == []
    assert not is_diff("+++ this is no diff")
