"""Counts from a Dask collection, whose blocks stay on the workers and become the parts.

The client keeps a copy of the rows in a file without a name. It needs one: to make parts again when
a worker dies, and for what looks at all documents. Each block passes through its memory once, on
the way into that file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Hashable, Iterable, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from dcomp.data import Counts, FeatureSpace, frames
from dcomp.data.canonical import Rows, as_table, canonical_rows
from dcomp.data.mapped import Mapped
from dcomp.data.spooled import SpooledRows
from dcomp.errors import InvalidCounts, InvalidParameter
from dcomp.executors.dask_cluster import Cluster, distributed, persistent
from dcomp.executors.dask_worker import Kept

_PATIENCE = 60.0  # seconds to wait where there is no worker at all


def from_dask(
    collection: Any,
    client: Any,
    *,
    feature_names: Iterable[object] | None = None,
    doc_ids: Iterable[object] | None = None,
    blocks: Iterable[Hashable] | ArrayLike | None = None,
    fractional: bool = False,
    scratch: str | Path | None = None,
) -> Counts:
    """Counts w of a Dask array of scipy sparse blocks, documents by features, or of a Dask frame
    with a column for each feature, as `dask.dataframe.read_parquet` gives it.

    Its blocks of rows are computed and checked where they are, and become the parts of the counts:
    `DaskExecutor(client)` works on them there. The same parts in memory give the same bits. Counts
    go wherever counts go; a copy of the rows lies on the client in a file without a name, in the
    folder `scratch` or a temporary one. The other options are those of `Counts.from_matrix`.

    >>> blocks = dask.array.from_array(X, chunks=(1000, -1))  # doctest: +SKIP
    >>> counts = from_dask(blocks.map_blocks(scipy.sparse.csr_array), client)  # doctest: +SKIP
    >>> fit = dcomp.fit(counts, model, executor=DaskExecutor(client))  # doctest: +SKIP
    """
    if not isinstance(client, distributed().Client) or client.asynchronous:
        raise InvalidParameter(
            f"from_dask needs a distributed.Client that is not asynchronous; got {client!r}"
        )
    folder = Path(tempfile.gettempdir() if scratch is None else scratch)
    if not folder.is_dir():
        raise InvalidParameter(f"scratch must be a folder; {folder} is none")
    pieces, names = _pieces(collection)
    cluster = Cluster(client, _PATIENCE)
    given: Any = (feature_names, doc_ids, blocks)  # which can be asked for more than once
    about: Any = [None if values is None else list(values) for values in given]
    of_features, ids, of_blocks = about

    def attempt() -> Counts:
        work = _Reading(cluster, client.compute(pieces))
        return work.counts(names, of_features, ids, of_blocks, fractional, folder)

    made: Counts = persistent(cluster, attempt)
    return made


class HeldRows:
    """Rows that lie on workers, a future for each part; one of them where it is of a part."""

    def __init__(self, ends: Sequence[tuple[int, int]], futures: Sequence[Any]) -> None:
        self._by_ends = dict(zip(ends, futures, strict=True))

    def run(self, first: int, end: int) -> HeldRows | None:
        """Those of a part; of other runs of documents nothing is known."""
        future = self._by_ends.get((first, end))
        return None if future is None else HeldRows([(0, end - first)], [future])

    @property
    def future(self) -> Any:
        """Of the rows of a part."""
        (only,) = self._by_ends.values()
        return only

    def is_there(self, client: Any) -> bool:
        """Whether this client still has them, all of a part."""
        if len(self._by_ends) != 1:
            return False
        return self.future.client is client and self.future.status in ("finished", "pending")


class _Reading:
    """Blocks on the workers, on their way to counts."""

    def __init__(self, cluster: Cluster, futures: Sequence[Any]) -> None:
        self.cluster, self.futures = cluster, futures
        cluster.workers()  # and their versions, before the work

    def counts(
        self,
        names: Sequence[str] | None,
        feature_names: Iterable[object] | None,
        doc_ids: Iterable[object] | None,
        blocks: Any,
        fractional: bool,
        folder: Path,
    ) -> Counts:
        """Of all blocks, in their order."""
        all_features = feature_names is not None
        asked = [all_features] * len(self.futures)
        seen = self.cluster.bring(self._each("measure", measured, asked))
        n_features = _one_width([block.n_features for block in seen])
        firsts = [0, *accumulate(block.n_rows for block in seen)]
        features = FeatureSpace.build(
            n_features, names if feature_names is None else feature_names, blocks
        )
        ids = _ids(seen) if doc_ids is None else doc_ids
        how = [(first, fractional, all_features) for first in firsts[:-1]]
        rows = self._each("rows", block_rows, how)
        out = SpooledRows(folder, np.float64 if fractional else np.int32)
        for future in rows:
            out.add(self.cluster.bring([future])[0])
        there = out.mapped()
        held = HeldRows(list(pairwise(firsts)), rows)
        mapped = Mapped(there, n_features, folder, elsewhere=held)
        about: Any = {"doc_ids": None if ids is None else tuple(map(str, ids)), "mapped": mapped}
        return Counts(*there, features, firsts=tuple(firsts[:-1]), **about)

    def _each(self, name: str, function: Any, given: Iterable[Any]) -> list[Any]:
        both = enumerate(zip(self.futures, given, strict=True))
        made = [self.cluster.submit(name, function, block, n, how) for n, (block, how) in both]
        for future in made:  # one after the other: of several errors the first block's is told
            self.cluster.wait([future], ())
        return made


class Block(NamedTuple):
    """How large a block is, and the ids of its documents, where it has some."""

    n_rows: int
    n_features: int
    ids: Sequence[str] | None


def measured(block: Any, number: int, are_features: bool) -> Kept:
    """What a block is, or what is wrong with it."""
    table, ids = table_of(block, number, are_features)
    if not table.shape[0]:
        raise InvalidCounts(
            f"every block must have a row at least, because it becomes a part; block {number} has "
            "none: rechunk the collection"
        )
    return Kept(Block(table.shape[0], table.shape[1], ids))


def table_of(block: Any, number: int, are_features: bool = False) -> tuple[Any, Any]:
    """The table of a block, and the ids of its documents if it has some. are_features: whether all
    columns of a frame are.

    >>> table_of(sparse.csr_array([[0, 1]]), 0)[0].shape
    (1, 2)
    >>> table_of(np.eye(2), 3)
    Traceback (most recent call last):
    dcomp.errors.InvalidCounts: blocks must be scipy sparse matrices; block 3 is of type ndarray: \
map_blocks(scipy.sparse.csr_array) makes them so
    """
    if frames.is_frame(block):
        values, _, ids = frames.wide(block, are_features=are_features)
        return values, ids
    table: Any = block.to_scipy_sparse() if hasattr(block, "to_scipy_sparse") else block
    is_sparse: bool = sparse.issparse(table)
    if not is_sparse:
        raise InvalidCounts(
            f"blocks must be scipy sparse matrices; block {number} is of type "
            f"{type(block).__name__}: map_blocks(scipy.sparse.csr_array) makes them so"
        )
    if len(table.shape) != 2:
        raise InvalidCounts(
            f"blocks must have rows and columns; block {number} has shape {table.shape}"
        )
    return table, None


def block_rows(block: Any, number: int, how: tuple[int, bool, bool]) -> Kept:
    """Canonical rows of a block whose first document has this number, checked.

    >>> block_rows(sparse.csr_array([[0, 1], [-2, 0]]), 3, (40, False, False))
    Traceback (most recent call last):
    dcomp.errors.InvalidCounts: counts must be non-negative whole numbers; found -2 at document \
41, feature 0 (row 1 of block 3)
    """
    first, fractional, are_features = how

    def cell(i: int, j: int) -> str:
        return f"document {first + i}, feature {j} (row {i} of block {number})"

    table, _ = table_of(block, number, are_features)
    return Kept(Rows(*canonical_rows(as_table(table), cell, fractional)))


def _pieces(collection: Any) -> tuple[list[Any], list[str] | None]:
    """The blocks of a collection, each a promise, and the names of its columns."""
    if hasattr(collection, "to_delayed") and hasattr(collection, "npartitions"):
        if hasattr(collection, "columns"):
            return list(collection.to_delayed()), [str(name) for name in collection.columns]
        if hasattr(collection, "chunks"):
            _check_chunks(collection)
            return list(collection.to_delayed().ravel()), None
    raise InvalidParameter(
        "from_dask takes a Dask array of scipy sparse blocks, or a Dask frame with a column for "
        f"each feature; got {type(collection).__name__}"
    )


def _check_chunks(array: Any) -> None:
    if array.ndim != 2:
        raise InvalidParameter(
            f"a Dask array must have two dimensions, documents by features; it has {array.ndim}"
        )
    if len(array.chunks[1]) != 1:
        raise InvalidParameter(
            "a block must have all features of its documents; the array is cut into "
            f"{len(array.chunks[1])} blocks of columns: array.rechunk({{1: -1}})"
        )


def _one_width(widths: Sequence[int]) -> int:
    for number, width in enumerate(widths):
        if width != widths[0]:
            raise InvalidCounts(
                f"all blocks must have the same features; block 0 has {widths[0]} columns and "
                f"block {number} has {width}"
            )
    return widths[0]


def _ids(blocks: Sequence[Block]) -> list[str] | None:
    """Those of all blocks, where all have some."""
    found: list[str] = []
    for block in blocks:
        if block.ids is None:
            return None
        found += map(str, block.ids)
    return found
