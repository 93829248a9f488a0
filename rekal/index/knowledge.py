"""The knowledge layer: what the prose tracked at HEAD says, as passages that recall can point to.

One ``rev-parse`` tells whether HEAD's tree is the one indexed. When it is not, the tree is listed, and only files whose
blob is new are read, all in one ``cat-file``. Work in progress is not indexed: what counts is what is committed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from rekal.errors import GitError
from rekal.git import Repo, split_at_nul
from rekal.git.repo import measure_objects, read_objects
from rekal.index import index_tables
from rekal.index.bm25 import find_occurrences, score_kind, term_weights
from rekal.index.freshness import KNOWLEDGE, KNOWLEDGE_VERSION, head_tree
from rekal.index.reader import IndexedText, IndexReader
from rekal.index.writer import Doc, Writer, insert_index_rows, remove_docs
from rekal.plain_text import lazy_pattern
from rekal.store.database import Connection

if TYPE_CHECKING:  # a recall, which only searches, does without what cuts
    from rekal.index.prose import ProsePassage
    from rekal.store.ledger import Ledger

Scrub = Callable[[str], str]
Warn = Callable[[str], None]

_PROSE_SUFFIXES = frozenset({".md", ".mdx", ".markdown", ".rst", ".txt", ".adoc", ".asciidoc"})

# Lists for machines that go by .txt.
_NO_PROSE = lazy_pattern(
    r"(^|/)(cmakelists|robots|([^/]*[-_.])?(requirements|constraints)([-_.][^/]*)?)\.txt$|(^|/)node_modules/",
    re.IGNORECASE,
)

_LARGEST_FILE = 512 << 10  # bytes: what is larger was not written by a person
_BATCH_BYTES = 16 << 20
_MOST_SESSIONS = 5


class ProseFile(msgspec.Struct, frozen=True):
    """A tracked file of prose."""

    path: str
    blob: str
    size: int


class FoundPassage(msgspec.Struct, frozen=True):
    """A passage that bears on a question.

    ``score`` is BM25 among passages; ``coverage`` the idf-weighted share of the question's terms that stand in it,
    absolute. ``sessions`` are ids of the sessions that touched the file, newest first, at most five.
    """

    path: str
    start: int
    end: int
    text: str
    score: float
    coverage: float
    sessions: tuple[str, ...]


def covers_tree(reader: IndexReader, tree: str) -> bool:
    """True if the index has the prose of ``tree``, named as :func:`head_tree` does."""
    return reader.state.get(KNOWLEDGE) == tree


def knowledge_part(repo: Repo, scrub: Scrub, warn: Warn) -> Callable[[Ledger, Connection, int], None]:
    """Part of the index for :func:`rekal.index.build.update_index`; ``warn`` gets what git refuses."""

    def part(ledger: Ledger, con: Connection, covered: int) -> None:
        refresh_knowledge(con, repo, head_tree(repo), scrub, warn)

    return part


def refresh_knowledge(con: Connection, repo: Repo, tree: str, scrub: Scrub, warn: Warn) -> None:
    """Make the passages in an open index those of ``tree``. The caller owns the transaction."""
    state = index_tables.read_state(con).get(KNOWLEDGE, "")
    if state == tree:
        return
    try:
        files = {file.path: file for file in list_prose(repo, tree.partition(":")[2])}
    except GitError as error:
        warn(f"the prose tracked at HEAD was not indexed: {error}")
        return
    known: dict[str, str] = {}
    if state.startswith(f"{KNOWLEDGE_VERSION}:"):
        known = {str(path): str(blob) for path, blob in con.execute("SELECT path, blob FROM knowledge").fetchall()}
    # A file whose name holds a secret is left out: no other name would lead back to it.
    changed = [file for path, file in sorted(files.items()) if known.get(path) != file.blob and scrub(path) == path]
    gone = [path for path in known if path not in files]
    _remove(con, None if not known else [*gone, *(file.path for file in changed)])
    _add(con, repo, changed, scrub)
    index_tables.write_state(con, {KNOWLEDGE: tree})


def is_prose(path: str) -> bool:
    """True if a tracked path is a text for people."""
    return PurePosixPath(path).suffix.lower() in _PROSE_SUFFIXES and not _NO_PROSE.search(path)


def list_prose(repo: Repo, tree: str) -> list[ProseFile]:
    """The files of prose in a tree, too large ones, links and submodules left out."""
    if not tree:
        return []
    files = []
    for line in split_at_nul(repo.run_raw("ls-tree", "-r", "-z", "--full-tree", tree, timeout=60.0)):
        head, _, path = line.partition("\t")
        mode, _, blob = head.split()
        if mode.startswith("100") and is_prose(path):
            files.append((path.encode("utf-8", "replace").decode(), blob))
    # Sizes are asked apart: `ls-tree -l` would fetch what a partial clone lacks, and such files are left out.
    sizes = {blob: size for blob, (_, size) in measure_objects(repo, [blob for _, blob in files]).items()}
    small = {blob: size for blob, size in sizes.items() if size <= _LARGEST_FILE}
    return [ProseFile(path, blob, small[blob]) for path, blob in files if blob in small]


def _remove(con: Connection, paths: Sequence[str] | None) -> None:
    """Take files out of the index; None for all."""
    if paths is None:
        remove_docs(con, "knowledge", "true")
        con.execute("DELETE FROM knowledge")
    elif paths:
        remove_docs(con, "knowledge", "list_contains(?, regexp_replace(key, ':[0-9]+-[0-9]+$', ''))", [list(paths)])
        con.execute("DELETE FROM knowledge WHERE list_contains(?, path)", [list(paths)])


def _add(con: Connection, repo: Repo, files: Sequence[ProseFile], scrub: Scrub) -> None:
    from rekal.index.prose import cut_prose

    writer = Writer(con)
    rows: list[tuple[object, ...]] = []
    for batch in _batches(files):
        blobs = read_objects(repo, sorted({file.blob for file in batch}))
        for file in batch:
            if file.blob in blobs:
                found = cut_prose(file.path, _decode_file(blobs[file.blob]))
                writer.add([_doc(file.path, one, scrub) for one in found])
                rows.append((file.path, file.blob))
    writer.flush()
    insert_index_rows(con, "knowledge", ("VARCHAR", "VARCHAR"), rows)


def _doc(path: str, one: ProsePassage, scrub: Scrub) -> Doc:
    # The headings above stand in every passage of a section: a long one is found by its topic, too.
    trail = " > ".join(one.trail)
    return Doc("knowledge", scrub(f"{trail}\n{one.text}" if trail else one.text), key=f"{path}:{one.start}-{one.end}")


def _batches(files: Sequence[ProseFile]) -> Iterable[list[ProseFile]]:
    batch: list[ProseFile] = []
    for file in files:
        if batch and sum(one.size for one in batch) + file.size > _BATCH_BYTES:
            yield batch
            batch = []
        batch.append(file)
    if batch:
        yield batch


def _decode_file(data: bytes) -> str:
    """A file's text; empty for what is none (binary, or a pointer to a large file kept elsewhere)."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if b"\0" in data or data.startswith(b"version https://git-lfs"):
        return ""
    return data.decode("utf-8-sig", "replace")


def search_knowledge(reader: IndexReader, terms: Sequence[str], limit: int = 3) -> list[FoundPassage]:
    """The passages that bear most on ``terms`` (analysed, see :func:`rekal.index.text.query_terms`), best first."""
    units = reader.units("knowledge")
    if not len(units) or not terms:
        return []
    postings = reader.postings(list(dict.fromkeys(terms)))
    scores = score_kind(reader, postings, "knowledge")
    found = find_occurrences(postings, units)
    weights = term_weights(found.df, len(units))
    held = np.bincount(found.place, weights[found.term], minlength=len(units)) / max(float(weights.sum()), 1e-9)
    # A few more than asked for: equal scores are ordered by path, which only the documents know.
    order = np.lexsort((units.doc, -scores))[: limit + 50]
    order = order[scores[order] > 0]
    found_at = {int(units.doc[at]): at for at in order}
    made = [
        _read_passage(one, scores[found_at[one.doc_id]], held[found_at[one.doc_id]])
        for one in reader.texts(list(found_at))
    ]
    best = sorted(made, key=lambda one: (-one.score, one.path, one.start))[:limit]
    return [msgspec.structs.replace(one, sessions=sessions_of(reader, one.path)) for one in best]


def _read_passage(one: IndexedText, score: float, coverage: float) -> FoundPassage:
    path, _, span = (one.key or "").rpartition(":")
    start, _, end = span.partition("-")
    return FoundPassage(path, int(start), int(end), one.text, float(score), float(coverage), ())


def sessions_of(reader: IndexReader, path: str) -> tuple[str, ...]:
    """Ids of the sessions that touched a file, newest first."""
    rows = reader.rows(
        """SELECT session_id FROM session_files JOIN facets USING (session_ord) WHERE path = ?
           ORDER BY started_at DESC NULLS LAST, session_id LIMIT ?""",
        [path, _MOST_SESSIONS],
    )
    return tuple(str(row[0]) for row in rows)
