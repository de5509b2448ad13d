"""From any two-dimensional table to canonical compressed rows, checked, with few copies.

Canonical: within a row the columns ascend, none repeats, and every stored count is positive. Counts
are whole numbers in int32, or fractional ones in float64 where that was asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcomp.errors import InvalidCounts

LIMIT = 2**31 - 1  # of fractional counts, too: sums over features stay finite in float32
TAKES_ANY = (
    "fractional=True takes corrected counts and dosages; in place of shares give the counts that "
    "they were made from"
)
MISSING = (
    "what is missing is left out, not written as NaN: an entry of 0, an empty block for an answer, "
    "vote or genotype (as_counts(frame, categories=True)), an exposure of 0 for GP and CGP"
)
_CHUNK = 1 << 18  # bounds the temporaries that checking needs, whatever the number of entries


class Rows(NamedTuple):
    """Compressed rows: row i holds entries indptr[i] to indptr[i + 1].

    >>> Rows(np.array([0, 1]), np.array([2]), np.array([5])).data
    array([5])
    """

    indptr: NDArray[Any]
    indices: NDArray[Any]
    data: NDArray[Any]


def as_table(table: Any) -> Any:
    """Give a sparse matrix as it is and anything else as an array; refuse what is no table.

    >>> as_table([[1, 2]]).shape
    (1, 2)
    """
    if not sparse.issparse(table):
        table = _dense(table)
    if table.dtype.kind not in "biuf":
        raise InvalidCounts(f"counts must be whole numbers; found values of type {table.dtype}")
    if len(table.shape) != 2:
        raise InvalidCounts(
            "counts must be a table of documents by features; "
            f"found {len(table.shape)} dimension(s), shape {tuple(table.shape)}"
        )
    if 0 in table.shape or table.shape[1] > LIMIT:
        raise InvalidCounts(
            f"counts must have at least one document, and between 1 and {LIMIT} features; "
            f"found {table.shape[0]} documents and {table.shape[1]} features"
        )
    return table


def _dense(table: Any) -> NDArray[Any]:
    if isinstance(table, np.ma.MaskedArray) and np.ma.is_masked(table):
        raise InvalidCounts("counts must all be present; found masked entries")
    try:
        return np.asarray(table)
    except (ValueError, TypeError) as error:
        raise InvalidCounts(
            f"counts must be a table with rows of one length; cannot make one: {error}"
        ) from None


def canonical_rows(table: Any, cell: Callable[[int, int], str], fractional: bool = False) -> Rows:
    """Make canonical rows of a table from `as_table`; `cell(i, j)` words a place in an error.

    >>> canonical_rows(np.array([[0, 2.0], [1.0, 0]]), "{} {}".format).data
    array([2, 1], dtype=int32)
    """
    rows = _rows_of_sparse(table) if sparse.issparse(table) else _rows_of_dense(table)
    if not rows_ascend(rows.indptr, rows.indices):
        rows = _sum_repeated(rows, table.shape)
    indptr, indices, values = rows

    def where(position: int) -> str:
        row = int(np.searchsorted(indptr, position, side="right")) - 1
        return cell(row, int(indices[position]))

    data = counted(values, where, fractional)
    rows = Rows(indptr, indices.astype(np.int32, copy=False), data)
    if data.size and data.min() == 0:
        rows = without_zeros(rows)
    return rows._replace(indptr=rows.indptr.astype(np.int64, copy=False))


def counted(values: NDArray[Any], where: Callable[[int], str], fractional: bool) -> NDArray[Any]:
    """Give the values as counts, whole ones or fractional ones; refuse the first that is none.

    >>> counted(np.array([0.5, 2]), "row {}".format, fractional=True)
    array([0.5, 2. ])
    """
    return any_numbers(values, where) if fractional else whole_numbers(values, where)


def any_numbers(values: NDArray[Any], where: Callable[[int], str]) -> NDArray[np.float64]:
    """Give the values as float64; refuse the first that is negative, infinite or no number.

    >>> any_numbers(np.array([0.5, -0.5]), "row {}".format)
    Traceback (most recent call last):
    dcomp.errors.InvalidCounts: counts must be non-negative numbers; found -0.5 at row 1
    """
    if values.dtype.kind not in "biuf":
        raise InvalidCounts(f"counts must be numbers; found values of type {values.dtype}")
    if values.size and not (values.min() >= 0 and values.max() <= LIMIT):  # false for NaN, too
        _refuse_first(values, where, fractional=True)
    return values.astype(np.float64, copy=False)


def whole_numbers(values: NDArray[Any], where: Callable[[int], str]) -> NDArray[np.int32]:
    """Give the values as int32 (the same memory if they are); refuse the first that is no count.

    >>> whole_numbers(np.array([1.0, 2.5]), "row {}".format)
    Traceback (most recent call last):
    dcomp.errors.InvalidCounts: counts must be non-negative whole numbers; found 2.5 at row 1 \
(fractional=True takes corrected counts and dosages; in place of shares give the counts that they \
were made from)
    """
    if values.dtype.kind not in "biuf":
        raise InvalidCounts(f"counts must be whole numbers; found values of type {values.dtype}")
    if values.dtype.kind != "f":
        if values.size and (values.min() < 0 or values.max() > LIMIT):
            _refuse_first(values, where)
        return values.astype(np.int32, copy=False)
    whole = np.empty(values.shape, np.int32)
    for start in range(0, values.size, _CHUNK):
        part, out = values[start : start + _CHUNK], whole[start : start + _CHUNK]
        with np.errstate(invalid="ignore"):  # what does not fit is caught by the comparison
            out[...] = part
        if out.min() < 0 or not np.array_equal(out, part):
            _refuse_first(values, where)
    return whole


def _refuse_first(
    values: NDArray[Any], where: Callable[[int], str], fractional: bool = False
) -> NoReturn:
    for start in range(0, values.size, _CHUNK):
        part = values[start : start + _CHUNK]
        # Written so that NaN, which compares false with everything, counts as bad.
        good = (part >= 0) & (part <= LIMIT)
        if part.dtype.kind == "f" and not fractional:
            good &= np.floor(part) == part
        if not good.all():
            position = start + int(np.argmin(good))
            break
    value = values[position]
    too_large = np.isfinite(value) and value > LIMIT
    kind = "non-negative numbers" if fractional else "non-negative whole numbers"
    rule = f"at most {LIMIT}" if too_large else kind
    shown = f"{value:.15g}" if values.dtype.kind == "f" else str(value)
    would_do = not fractional and 0 < value <= LIMIT
    hint = f" ({TAKES_ANY})" if would_do else f": {MISSING}" if np.isnan(value) else ""
    raise InvalidCounts(f"counts must be {rule}; found {shown} at {where(position)}{hint}")


def rows_ascend(indptr: NDArray[Any], indices: NDArray[Any]) -> bool:
    """Tell whether the columns of every row ascend strictly (sorted, none repeated).

    >>> rows_ascend(np.array([0, 2, 3]), np.array([0, 5, 1]))
    True
    """
    for start in range(0, indices.size - 1, _CHUNK):
        part = indices[start : start + _CHUNK + 1]
        falls = np.flatnonzero(part[1:] <= part[:-1]) + (start + 1)
        # A fall is in order only where the next row begins.
        if not np.array_equal(indptr[np.searchsorted(indptr, falls)], falls):
            return False
    return True


def without_zeros(rows: Rows) -> Rows:
    """Leave out the entries that are zero.

    >>> without_zeros(Rows(np.array([0, 2]), np.array([1, 4]), np.array([0, 3]))).indices
    array([4])
    """
    kept = rows.data != 0
    before = np.zeros(kept.size + 1, np.int64)
    np.cumsum(kept, out=before[1:])
    return Rows(before[rows.indptr], rows.indices[kept], rows.data[kept])


def _rows_of_dense(table: NDArray[Any]) -> Rows:
    row, column = np.nonzero(table)
    indptr = np.zeros(table.shape[0] + 1, np.int64)
    np.cumsum(np.count_nonzero(table, axis=1), out=indptr[1:])
    return Rows(indptr, column, table[row, column])


def _rows_of_sparse(table: Any) -> Rows:
    if table.format in ("csr", "csc", "bsr"):
        table = _checked(table)
    if table.format == "csc":
        table = table.tocsr()
    if table.format == "csr":
        stored = int(table.indptr[-1])
        return Rows(table.indptr, table.indices[:stored], table.data[:stored])
    entries = table.tocoo(copy=False)
    values = entries.data.astype(_wide_enough(entries.data), copy=False)
    summed = sparse.coo_array((values, (entries.row, entries.col)), shape=table.shape).tocsr()
    return Rows(summed.indptr, summed.indices, summed.data)


def compressed(rows: Rows, shape: tuple[int, int], kind: Any = sparse.csr_array) -> Any:
    """Put a scipy array over the same memory.

    >>> compressed(Rows(np.array([0, 1]), np.array([2]), np.array([5])), (1, 3)).toarray()
    array([[0, 0, 5]])
    """
    indptr = rows.indptr
    # scipy wants one type for both, and would copy the long array to suit the short one.
    if indptr.dtype != rows.indices.dtype and rows.indices.size <= LIMIT:
        indptr = indptr.astype(rows.indices.dtype)
    return kind((rows.data, rows.indices, indptr), shape=shape, copy=False)


def _checked(table: Any) -> Any:
    # A second matrix over the same memory: scipy's checks may replace the attributes of the first.
    try:
        kind = getattr(sparse, f"{table.format}_array")
        same = compressed(Rows(table.indptr, table.indices, table.data), table.shape, kind)
        # scipy looks no further where the last is 0 or negative, and then reads beyond its memory.
        if same.indptr[0] != 0 or (np.diff(same.indptr) < 0).any():
            raise ValueError("indptr must ascend from 0, and be negative nowhere")
        same.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise InvalidCounts(f"counts must be a well-formed sparse matrix: {error}") from None
    return same


def _sum_repeated(rows: Rows, shape: tuple[int, int]) -> Rows:
    values = rows.data.astype(_wide_enough(rows.data), copy=True)
    summed = compressed(Rows(rows.indptr.copy(), rows.indices.copy(), values), shape)
    summed.sum_duplicates()
    return Rows(summed.indptr, summed.indices, summed.data)


def _wide_enough(values: NDArray[Any]) -> type[np.generic]:
    """Choose a type in which the sum of any entries is right, so that overflow is seen later."""
    if values.dtype.kind == "f":
        return np.float64
    if not values.size:
        return np.int32
    largest = max(-int(values.min()), int(values.max()))
    if largest > LIMIT:
        return np.float64
    return np.int32 if largest * values.size <= LIMIT else np.int64
