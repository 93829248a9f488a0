"""Vectors of turns, in a file a model beside index.db that outlives it.

One vector a turn, of its first :data:`HEAD` characters: on real sessions that ranks and gates as well as all of the
text, at two fifths of the cost, and the gate's weights are trained on just these. A vector is keyed by a hash of the
text it was made of, so nothing is embedded twice: not a text said in two sessions, not after ``index --full``. The file
is only ever appended to, since copying 14,000 vectors with every capture would cost more than the capture. Models
never mix, because each has a file of its own.

A file is a head of 512 bytes (:class:`_Head`), then records of an unsigned 64-bit key and ``dim`` float32, all
little-endian. A record that a crash left incomplete is cut off by the next writer and not seen by readers.
"""

from __future__ import annotations

import contextlib
import os
import re
import struct
from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import blake2b, md5
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from rekal.embed.base import Embedder, Vectors
from rekal.errors import StoreDamaged, StoreUnwritable
from rekal.files import write_atomically
from rekal.index.reader import open_index
from rekal.store.database import Connection
from rekal.store.locks import hold_lock

Keys = NDArray[np.uint64]
Places = NDArray[np.int64]

HEAD = 300  # characters
BITE = 128  # texts embedded between two appends: a few seconds of one core

_MAGIC = b"rekalvec"
_HEAD = struct.Struct("<8sII496s")  # magic, version, dim, model id
_VERSION = 1


def write_chunks(con: Connection, first: int) -> None:
    """Note for each turn from document ``first`` on which text its vector is made of."""
    con.execute(
        f"""INSERT INTO chunks SELECT doc_id, md5_number_lower(left(text, {HEAD})) FROM docs
            WHERE kind = 'turn' AND doc_id >= {first} ORDER BY doc_id"""
    )


class VectorFile:
    """The vectors of one model, mapped into memory as they were when the file was opened.

    ``keys`` and ``matrix`` (float32 ``[n, dim]``, unit rows) are parallel.
    """

    def __init__(self, path: Path) -> None:
        """Raises :class:`StoreDamaged` for a file that is none of ours, FileNotFoundError without one."""
        self.path = path
        with path.open("rb") as file:
            self.model_id, self.dim = _read_head(file.read(_HEAD.size), path)
            kept = os.fstat(file.fileno())
            count = (kept.st_size - _HEAD.size) // _record_size(self.dim)
            self.identity = path, kept.st_ino, kept.st_mtime_ns, count
            width = _record_size(self.dim) // 4
            mapped = np.memmap(file, "<f4", "r", _HEAD.size, (count, width)) if count else np.zeros((0, width), "<f4")
        # The key takes the first two columns; BLAS reads the others in place, whatever the distance between rows.
        self.matrix: Vectors = np.asarray(mapped)[:, 2:]
        self._mapped = np.asarray(mapped)

    def __len__(self) -> int:
        return len(self.matrix)

    @cached_property
    def keys(self) -> Keys:
        return np.ascontiguousarray(self._mapped[:, :2]).view("<u8").ravel()


def _record_size(dim: int) -> int:
    return 8 + 4 * dim


def _read_head(data: bytes, path: Path) -> tuple[str, int]:
    if len(data) < _HEAD.size or not data.startswith(_MAGIC):
        raise StoreDamaged(f"{path.name} is no file of vectors", f"remove {path}")
    _, version, dim, name = _HEAD.unpack(data)
    if version != _VERSION or not 0 < dim < 1 << 16:
        raise StoreDamaged(f"{path.name} was made by another version of rekal", f"remove {path}")
    return name.rstrip(b"\0").decode("utf-8", "replace"), dim


def path_for(directory: Path, model_id: str) -> Path:
    """Path of the file with the vectors of a model."""
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", model_id)[:60].strip("-")
    return directory / f"{readable}-{blake2b(model_id.encode(), digest_size=4).hexdigest()}.vec"


def open_vectors(directory: Path, model_id: str) -> VectorFile | None:
    """The vectors of a model; None when nothing has been embedded with it."""
    try:
        return VectorFile(path_for(directory, model_id))
    except FileNotFoundError:
        return None


def find_vectors(directory: Path, model_id: str) -> Path | None:
    """The file of the model whose id is, or begins with, ``model_id``; the one written last when there are several."""
    exact = path_for(directory, model_id)
    if exact.exists():
        return exact
    found = [path for path in directory.glob("*.vec") if _model_of(path).startswith(model_id)]
    return max(found, key=lambda path: (path.stat().st_mtime_ns, path.name), default=None)


def _model_of(path: Path) -> str:
    with path.open("rb") as file:
        return _read_head(file.read(_HEAD.size), path)[0]


class Progress(msgspec.Struct, frozen=True):
    """Distinct texts of turns: how many there are, and how many of them have a vector."""

    done: int
    total: int


def _have(directory: Path, model_id: str) -> Keys:
    vectors = open_vectors(directory, model_id)
    return vectors.keys if vectors is not None else np.empty(0, np.uint64)


def count_vectors(index_path: Path, vectors: Path | None) -> Progress:
    """Count all texts, and those with a vector in the file ``vectors``. Raises the errors of :func:`open_index`."""
    wanted = chunk_keys(index_path)
    have = VectorFile(vectors).keys if vectors is not None else np.empty(0, np.uint64)
    return Progress(int(np.isin(wanted, have).sum()), len(wanted))


def embed_missing(
    index_path: Path,
    directory: Path,
    embedder: Embedder,
    report: Callable[[Progress], None] = lambda count_vectors: None,
    more: Callable[[], bool] = lambda: True,
) -> Progress:
    """Embed what has no vector yet, what people said first and newest first, in bites that each are kept.

    Stops when ``more`` says so; calling it again goes on. Raises :class:`StoreBusy` when another process is at it, and
    EngineError.
    """
    # Not its parents: a worker that outlives `rekal clean` must not bring the store back.
    with contextlib.suppress(FileNotFoundError):
        directory.mkdir(exist_ok=True)
    with hold_lock(directory / "filling.lock", wait=0, purpose="embedding"):
        while True:
            before = _identity(index_path)
            keys, texts, now = _bite(index_path, directory, embedder.model_id)
            report(now)
            if not texts or not more():
                return now
            _append_bite(directory, embedder.model_id, keys, embedder.embed_documents(texts), index_path, before)


def _bite(index_path: Path, directory: Path, model_id: str) -> tuple[Keys, list[str], Progress]:
    with open_index(index_path) as reader:
        have = np.unique(_have(directory, model_id))
        reader.con.register("have", {"chunk": have})
        rows = reader.columns(
            """SELECT chunk, min(doc_id) AS doc_id, max(role IN ('human', 'steering')) AS human,
                   max(occurred_at) AS newest
               FROM chunks JOIN docs USING (doc_id) ANTI JOIN have USING (chunk)
               GROUP BY chunk ORDER BY human DESC, newest DESC NULLS LAST, chunk"""
        )
        reader.con.unregister("have")
        total = reader.rows("SELECT count(DISTINCT chunk) FROM chunks")[0][0]
        texts = [text.text[:HEAD] for text in reader.texts(rows["doc_id"][:BITE].tolist())]
    return rows["chunk"][:BITE].astype(np.uint64), texts, Progress(total - len(rows["chunk"]), total)


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_ino, found.st_mtime_ns


def _append_bite(
    directory: Path, model_id: str, keys: Keys, vectors: Vectors, index_path: Path, before: tuple[int, int]
) -> None:
    with hold_lock(directory / "lock", wait=10.0, purpose="storing vectors"):
        if _identity(index_path) != before:
            # Something may have been forgotten while it was being embedded.
            kept = np.isin(keys, chunk_keys(index_path))
            keys, vectors = keys[kept], vectors[kept]
        append_vectors(directory, model_id, keys, vectors)


def text_key(text: str) -> int:
    """The key of the vector of all of ``text``: what DuckDB calls ``md5_number_lower``."""
    digest = md5(text.encode("utf-8", "replace"), usedforsecurity=False).digest()
    return int.from_bytes(digest[8:], "little")


def find_or_embed(directory: Path, embedder: Embedder, texts: Sequence[str], most: int) -> Vectors:
    """Unit vectors of ``texts``, float32 ``[n, dim]``; those not kept yet are made and kept, ``most`` at a time.

    A row of zeros is a text without a vector yet. For texts that are no turns: rules, memories. StoreBusy, EngineError.
    """
    keys = np.array([text_key(text) for text in texts], np.uint64)
    held = open_vectors(directory, embedder.model_id)
    places = _find_places(held, keys) if held is not None else np.full(len(keys), -1)
    lacking = [int(at) for at in np.unique(keys, return_index=True)[1] if places[at] < 0][:most]
    if lacking:
        made = embedder.embed_documents([texts[at] for at in lacking])
        directory.mkdir(exist_ok=True)
        with hold_lock(directory / "lock", wait=10.0, purpose="storing vectors"):
            append_vectors(directory, embedder.model_id, keys[lacking], made)
        held = open_vectors(directory, embedder.model_id)
        places = _find_places(held, keys) if held is not None else places
    if held is None:
        return np.zeros((len(texts), 1), np.float32)
    found = np.zeros((len(texts), held.dim), np.float32)
    found[places >= 0] = held.matrix[places[places >= 0]]
    return found


def _find_places(held: VectorFile, keys: Keys) -> Places:
    """Row of each key in a file of vectors; -1 for a key that it does not have."""
    sorted_keys, order = _sort_keys(held)
    at = np.searchsorted(sorted_keys, keys).clip(max=max(len(order) - 1, 0))
    return np.where(sorted_keys[at] == keys, order[at], -1) if len(order) else np.full(len(keys), -1)


_sorted_keys: dict[tuple[Path, int, int, int], tuple[Keys, Places]] = {}


def _sort_keys(held: VectorFile) -> tuple[Keys, Places]:
    """The keys of a file, sorted, and the row of each: kept for the daemon, of 200,000 they take 20 ms."""
    found = _sorted_keys.get(held.identity)
    if found is None:
        order = np.argsort(held.keys, kind="stable")
        found = held.keys[order], order
        if len(_sorted_keys) > 1:  # the repository's and the personal one
            _sorted_keys.clear()
        _sorted_keys[held.identity] = found
    return found


def append_vectors(directory: Path, model_id: str, keys: Keys, vectors: Vectors) -> None:
    """Add unit vectors, float32 ``[n, dim]``, by key to a model's file. The caller holds the directory's lock."""
    records = np.zeros(len(keys), _record(vectors.shape[1]))
    records["key"], records["vec"] = keys, vectors
    try:
        _append_records(path_for(directory, model_id), model_id, vectors.shape[1], records.tobytes())
    except OSError as error:
        raise StoreUnwritable(f"vectors cannot be written ({error.strerror})", "free some space") from None


def _record(dim: int) -> np.dtype[np.void]:
    return np.dtype([("key", "<u8"), ("vec", "<f4", (dim,))])


def _pack_head(dim: int, model_id: str) -> bytes:
    return _HEAD.pack(_MAGIC, _VERSION, dim, model_id.encode()[:496])


def _append_records(path: Path, model_id: str, dim: int, data: bytes) -> None:
    if not path.exists() or path.stat().st_size < _HEAD.size:
        path.write_bytes(_pack_head(dim, model_id))
    with path.open("r+b") as file:
        size = os.fstat(file.fileno()).st_size
        whole = size - (size - _HEAD.size) % _record_size(dim)
        file.truncate(whole)
        file.seek(whole)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def chunk_keys(index_path: Path) -> Keys:
    """Keys of all texts that vectors are wanted of, in order."""
    with open_index(index_path) as reader:
        return reader.columns("SELECT DISTINCT chunk FROM chunks ORDER BY chunk")["chunk"].astype(np.uint64)


def prune_vectors(index_path: Path, directory: Path) -> int:
    """Remove, for every model, the vectors of texts that the index no longer has; returns how many.

    To be called after something was forgotten and the index built anew. Files are replaced, so a reader is not upset.
    """
    if not directory.is_dir():
        return 0
    gone = 0
    with hold_lock(directory / "lock", wait=10.0, purpose="removing vectors"):
        keep = chunk_keys(index_path)
        for path in sorted(directory.glob("*.vec")):
            gone += _prune(path, keep)
    return gone


def _prune(path: Path, keep: Keys) -> int:
    vectors = VectorFile(path)
    kept = np.isin(vectors.keys, keep)
    if kept.all():
        return 0
    records = np.zeros(int(kept.sum()), _record(vectors.dim))
    records["key"], records["vec"] = vectors.keys[kept], vectors.matrix[kept]
    write_atomically(path, _pack_head(vectors.dim, vectors.model_id) + records.tobytes())
    return int((~kept).sum())
