"""index.db: its tables, and the few facts it keeps about itself.

``docs`` are the searchable units. A ``turn`` has a session and a place in it; a ``facet`` is one document a session
made of its paths, commands, branch, steering and commit subjects; the other kinds carry their own ``key``. A document's
id never changes while it lives; ids of removed documents stay unused until the next full build.

``postings`` hold no document frequency: it is counted from the postings a query reads, per kind, so that adding
memories never moves the scores of turns. A full build writes them ordered by term, so a query's terms touch few row
groups; later additions follow unordered.

``terms.key`` is half of the term's MD5: looking up a question's terms among half a million takes a tenth of the time by
number.

``chunks`` names, by half of its MD5, the text that the vector of a turn is made of (:mod:`rekal.index.vectors`).

``speech`` says who speaks in a turn, where the turns of a session begin with names (:mod:`rekal.index.facets`).

``knowledge`` lists the tracked files whose passages are documents of that kind, by the blob they were read from.

``cooccurrence`` is a view: files that sessions touched together, always what ``session_files`` says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rekal.store.guard import OurTables

if TYPE_CHECKING:  # the driver takes 20 ms to load, and who only asks for the version needs none
    from rekal.store.database import Connection

SCHEMA_VERSION = 5

Kind = Literal["turn", "facet", "memory", "document", "knowledge"]
KINDS: tuple[Kind, ...] = ("turn", "facet", "memory", "document", "knowledge")
ROLES = ("human", "steering", "assistant", "summary")

# A session that touched more files than this (a rename, a formatter) says nothing about which belong together.
_MOST_PAIRED_FILES = 60


def _enum(values: tuple[str, ...]) -> str:
    return ", ".join(f"'{value}'" for value in values)


_TABLES = (
    f"CREATE TYPE doc_kind AS ENUM ({_enum(KINDS)})",
    f"CREATE TYPE turn_role AS ENUM ({_enum(ROLES)})",
    """CREATE TABLE docs (
        doc_id INTEGER NOT NULL, kind doc_kind NOT NULL, session_ord INTEGER, session_id VARCHAR, seq INTEGER,
        role turn_role, key VARCHAR, length INTEGER NOT NULL, text VARCHAR NOT NULL, occurred_at TIMESTAMP)""",
    "CREATE TABLE terms (term_id INTEGER NOT NULL, key UBIGINT NOT NULL, term VARCHAR NOT NULL)",
    "CREATE TABLE postings (term_id INTEGER NOT NULL, doc_id INTEGER NOT NULL, tf INTEGER NOT NULL)",
    """CREATE TABLE facets (
        session_ord INTEGER NOT NULL, session_id VARCHAR NOT NULL, agent VARCHAR NOT NULL, actor VARCHAR NOT NULL,
        agent_type VARCHAR, author_name VARCHAR NOT NULL, author_email VARCHAR NOT NULL, origin VARCHAR NOT NULL,
        parent_id VARCHAR, branch VARCHAR, title VARCHAR, merged BOOLEAN, turns INTEGER NOT NULL,
        human_turns INTEGER NOT NULL, started_at TIMESTAMP, ended_at TIMESTAMP, branches VARCHAR[] NOT NULL,
        commits VARCHAR[] NOT NULL, files VARCHAR[] NOT NULL, commands VARCHAR[] NOT NULL)""",
    "CREATE TABLE chunks (doc_id INTEGER NOT NULL, chunk UBIGINT NOT NULL)",
    """CREATE TABLE speech (
        session_ord INTEGER NOT NULL, doc_id INTEGER NOT NULL, says VARCHAR NOT NULL, hears VARCHAR)""",
    "CREATE TABLE knowledge (path VARCHAR NOT NULL, blob VARCHAR NOT NULL)",
    "CREATE TABLE session_files (session_ord INTEGER NOT NULL, path VARCHAR NOT NULL)",
    """CREATE TABLE session_commits (
        session_ord INTEGER NOT NULL, git_sha VARCHAR NOT NULL, subject VARCHAR, first_seq INTEGER NOT NULL,
        last_seq INTEGER NOT NULL)""",
    f"""CREATE VIEW cooccurrence AS
        WITH narrow AS (
            SELECT session_ord FROM session_files GROUP BY session_ord HAVING count(*) <= {_MOST_PAIRED_FILES})
        SELECT a.path AS file_a, b.path AS file_b, count(*) AS sessions
        FROM session_files a JOIN session_files b USING (session_ord) JOIN narrow USING (session_ord)
        WHERE a.path <> b.path GROUP BY ALL""",
    """CREATE TABLE opened (
        session_id VARCHAR NOT NULL, opened_count INTEGER NOT NULL, surfaced_count INTEGER NOT NULL,
        top_query VARCHAR)""",
    "CREATE TABLE state (key VARCHAR NOT NULL, value VARCHAR NOT NULL)",
)


def create_tables(con: Connection) -> None:
    """Make the tables of an empty index."""
    for statement in _TABLES:
        con.execute(statement)


INDEX_TABLES = OurTables(SCHEMA_VERSION, "state", lambda con, _: create_tables(con), only_latest=True)
"""The tables of an index, as :func:`rekal.store.guard.refuse_foreign_databases` wants them."""


def read_state(con: Connection) -> dict[str, str]:
    """All of ``state``: versions, ledger position, build time; other parts of the index add keys of their own."""
    return {str(key): str(value) for key, value in con.execute("SELECT key, value FROM state").fetchall()}


def write_state(con: Connection, values: dict[str, str]) -> None:
    """Set keys of ``state``."""
    con.execute("DELETE FROM state WHERE list_contains(?, key)", [list(values)])
    con.execute(
        "INSERT INTO state SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[])", [list(values), list(values.values())]
    )
