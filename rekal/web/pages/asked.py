"""The two records between the server and a page: what was asked of it, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from rekal.app.context import App
from rekal.app.desk import Desk
from rekal.git import Repo

_LONGEST_NUMBER = 9  # digits


class Asked(msgspec.Struct, frozen=True):
    """One request: the parts of its path, its query and, when it changes something, its form, all as text.

    ``fragment``: the page asks for a part of itself, and nobody sees the answer by itself.
    """

    place: ServedClone
    path: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str]
    fragment: bool = False

    def word(self, name: str) -> str:
        """A text of the query or the form without blanks around it; empty where it is left out."""
        return (self.form.get(name) or self.query.get(name) or "").strip()

    def number(self, name: str, default: int = 0, least: int = 0) -> int:
        """A whole number of the path or the query; ``default`` for anything else."""
        text = self.path.get(name) or self.query.get(name) or ""
        whole = text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER
        return max(least, int(text)) if whole else default


class ServedClone(msgspec.Struct, frozen=True):
    """The clone whose page is served. Settings are read anew for each request."""

    repo: Repo
    home: Path
    env: Mapping[str, str]

    def app(self) -> App:
        """Return the app of this clone."""
        return App(self.repo, self.home, self.env)

    def desk(self) -> Desk:
        """Return the desk at which memories are read and written."""
        return Desk(self.home, self.env, self.app(), "web")


class PageView(msgspec.Struct, frozen=True):
    """An answer: a template with its fields; or with ``see`` the path of another page, after a change."""

    template: str = ""
    fields: Mapping[str, object] = {}
    status: int = 200
    see: str = ""


Route = tuple[str, str, Callable[[Asked], PageView]]
"""Method, path as Starlette writes it, and the function that answers."""
