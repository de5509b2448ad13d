"""Sparse matrices saved by scipy.sparse.save_npz.

scipy's own loader is not used: it believes the sizes that an archive declares.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcomp.data.canonical import LIMIT
from dcomp.data.counts import Counts
from dcomp.errors import DcompError, InvalidFile
from dcomp.io.archive import Archive
from dcomp.io.files import StrPath, opened, plain_name, vocabulary
from dcomp.io.limits import Budget, Limits
from dcomp.io.matrix_market import vocab_beside
from dcomp.io.npy import parse_npy

_PARTS = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "bsr": ("data", "indices", "indptr"),
    "dia": ("data", "offsets"),
    "coo": ("data", "row", "col"),
}


def read_npz(
    path: StrPath,
    *,
    vocab: StrPath | Sequence[str] | None = None,
    fractional: bool = False,
    limits: Limits | None = None,
) -> Counts:
    """Read a saved sparse matrix; `vocab` names the features, or x.npz.vocab.txt or
    x.vocab.txt beside x.npz. Pickled content is refused. `fractional`: whether counts need not be
    whole.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "tiny.npz")
    ...     sparse.save_npz(file, sparse.csr_array([[0, 7]]))
    ...     read_npz(file).to_scipy().toarray().tolist()
    [[0, 7]]
    """
    path = Path(path)
    budget = Budget(path, limits)
    if plain_name(path) == path.name:
        with opened(path, budget), path.open("rb") as stream:
            matrix = _matrix(stream, budget, path)
    else:
        with opened(path, budget) as packed:
            content = packed.rest()
        matrix = _matrix(io.BytesIO(content), budget, path)
    names = vocabulary(vocab, vocab_beside(path), budget)[0]
    return Counts.from_matrix(matrix, feature_names=names, fractional=fractional)


def _matrix(stream: Any, budget: Budget, path: Path) -> Any:
    try:
        archive = Archive(stream, budget)
        kind = _array(archive, "format")
        form = kind.item().decode("latin-1") if kind.dtype.kind == "S" and kind.size == 1 else ""
        if form not in _PARTS:
            raise ValueError(f"there is no format {form[:20]!r}")
        shape = _array(archive, "shape")
        if shape.shape != (2,) or shape.dtype.kind not in "iu" or shape.min() < 0:
            raise ValueError("the shape must be two whole numbers")
        n_rows, n_columns = (int(side) for side in shape)
        if max(n_rows, n_columns) > LIMIT:
            raise ValueError(f"rows and columns must be at most {LIMIT}")
        parts = [_array(archive, name) for name in _PARTS[form]]
        n_entries = max(part.size for part in parts)
        budget.charge_table(n_rows, n_columns, 2 * n_entries if form == "dia" else n_entries)
        return _made(form, parts, (n_rows, n_columns))
    except DcompError as error:
        if str(error).startswith(f"{path}: "):
            reason = str(error).removeprefix(f"{path}: ")
            raise InvalidFile(_not_one(path, reason)) from None
        raise
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidFile(_not_one(path, str(error))) from None


def _not_one(path: Path, reason: str) -> str:
    return f"{path}: not a matrix saved by scipy.sparse.save_npz: {reason}"


def _array(archive: Archive, name: str) -> NDArray[Any]:
    return parse_npy(archive.read(f"{name}.npy"), name)


def _made(form: str, parts: list[NDArray[Any]], shape: tuple[int, int]) -> Any:
    """The matrix of these parts; scipy checks that they belong together, `Counts` that places lie
    in the table."""
    data, *places = parts
    if data.dtype.kind not in "biuf":
        raise ValueError(f"counts must be numbers; found {data.dtype}")
    for place in places:
        if place.ndim != 1 or place.dtype.kind not in "iu":
            raise ValueError("places must be rows of whole numbers")
        if place.size and (int(place.min()) < -LIMIT or int(place.max()) > LIMIT):
            raise ValueError(f"places must be at most {LIMIT}")
    if form == "coo":
        return _coordinates(data, places, shape)
    if data.dtype.kind == "f" and data.dtype.itemsize not in (4, 8):
        parts = [data.astype(np.float64), *places]  # scipy does not reckon with others
    native = [np.ascontiguousarray(part, part.dtype.newbyteorder("=")) for part in parts]
    kind = getattr(sparse, f"{form}_array")
    content = (native[0], native[1]) if form == "dia" else tuple(native)
    matrix = kind(content, shape=shape)
    return matrix.tocoo() if form == "dia" else matrix


def _coordinates(data: NDArray[Any], places: list[NDArray[Any]], shape: tuple[int, int]) -> Any:
    for place, side in zip(places, shape, strict=True):
        if place.shape != data.shape or (place.size and not 0 <= place.min() <= place.max() < side):
            raise ValueError("rows and columns must be one for each count, and lie in the table")
    row, column = (place.astype(np.int32) for place in places)
    return sparse.coo_array((data, (row, column)), shape=shape)
