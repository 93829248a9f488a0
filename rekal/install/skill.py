"""The skill that teaches Claude Code how to ask."""

from __future__ import annotations

from pathlib import Path

from rekal import files
from rekal.git import Repo
from rekal.install import exclude
from rekal.install.lines import MARKER
from rekal.install.manifest import Journal

NAME = ".claude/skills/rekal/SKILL.md"
_TEXT = Path(__file__).with_name("SKILL.md")


def install_skill(repo: Repo, tree: Path, journal: Journal) -> str | None:
    """Write the skill, out of git's sight. Returns what kept it from being written, or None."""
    path = tree / NAME
    if not files.stays_below(path, tree):
        return f"{NAME} is behind a link to something outside the repository and was left alone"
    text, before = _TEXT.read_bytes(), files.read_or_empty(path)
    if before == text:
        return None
    # A skill of the same name without our mark is the user's own.
    if files.name_is_taken(path) and MARKER.encode() not in before:
        return f"{NAME} is not rekal's and was left alone"
    try:
        if not files.name_is_taken(path):
            exclude.add_patterns(repo, journal, exclude.exact_pattern("/".join(NAME.split("/")[:-1])) + "/")
            journal.creates(path)
        files.write_through_link(path, text)
    except OSError as error:
        return f"{NAME} cannot be written ({error.strerror})"
    return None


def uninstall_skill(tree: Path, journal: Journal) -> str | None:
    """Remove the skill if it is ours. Returns its name when it was."""
    path = tree / NAME
    if not files.stays_below(path, tree):
        return None
    files.remove_unfinished(path)
    if MARKER.encode() not in files.read_or_empty(path):
        return None
    path.unlink()
    journal.forget(path)
    return NAME
