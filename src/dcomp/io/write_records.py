"""Counts as records, a document each: JSON lines, parquet, and AnnData's files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dcomp.atomic import temporary_folder
from dcomp.data.counts import Counts
from dcomp.errors import InvalidParameter, MissingDependency
from dcomp.io.write_sparse import packed, text

_TOKENS = 200_000_000  # that are written one by one


def _tokens(counts: Counts, i: int, names: list[Any]) -> list[Any]:
    """The tokens of a document: as it is read, else feature by feature."""
    if counts.sequences is not None:
        order = counts.sequence(i)
        return [names[j] for j in order[order >= 0].tolist()]
    own = slice(*counts.indptr[i : i + 2].tolist())
    return [names[j] for j in np.repeat(counts.indices[own], counts.data[own]).tolist()]


def _records(counts: Counts, path: Path) -> Iterator[dict[str, Any]]:
    if counts.n_tokens > _TOKENS:
        raise InvalidParameter(
            f"{path.name}: the format has tokens one by one, and {counts.n_tokens:,} are too many "
            f"({_TOKENS:,} at most); write .mtx or .npz"
        )
    for taken in ("text", "id"):
        if taken in counts.attributes and (taken == "text" or counts.doc_ids is not None):
            raise InvalidParameter(
                f"{path.name}: an attribute cannot be called {taken!r}, which is that of documents"
            )
    space = counts.features
    names: list[Any] = list(space.names or (f"feature {j}" for j in range(space.n_features)))
    if space.n_blocks > 1:
        blocks = [space.block_name(g) for g in space.blocks.tolist()]
        names = [[block, name] for block, name in zip(blocks, names, strict=True)]
    about = {name: column.tolist() for name, column in counts.attributes.items()}
    for i in range(counts.n_docs):
        own = {} if counts.doc_ids is None else {"id": counts.doc_ids[i]}
        yield {
            **own,
            "text": _tokens(counts, i, names),
            **{name: column[i] for name, column in about.items()},
        }


def write_jsonl(counts: Counts, path: Path) -> None:
    """An object per line; with blocks tokens are [block, feature] pairs."""
    with text(path) as lines:
        for record in _records(counts, path):
            lines.write(json.dumps(_finite(record), ensure_ascii=False, allow_nan=False) + "\n")


def _finite(record: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not np.isfinite(value) else value
        for name, value in record.items()
    }


def write_parquet(counts: Counts, path: Path) -> None:
    """A row per document, by pyarrow."""
    pyarrow, parquet = parquet_library()
    records = list(_records(counts, path))
    columns = {name: [record[name] for record in records] for name in records[0]}
    with packed(path) as stream:
        parquet.write_table(pyarrow.table(columns), stream)


def parquet_library() -> tuple[Any, Any]:
    """pyarrow and its part for parquet, or an error that says how to have them."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingDependency(
            'parquet files need pyarrow, which is not installed: pip install "dcomp[text]"'
        ) from None
    return pyarrow, pyarrow.parquet


def write_h5ad(counts: Counts, path: Path) -> None:
    """Cells by genes as AnnData has them; attributes are obs, blocks a column of var."""
    try:
        import anndata
        import pandas
    except ImportError:
        raise MissingDependency(
            '.h5ad files need anndata, which is not installed: pip install "dcomp[cells]"'
        ) from None
    ids = list(counts.doc_ids or map(str, range(counts.n_docs)))
    space = counts.features
    names = list(space.labels or (f"feature {j}" for j in range(space.n_features)))
    about = {name: column.tolist() for name, column in counts.attributes.items()}
    var = pandas.DataFrame(index=names)
    if space.n_blocks > 1:
        var["block"] = [space.block_name(g) for g in space.blocks.tolist()]
    made = anndata.AnnData(
        counts.to_scipy().copy(), obs=pandas.DataFrame(about, index=ids), var=var
    )
    with temporary_folder() as folder, packed(path) as stream:
        whole = folder / "counts.h5ad"  # by h5py, which needs a place of its own
        made.write_h5ad(whole)
        with whole.open("rb") as ready:
            while piece := ready.read(1 << 20):
                stream.write(piece)
