"""pandas and polars frames, recognised without importing either library."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dcomp.data.mistaken import excerpt, have_many_words
from dcomp.errors import DataWarning, InvalidCounts, warn

# What the first or last column is called where it says which document, not how often.
_LABELS = {"id", "ids", "docid", "doc_id", "document_id", "index", "label", "labels", "class"}
_LABELS |= {"cluster", "target", "y", "year"}
_VOCABULARY = 30  # names in alphabetical order that are no accident
_NUMBERED = 10  # features called alike but for a number, beside which another name is odd
_ODD = 5  # columns in front of them, from which on they are features of another kind
_RESTS = ("un", "other", "no", "rest", "ambig", "total", "sum", "all", "_")  # how sinks are called
_RUN = 5  # rows from which on a column 0, 1, 2, … is no accident


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


def check_columns(frame: Any, *, are_features: bool = False) -> None:
    """An error where a column of a wide frame is no feature: words, texts, a label, an id. With
    `are_features` numbers are taken for counts, whatever they are called.

    >>> import pandas
    >>> check_columns(pandas.DataFrame({"cat": [1, 0], "dog": [2, 5], "label": [0, 1]}))
    Traceback (most recent call last):
    dcomp.errors.InvalidCounts: every column of a wide frame must hold counts; column 'label' says \
which document it is: make it the index (set_index) or drop it, with_attributes keeps it \
beside the counts (if it is a feature: as_counts(frame, feature_names=frame.columns))
    """
    named = _is_from("polars", frame) or not _is_default_index(frame.columns)
    for j, dtype in enumerate(frame.dtypes):
        if not _is_numeric(dtype):
            _refuse_column(frame, j)
    if named and not are_features and frame.shape[1] > 1:
        for j in (0, frame.shape[1] - 1):
            if _is_label(frame, j):
                _refuse_label(str(frame.columns[j]))


def check_unique(frame: Any) -> None:
    """An error where a wide frame has two columns of one name.

    >>> import pandas
    >>> check_unique(pandas.DataFrame([[1, 2]], columns=["cat", "cat"]))
    Traceback (most recent call last):
    dcomp.errors.InvalidCounts: every feature must be one column of a wide frame; 'cat' is there \
twice: frame.T.groupby(level=0).sum().T adds up columns of one name
    """
    seen: set[Any] = set()
    for name in frame.columns:
        if name in seen:
            raise InvalidCounts(
                f"every feature must be one column of a wide frame; {str(name)!r} is there twice: "
                "frame.T.groupby(level=0).sum().T adds up columns of one name"
            )
        seen.add(name)


def _is_numeric(dtype: Any) -> bool:
    if hasattr(dtype, "is_numeric"):  # of polars
        return bool(dtype.is_numeric()) or str(dtype) == "Boolean"
    return getattr(getattr(dtype, "subtype", dtype), "kind", "O") in "biuf"


def _column(frame: Any, j: int) -> Any:
    return frame.to_series(j) if _is_from("polars", frame) else frame.iloc[:, j]


def is_label(names: list[str], j: int) -> bool:
    """Whether a column is called like what is known of documents, and not one of many words.

    >>> is_label(["cat", "dog", "year"], 2), is_label(["cat", "dog"], 1)
    (True, False)
    """
    return names[j].strip().lower() in _LABELS and not _is_vocabulary(names)


def odd_in_front(names: Sequence[str]) -> tuple[str, ...]:
    """The first columns, where all behind them are called alike but for a number and they are not,
    nor as what is left over is called: they may say something of documents.

    >>> odd_in_front(["depth_cm", "age", *(f"OTU{j}" for j in range(20))])
    ('depth_cm', 'age')
    >>> odd_in_front(["Unclassified", *(f"OTU{j}" for j in range(20))])
    ()
    """
    stem = _stem(names[-1])
    n_odd = next((j for j, name in enumerate(names[: _ODD + 1]) if _stem(name) == stem), _ODD + 1)
    odd, numbered = tuple(names[:n_odd]), names[n_odd:]
    if not 0 < n_odd <= _ODD or len(numbered) < _NUMBERED or stem == names[-1] or not stem:
        return ()
    if any(_stem(name) != stem or name == stem for name in numbered):
        return ()
    # Another family of features is numbered, too, and chrM is one with chr1.
    if any(_stem(name) != name or name.startswith(stem) for name in odd):
        return ()
    return () if any(name.strip().lower().startswith(_RESTS) for name in odd) else odd


def say_of_odd(frame: Any) -> None:
    """Warn of columns in front of counts that may be measured, by what they are called.

    >>> import pandas
    >>> say_of_odd(pandas.DataFrame({"cat": [1, 0], "dog": [2, 5]}))
    """
    names = [str(name) for name in frame.columns]
    odd = odd_in_front(names) if names else ()
    if odd:
        called = " and ".join(repr(excerpt(name)) for name in odd)
        are, them = ("are features", "them") if len(odd) > 1 else ("is a feature", "it")
        warn(
            f"{called} in front of {excerpt(names[len(odd)])!r} and the like {are}: of what is "
            f"known of documents drop {them}, with_attributes keeps {them} beside the counts; "
            "as_counts(frame, feature_names=frame.columns) reads as now without a word",
            DataWarning,
        )


def _stem(name: str) -> str:
    return name.rstrip("0123456789")


def _is_label(frame: Any, j: int) -> bool:
    if str(frame.columns[j]).strip().lower().startswith("unnamed: "):  # pandas, of one without name
        return True
    if is_label([str(name) for name in frame.columns], j):
        return True
    values = _column(frame, j)
    if len(values) < _RUN:
        return False
    steps = np.arange(len(values))
    given = np.asarray(values.to_numpy())
    return any(np.array_equal(given, steps + first) for first in (0, 1))


def _is_vocabulary(names: list[str]) -> bool:
    """Many words in alphabetical order, among which a "year" at the end is one of them."""
    return len(names) >= _VOCABULARY and names == sorted(names)


def _refuse_label(name: str) -> None:
    raise InvalidCounts(
        f"every column of a wide frame must hold counts; column {name!r} says which document it "
        "is: make it the index (set_index) or drop it, with_attributes keeps it beside the counts "
        "(if it is a feature: as_counts(frame, feature_names=frame.columns))"
    )


def wide(frame: Any, *, are_features: bool = False) -> WideFrame:
    """Take a wide frame apart: values (sparse if all columns are), names and document ids.

    >>> wide(3)
    Traceback (most recent call last):
    dcomp.errors.InvalidCounts: a pandas or polars DataFrame is expected; found int
    """
    if is_frame(frame):
        check_columns(frame, are_features=are_features)
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
    if len(set(frame.dtypes)) == 1 and not any(frame.null_count().row(0)):
        values = frame.to_numpy()
    else:
        values = np.empty(frame.shape, np.float64)
        for j, column in enumerate(frame.get_columns()):
            values[:, j] = [np.nan if value is None else value for value in column.to_list()]
    return WideFrame(values, list(frame.columns), None)


def _refuse_column(frame: Any, j: int) -> None:
    name, values, is_pandas = str(frame.columns[j]), _column(frame, j), _is_from("pandas", frame)
    given = values.dropna() if is_pandas else values.drop_nulls()
    rule = f"every column of a wide frame must hold counts; column {name!r} holds"
    first = next(iter(given), None)
    if have_many_words(given):
        raise InvalidCounts(
            f"{rule} whole texts, {excerpt(str(first))!r}: "
            f"dcomp.Counts.from_texts(frame[{name!r}]) counts their words"
        )
    kind = f"words such as {excerpt(first)!r}" if isinstance(first, str) else str(values.dtype)
    to_index = "make it the index (set_index) or drop it"
    remedy = to_index if is_pandas else "drop it and pass it as doc_ids"
    raise InvalidCounts(
        f"{rule} {kind}: {remedy}; answers and votes are taken by as_counts(frame, categories=True)"
    )
