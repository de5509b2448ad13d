"""Corpora in files of dcomp's own, written: `dcounts` has what they look like."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from dcomp.atomic import StrPath, atomic_write, is_plain
from dcomp.data.counts import Counts, even_cut
from dcomp.errors import InvalidParameter
from dcomp.io.dcounts import MAGIC, PAGE, START, TYPES, VERSION
from dcomp.io.files import plain_name

ENTRIES = 1 << 24  # of a shard, unless it is said how many there are
_PIECE = 1 << 22  # bytes that are written at a time


def write_dcounts(counts: Counts, path: StrPath, *, shards: int | None = None) -> None:
    """Write counts to a .dcounts file: whole, or not at all. Its shards are the parts of the counts
    if these are cut, else as many as `shards` says, or one for about 17 million entries.

    >>> import tempfile
    >>> from dcomp.io.dcounts import open_corpus
    >>> counts = Counts.from_matrix([[2, 0], [1, 3], [0, 1]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_dcounts(counts, Path(folder, "pets.dcounts"), shards=3)
    ...     open_corpus(Path(folder, "pets.dcounts")).firsts
    (0, 1, 2)
    """
    if plain_name(Path(path)) != Path(path).name or not is_plain(path):
        raise InvalidParameter(
            f"{Path(path).name}: a .dcounts file is mapped, and cannot be packed or a pipe"
        )
    if counts.mapped is not None:
        counts.mapped.check()
    firsts = _cut(counts, shards)
    columns = list(_columns(counts))
    head = _head(counts, firsts)
    sums = [column.crc for column in columns]
    # No place has more digits than these have: the head has its length before they are known.
    length = len(_encoded(head, _placed(columns, 1 << 62, sums)))
    told = _encoded(head, _placed(columns, START.size + length, sums)).ljust(length)
    with atomic_write(path) as stream:
        stream.write(START.pack(MAGIC, length, zlib.crc32(told)))
        stream.write(told)
        for column in columns:
            stream.write(b"\0" * (-stream.tell() % PAGE))
            column.write(stream)


@dataclass
class _Column:
    """A section that is to be written: an array, piece by piece."""

    name: str
    kind: str
    values: NDArray[Any]
    crc: int = field(init=False)

    def __post_init__(self) -> None:
        self.crc = 0
        for piece in self.pieces():
            self.crc = zlib.crc32(piece, self.crc)

    @property
    def size(self) -> int:
        return len(self.values) * np.dtype(TYPES[self.kind]).itemsize

    def pieces(self) -> Iterator[memoryview]:
        """Its bytes."""
        dtype = np.dtype(TYPES[self.kind])
        each = _PIECE // dtype.itemsize
        for start in range(0, len(self.values), each):
            part = np.ascontiguousarray(self.values[start : start + each], dtype)
            yield part.view(np.uint8).data

    def write(self, stream: IO[bytes]) -> None:
        """To a file."""
        for piece in self.pieces():
            stream.write(piece)


def _cut(counts: Counts, shards: int | None) -> tuple[int, ...]:
    if shards is None:
        if len(counts.firsts) > 1:
            return counts.firsts
        shards = min(max(math.ceil(counts.nnz / ENTRIES), 1), counts.n_docs)
    whole = isinstance(shards, int) and not isinstance(shards, bool)
    if not whole or not 1 <= shards <= counts.n_docs:
        raise InvalidParameter(
            f"shards must be a whole number from 1 to the number of documents, {counts.n_docs}; "
            f"got {shards!r}"
        )
    return even_cut(counts.indptr, shards)


def _columns(counts: Counts) -> Iterator[_Column]:
    """All sections, in the order of the file."""
    features = counts.features
    yield _Column("blocks", "int32", features.blocks)
    for name, names in (
        ("names", features.names),
        ("block_names", features.block_names),
        ("ids", counts.doc_ids),
    ):
        if names is not None:
            yield from _texts(name, names)
    for number, column in enumerate(counts.attributes.values()):
        place = f"attributes/{number}"
        if column.dtype.kind == "O":
            yield from _texts(place, column.tolist())
        else:
            yield _Column(place, column.dtype.name, column)
    yield _Column("indptr", "int64", counts.indptr)
    yield _Column("indices", "int32", counts.indices)
    yield _Column("data", "float64" if counts.is_fractional else "int32", counts.data)


def _texts(name: str, texts: Iterable[str | None]) -> Iterator[_Column]:
    listed = list(texts)
    lengths = np.fromiter((-1 if t is None else len(t) for t in listed), np.int32, len(listed))
    content = "".join(t for t in listed if t is not None).encode("utf-8", "surrogatepass")
    yield _Column(f"{name}/lengths", "int32", lengths)
    yield _Column(f"{name}/text", "text", np.frombuffer(content, np.uint8))


def _head(counts: Counts, firsts: tuple[int, ...]) -> dict[str, Any]:
    about = [
        [name, "text" if column.dtype.kind == "O" else column.dtype.name]
        for name, column in counts.attributes.items()
    ]
    return {
        "version": VERSION,
        "documents": counts.n_docs,
        "features": counts.n_features,
        "blocks": counts.features.n_blocks,
        "entries": counts.nnz,
        "tokens": counts.n_tokens,
        "fractional": counts.is_fractional,
        "firsts": list(firsts),
        "attributes": about,
        "text": None if counts.text is None else asdict(counts.text),
        "vocabulary": None if counts.vocabulary is None else asdict(counts.vocabulary),
        "empty_is_missing": counts.empty_is_missing,
    }


def _placed(columns: list[_Column], after: int, sums: list[int]) -> dict[str, list[Any]]:
    """Where each section begins, how long it is, its sum and its kind."""
    placed, end = {}, after
    for column, crc in zip(columns, sums, strict=True):
        start = end + -end % PAGE
        placed[column.name] = [start, column.size, crc, column.kind]
        end = start + column.size
    return placed


def _encoded(head: dict[str, Any], sections: dict[str, list[Any]]) -> bytes:
    return json.dumps({**head, "sections": sections}).encode()
