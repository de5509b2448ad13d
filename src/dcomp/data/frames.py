"""pandas and polars frames, recognised without importing either library."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from dcomp.errors import InvalidCounts


class WideFrame(NamedTuple):
    """A frame with one row per document and one column per feature, taken apart.

    >>> WideFrame([[1]], None, None).values
    [[1]]
    """

    values: Any
    feature_names: list[str] | None
    doc_ids: list[str] | None


def is_frame(value: object) -> bool:
    """Tell whether the value is a pandas or polars DataFrame.

    >>> is_frame([1, 2])
    False
    """
    return _is_from("pandas", value) or _is_from("polars", value)


def _is_from(library: str, value: object) -> bool:
    # An object of a library cannot exist before the library is imported.
    kind = getattr(sys.modules.get(library), "DataFrame", None)
    return isinstance(kind, type) and isinstance(value, kind)


def wide(frame: Any) -> WideFrame:
    """Take a wide frame apart: values (sparse if all columns are), names and document ids.

    >>> wide(3)
    Traceback (most recent call last):
    dcomp.errors.InvalidCounts: a pandas or polars DataFrame is expected; found int
    """
    if _is_from("pandas", frame):
        return _wide_pandas(frame)
    if _is_from("polars", frame):
        return _wide_polars(frame)
    raise InvalidCounts(f"a pandas or polars DataFrame is expected; found {type(frame).__name__}")


def columns(frame: Any) -> list[Any]:
    """Give the columns of a frame in their order.

    >>> columns(3)
    Traceback (most recent call last):
    dcomp.errors.InvalidCounts: a pandas or polars DataFrame is expected; found int
    """
    if not is_frame(frame):
        wide(frame)
    if _is_from("polars", frame):
        return [column.to_list() for column in frame.get_columns()]
    return [frame.iloc[:, j].tolist() for j in range(frame.shape[1])]


def _wide_pandas(frame: Any) -> WideFrame:
    types = list(frame.dtypes)
    for name, dtype in zip(frame.columns, types, strict=True):
        kind = getattr(getattr(dtype, "subtype", dtype), "kind", "O")
        if kind not in "biuf":
            _refuse_column(str(name), str(dtype), "make it the index (set_index) or drop it")
    if types and all(hasattr(dtype, "fill_value") for dtype in types):
        if any(dtype.fill_value != 0 for dtype in types):
            raise InvalidCounts("sparse columns must have fill value 0, since a gap means no count")
        values = frame.sparse.to_coo()
    elif len(set(types)) == 1 and isinstance(types[0], np.dtype):
        values = frame.to_numpy()
    else:
        values = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    named = not _is_default_index(frame.columns)
    return WideFrame(
        values,
        [str(name) for name in frame.columns] if named else None,
        document_names(frame),
    )


def document_names(frame: Any) -> list[str] | None:
    """The index of a pandas frame, unless it is the default; a polars frame has none.

    >>> document_names(3) is None
    True
    """
    if not _is_from("pandas", frame) or _is_default_index(frame.index):
        return None
    return [str(name) for name in frame.index]


def _is_default_index(index: Any) -> bool:
    return (
        type(index).__name__ == "RangeIndex"
        and index.start == 0
        and index.step == 1
        and index.name is None
    )


def _wide_polars(frame: Any) -> WideFrame:
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        if not (dtype.is_numeric() or str(dtype) == "Boolean"):
            _refuse_column(name, str(dtype), "drop it and pass it as doc_ids")
    if len(set(frame.dtypes)) == 1 and not any(frame.null_count().row(0)):
        values = frame.to_numpy()
    else:
        values = np.empty(frame.shape, np.float64)
        for j, column in enumerate(frame.get_columns()):
            values[:, j] = [np.nan if value is None else value for value in column.to_list()]
    return WideFrame(values, list(frame.columns), None)


def _refuse_column(name: str, dtype: str, remedy: str) -> None:
    raise InvalidCounts(
        f"every column of a wide frame must hold counts; column {name!r} holds {dtype}: {remedy}; "
        "answers and votes are taken by as_counts(frame, categories=True)"
    )
