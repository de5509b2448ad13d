"""What is known of documents beside their counts: a party, a year, a population, a tissue.

An attribute has a name and one value per document. No model sees it: it goes along with the
documents, and is used by name wherever labels are taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcomp.errors import InvalidParameter

Column = NDArray[Any]
NUMBERS, TEXT = "biuf", "O"  # kinds of arrays that a column may have
SEVERAL = ", "  # between the values of a list, which are one text


class Attributes(Mapping[str, Column]):
    """One read-only array per name, a row per document.

    Whole numbers, numbers and truth values stay what they are (int64, float64, bool); everything
    else becomes text in an array of objects, None where nothing is known. A list becomes one text,
    its values with ", " between.

    >>> about = Attributes(2, {"party": ["D", "R"], "year": [1999, 2003]})
    >>> about["party"].tolist(), about["year"].dtype.kind, list(about)
    (['D', 'R'], 'i', ['party', 'year'])
    >>> about["state"]
    Traceback (most recent call last):
    dcomp.errors.InvalidParameter: there is no attribute 'state'; there are 'party', 'year'
    """

    __slots__ = ("_columns", "n_docs")

    def __init__(self, n_docs: int = 0, columns: Mapping[str, Iterable[Any]] | None = None) -> None:
        self.n_docs = n_docs
        made = {str(name): as_column(values) for name, values in (columns or {}).items()}
        for name, column in made.items():
            if column.size != n_docs:
                raise InvalidParameter(
                    f"an attribute needs a value per document: {n_docs} documents, "
                    f"{column.size} values of {name!r}"
                )
        self._columns = made

    def __getitem__(self, name: str) -> Column:
        try:
            return self._columns[name]
        except KeyError:
            there = ", ".join(map(repr, self._columns)) or "none"
            raise InvalidParameter(f"there is no attribute {name!r}; there are {there}") from None

    def get(self, name: str, default: Any = None) -> Any:
        """The column, or something else where there is none."""
        return self._columns.get(name, default)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Attributes):
            return NotImplemented
        return (
            self.n_docs == other.n_docs
            and list(self) == list(other)
            and all(_same(self[name], other[name]) for name in self)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Attributes({self.n_docs:,} documents: {', '.join(self) or 'none'})"

    def __reduce__(self) -> tuple[type[Attributes], tuple[int, dict[str, Column]]]:
        return Attributes, (self.n_docs, self._columns)

    def rows(self, chosen: NDArray[np.int64]) -> Attributes:
        """Of these documents, in this order.

        >>> Attributes(2, {"party": ["D", "R"]}).rows(np.array([1]))["party"].tolist()
        ['R']
        """
        return Attributes(len(chosen), {name: self[name][chosen] for name in self})

    def with_columns(self, columns: Mapping[str, Iterable[Any]]) -> Attributes:
        """These and others, which take the place of those of the same name.

        >>> list(Attributes(1, {"a": [1]}).with_columns({"b": ["x"]}))
        ['a', 'b']
        """
        return Attributes(self.n_docs, {**self._columns, **dict(columns)})


def as_column(values: Iterable[Any]) -> Column:
    """Values as a read-only array: numbers as they are, the rest as text with None for a gap.

    NaN among text is a gap, as pandas has it; among numbers it stays, being the only one there is.

    >>> as_column(["a", None, 3]).tolist(), as_column([1, 2]).dtype.name, as_column([1.5, None])
    (['a', None, '3'], 'int64', array([1.5, nan]))
    """
    if isinstance(values, str):
        raise InvalidParameter(f"an attribute needs a value per document; found {values!r}")
    if isinstance(values, np.ndarray):
        items: Any = values
    else:
        items = values.to_list() if hasattr(values, "to_list") else list(values)
    column = _numbers(items)
    if column is None:
        column = np.array([_text(value) for value in items], dtype=object)
    column.flags.writeable = False
    return column


def _numbers(items: Any) -> Column | None:
    """As numbers, if all of them are, but for gaps."""
    if isinstance(items, np.ndarray) and items.dtype.kind in NUMBERS:
        array = items
    else:
        known = [value for value in items if value is not None]
        if not known or not all(isinstance(v, bool | int | float | np.number) for v in known):
            return None
        has_gaps = len(known) < len(items)
        array = np.array([np.nan if v is None else v for v in items] if has_gaps else known)
    if array.ndim != 1 or array.dtype.kind not in NUMBERS:
        return None
    kind = {"b": np.bool_, "i": np.int64, "f": np.float64}.get(array.dtype.kind)
    if kind is None:  # unsigned numbers may be too large for a signed one
        fits = not array.size or int(array.max()) <= np.iinfo(np.int64).max
        kind = np.int64 if fits else np.float64
    return np.array(array, dtype=kind)


def _text(value: Any) -> str | None:
    if isinstance(value, list | tuple):
        return SEVERAL.join(map(str, value))
    # NaN is the one value that differs from itself.
    return None if value is None or value != value else str(value)


def _same(one: Column, other: Column) -> bool:
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
