"""Names and prose: one name for one thing, docstrings that begin with a verb or a noun, comments that say why.

``AIMS`` is where the code shall be, ``BOUNDS`` where it is: a bound is only ever lowered.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "rekal"
MOST_MODULES = 26  # in one folder

AIMS = {
    "public names in two modules": 5,
    "private names in two modules": 15,
    "one-word public functions, %": 25,
    "public functions used by one module, %": 28,
    "docstrings that open with a clause, %": 3,
    "files of one stem": 0,
    "modules named with -ing": 0,
    "names with a vague word": 0,
}
BOUNDS = {
    "public names in two modules": 5,
    "private names in two modules": 15,
    "one-word public functions, %": 25,
    "public functions used by one module, %": 28,
    "docstrings that open with a clause, %": 3,
    "files of one stem": 0,
    "modules named with -ing": 0,
    "names with a vague word": 3,
}
LEAST_COMMENTS = 29  # of 1,000 lines: the aim, less what a larger change may bring
COMMENTS_AIM = 30

CLAUSES = {"What", "Which", "Whether", "How", "Who", "Whose", "Whom", "Where", "Those"}
# Each of them leaves the reader to guess what is meant: say the thing itself.
VAGUE = {"known", "said", "standing", "acts", "traces", "news", "told"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


def module_name(path: Path) -> str:
    return ".".join(["rekal", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__")


def top_names() -> dict[str, set[str]]:
    """Functions and classes by name, with the modules that define them. ``command`` is every verb's entry."""
    found: dict[str, set[str]] = defaultdict(set)
    for path, tree in trees().items():
        for node in tree.body:
            if isinstance(node, Function | ast.ClassDef) and node.name not in ("command", "main"):
                found[node.name].add(module_name(path))
    return found


def public_functions() -> list[tuple[str, str]]:
    return [
        (module_name(path), node.name)
        for path, tree in trees().items()
        for node in tree.body
        if isinstance(node, Function) and not node.name.startswith("_")
    ]


def importers() -> dict[tuple[str, str], set[str]]:
    """The modules that import a name from a module."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    found[node.module, alias.name].add(module_name(path))
    return found


def docstrings() -> Iterator[tuple[str, str]]:
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, Function | ast.ClassDef) and (text := ast.get_docstring(node)):
                yield f"{module_name(path)}.{node.name}", text


def shared_names(*, private: bool) -> list[str]:
    return [n for n, modules in top_names().items() if len(modules) > 1 and n.startswith("_") is private]


def one_word_functions() -> list[str]:
    lower = [name for name in top_names() if name[:1].islower()]
    return [name for name in lower if "_" not in name]


def clause_docstrings() -> list[str]:
    return [place for place, text in docstrings() if text.split()[0].strip("`*_") in CLAUSES]


def repeated_stems() -> list[str]:
    """File names that stand in two rooms. In ``agents/*/`` and ``verbs/`` the folder is what tells them apart."""
    stems = Counter(
        path.stem
        for path in trees()
        if path.name not in ("__init__.py", "__main__.py")
        and "verbs" not in path.parts
        and not (path.parent.parent.name == "agents" and path.parent.name != "formats")
    )
    return [stem for stem, count in stems.items() if count > 1]


def modules_with_ing() -> list[str]:
    """Modules named after an activity: a module is named after what it holds."""
    return [str(path.relative_to(PACKAGE)) for path in trees() if path.stem.endswith("ing")]


def vague_names() -> list[str]:
    found = {
        f"{module_name(path)}: {node.name}"
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, Function | ast.ClassDef) and VAGUE & set(split_words(node.name))
    }
    return sorted(found)


def split_words(name: str) -> list[str]:
    return [word.lower() for part in name.split("_") for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", part)]


def comments_per_thousand_lines() -> float:
    comments = lines = 0
    for path in trees():
        text = path.read_text("utf-8")
        lines += text.count("\n")
        comments += sum(t.type == tokenize.COMMENT for t in tokenize.generate_tokens(io.StringIO(text).readline))
    return 1000 * comments / lines


@cache
def figures() -> dict[str, float]:
    functions, used = public_functions(), importers()
    lower = [name for name in top_names() if name[:1].islower()]
    return {
        "public names in two modules": len(shared_names(private=False)),
        "private names in two modules": len(shared_names(private=True)),
        "one-word public functions, %": 100 * len(one_word_functions()) / len(lower),
        "public functions used by one module, %": 100 * sum(len(used[f]) == 1 for f in functions) / len(functions),
        "docstrings that open with a clause, %": 100 * len(clause_docstrings()) / len(list(docstrings())),
        "files of one stem": len(repeated_stems()),
        "modules named with -ing": len(modules_with_ing()),
        "names with a vague word": len(vague_names()),
    }


def test_names_get_no_worse() -> None:
    worse = {what: found for what, found in figures().items() if found > BOUNDS[what]}
    hints = {
        "public names in two modules": sorted(shared_names(private=False)),
        "files of one stem": repeated_stems(),
        "modules named with -ing": modules_with_ing(),
        "names with a vague word": vague_names(),
    }
    assert worse == {}, {what: hints.get(what, "") for what in worse}


def test_bounds_and_aims_are_about_the_same_figures() -> None:
    assert set(BOUNDS) == set(AIMS) == set(figures())
    assert all(BOUNDS[what] >= AIMS[what] for what in AIMS)


def test_comments_get_no_fewer() -> None:
    assert comments_per_thousand_lines() >= LEAST_COMMENTS


def test_a_folder_can_be_looked_over() -> None:
    folders = Counter(path.parent for path in trees() if path.name != "__init__.py")
    assert {str(folder): n for folder, n in folders.items() if n > MOST_MODULES} == {}


def main() -> None:
    """Print the figures beside their bounds and aims: ``python -m tests.house.test_names``."""
    for what, found in figures().items():
        print(f"{what:42} {found:6.1f}   bound {BOUNDS[what]:3}   aim {AIMS[what]:3}")
    print(f"comments in 1,000 lines: {comments_per_thousand_lines():.1f}, least {LEAST_COMMENTS}, aim {COMMENTS_AIM}")


if __name__ == "__main__":
    main()
