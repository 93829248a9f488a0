"""How an index stands to the ledger, to HEAD and to the analysis, told without loading what builds or searches one."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import Stemmer

from rekal.errors import StoreDamaged
from rekal.git import Repo
from rekal.index import index_tables
from rekal.store.database import Connection, duckdb, open_beside, quote_path, translated_errors

if TYPE_CHECKING:  # a recall, which looks at an open index, does without the ledger
    from rekal.store.ledger import Ledger

KNOWLEDGE = "knowledge"
"""Key of the index's state: the tree whose prose it has."""

KNOWLEDGE_VERSION = "1"
"""Of the passages; another one reads everything again."""


def head_tree(repo: Repo) -> str:
    """The name under which HEAD's prose is indexed; that of no files before the first commit."""
    return f"{KNOWLEDGE_VERSION}:{repo.ask('rev-parse', '--verify', '--quiet', 'HEAD^{tree}') or ''}"


def is_index_current(ledger: Ledger, index_path: Path, repo: Repo) -> bool:
    """True if an update of the index would change nothing."""
    if not index_path.exists():
        return False
    try:
        state = read_index_state(ledger.con, index_path)
    except StoreDamaged:
        return False
    covered = not reason_for_full(ledger, state) and int(state["position"]) == ledger.position()
    return covered and state.get(KNOWLEDGE) == head_tree(repo)


def read_position(index_path: Path) -> int | None:
    """The ledger position that index.db covers; None when there is no usable index."""
    if not index_path.exists():
        return None
    con = open_beside(index_path)
    try:
        return int(read_index_state(con, index_path)["position"])
    except StoreDamaged:
        return None
    finally:
        con.close()


def reason_for_full(ledger: Ledger, state: dict[str, str]) -> str:
    """Why an index with this state cannot be added to; empty when it can."""
    if state.get("schema_version") != str(index_tables.SCHEMA_VERSION) or state.get("analysis") != analysis_id():
        return "the index was made by another version"
    covered = int(state["position"])
    if state.get("store_id") != (ledger.meta("store_id") or "") or covered > ledger.position():
        return "the index belongs to another store"
    if int(ledger.meta("erased_at") or -1) > covered:
        return "something was taken out"
    forgotten = ledger.con.execute("SELECT 1 FROM tombstones WHERE pos > ? LIMIT 1", [covered]).fetchall()
    return "something was forgotten" if forgotten else ""


def read_index_state(con: Connection, index_path: Path) -> dict[str, str]:
    """Raises :class:`StoreDamaged` for a file that is no complete index."""
    # Attached to the connection at hand: a connection of its own costs 16 ms, a quarter of a small update.
    with name_damage(index_path):
        con.execute(f"ATTACH {quote_path(index_path)} AS standing (READ_ONLY)")
        try:
            state = dict(con.execute("SELECT key, value FROM standing.state").fetchall())
        finally:
            con.execute("DETACH standing")
    if "position" not in state:
        raise StoreDamaged(f"{index_path.name} is not a complete index")
    return state


@contextmanager
def name_damage(path: Path) -> Iterator[None]:
    """A table or column that is missing from a file nobody edits by hand is damage, too."""
    try:
        with translated_errors(path):
            yield
    except (duckdb.CatalogException, duckdb.BinderException, duckdb.PermissionException) as error:
        raise StoreDamaged(f"{path.name} is not a complete index ({str(error).splitlines()[0][:80]})") from error


# The name of the analysis, apart from the analysis: to compare it, no capture needs to load what cuts texts.

ANALYSIS_VERSION = 1


@cache
def analysis_id() -> str:
    """Names everything the terms depend on: an index built under another id must be built again."""
    return f"{ANALYSIS_VERSION}/snowball-{Stemmer.version()}/unicode-{unicodedata.unidata_version}"
