"""Wide tables: a line per document and a column per feature, or the other way round.

One or more columns in front name the lines: mutation types, say, come as a substitution and the
bases around it. Their fields are joined to one name.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcomp.data.attributes import Attributes
from dcomp.data.counts import Counts
from dcomp.data.features import FeatureSpace
from dcomp.data.frames import is_label, odd_in_front
from dcomp.data.mistaken import excerpt
from dcomp.data.reading import Reading
from dcomp.errors import DataWarning, DcompError, InvalidFile, InvalidParameter, warn
from dcomp.io.cells import BATCH, Cells, is_number
from dcomp.io.files import OF_NAME
from dcomp.io.first_column import FirstColumn, is_usual_name, say_of

Numbered = tuple[int, list[str]]
_TURNED = 24  # bytes that an entry takes while the table is turned


def read_wide(
    path: Path,
    header: list[str],
    rows: Iterator[Numbered],
    cells: Cells,
    label_columns: int | None = None,
    transpose: bool = False,
) -> Counts:
    """The counts below a header. `label_columns` name a line: one, unless said or unless it is a
    feature (`first_column.py`); of a table that is turned all those in front of the first number.
    """
    first = next(rows, None)
    if first is None:
        raise InvalidFile(f"{path}: there must be at least one line below the header")
    n_words, is_told = _words_in_front(first[1]), label_columns is not None
    if label_columns is None:
        label_columns = max(n_words, 1) if transpose else 1
    _check_label_columns(label_columns, header, transpose)
    n_names = max(n_words, _words_behind_index(header, first[1]))
    if n_names > label_columns:
        cells = replace(cells, hint=f"label_columns={n_names} takes the words for names")
    cells.budget.charge(OF_NAME * len(header), f"{len(header):,} columns")
    names = header[label_columns:]
    if not transpose:
        _space(path, names)  # before the lines are read
        _refuse_labels(path, header, label_columns)
        if not is_told:
            _say_of_odd(path, names)
    body = _Body(cells, names, label_columns, transpose)
    for batch in _batches(chain([first], rows), max(1, BATCH // len(header))):
        body.add(batch)
    if transpose:
        return body.turned(path)
    return body.counts(path, header) if is_told else _with_first_column(body, path, header)


def _with_first_column(body: _Body, path: Path, header: list[str]) -> Counts:
    """The counts, with the first column as what it is; where its numbers decide that, other files
    of the kind are read the same."""
    if not all(is_number(labels[0]) for labels in body.labels):
        return body.counts(path, header)
    cost = 64 * len(body.labels)
    body.cells.budget.charge(cost, f"the numbers in front of {len(body.labels):,} lines")
    fields = [labels[0] for labels in body.labels]
    kind = FirstColumn.of(header[0], fields, body.cells.fractional)
    if kind is FirstColumn.FEATURE:
        body.take_first(header[0])
    del fields
    body.cells.budget.free(cost)
    say_of(path, header[0], kind)
    counts = body.counts(path, header)
    if is_usual_name(header[0]):
        return counts
    return replace(counts, reading=Reading("table", "table", label_columns=body.n_labels))


def _refuse_labels(path: Path, header: list[str], label_columns: int) -> None:
    """An error where the first or last column of counts is called "year", "label" and the like."""
    names = header[label_columns:]
    for j in (0, len(names) - 1) if len(names) > 1 else ():
        if len(names[j]) > 1 and is_label(names, j):  # "x" and "y" are any columns
            instead = f"label_columns={label_columns + 1} takes it for one" if j == 0 else ""
            instead = instead or "take the column out"
            raise InvalidFile(
                f"{path}:1: every column of a wide table must hold counts, and {names[j]!r} says "
                f"what a document is: {instead} (a feature of that name needs another)"
            )


def _say_of_odd(path: Path, names: list[str]) -> None:
    """Warn of columns in front of counts that may be measured, by what they are called."""
    odd = odd_in_front(names)
    if odd:
        called = " and ".join(repr(excerpt(name)) for name in odd)
        are, them = ("are features", "them") if len(odd) > 1 else ("is a feature", "it")
        warn(
            f"{path.name}: {called} in front of {excerpt(names[len(odd)])!r} and the like {are}; "
            f"label_columns={len(odd) + 1} takes {them} for what is known of documents, "
            "label_columns=1 reads as now without a word",
            DataWarning,
        )


def _words_in_front(row: list[str]) -> int:
    """Columns before the first number; 0 where there is none, for then nothing can be told."""
    return next((place for place, cell in enumerate(row) if is_number(cell)), 0)


def _words_behind_index(header: list[str], row: list[str]) -> int:
    """Columns before the first count where the first is one of numbers without a name, as pandas
    writes an index, and words come next; else 0."""
    if header[0].strip() and not header[0].startswith("Unnamed: "):
        return 0
    n_words = _words_in_front(row[1:]) if is_number(row[0]) else 0
    return n_words + 1 if n_words else 0


def _check_label_columns(n: Any, header: list[str], transpose: bool) -> None:
    least = int(transpose)  # features have names
    if not isinstance(n, int) or isinstance(n, bool) or not least <= n < len(header):
        raise InvalidParameter(
            f"label_columns must be a whole number from {least} to less than the columns of the "
            f"table, {len(header):,}; got {n!r}"
        )


@dataclass(slots=True)
class _Body:
    """The lines as they come, in numbers."""

    cells: Cells
    columns: list[str]  # the names of those with counts
    n_labels: int
    transpose: bool
    labels: list[tuple[str, ...]] = field(default_factory=list)
    indices: array[int] = field(default_factory=lambda: array("i"))
    data: array[Any] = field(default_factory=lambda: array("i"))
    lengths: array[int] = field(default_factory=lambda: array("q", [0]))

    def __post_init__(self) -> None:
        self.data = array(self.cells.code)

    def add(self, batch: list[Numbered]) -> None:
        """Some lines."""
        n = self.n_labels
        self.labels += [tuple(row[:n]) for _, row in batch]
        fields = [count for _, row in batch for count in row[n:]]
        places = ((line, name) for line, _ in batch for name in self.columns)
        values = self.cells.numbers(fields, places).reshape(len(batch), -1)
        row, column = np.nonzero(values)
        letters = sum(len(name) for labels in self.labels[-len(batch) :] for name in labels)
        of_name = OF_NAME if self.transpose or n > 1 else 120
        cost = (1 + (n > 1)) * letters + of_name * n * len(batch)
        cost += (16 + _TURNED * self.transpose) * row.size
        self.cells.budget.charge(cost, f"{len(self.labels):,} lines")
        self.indices.frombytes(column.astype(np.int32).tobytes())
        self.data.frombytes(values[row, column].tobytes())
        self.lengths.extend(np.count_nonzero(values, axis=1).tolist())

    @property
    def names(self) -> tuple[str, ...]:
        """Of the lines."""
        return tuple(" ".join(labels) for labels in self.labels)

    @property
    def _arrays(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        starts = np.cumsum(np.frombuffer(self.lengths, np.int64))
        kept = np.frombuffer(self.data, np.dtype(self.cells.code))
        return starts, np.frombuffer(self.indices, np.int32), kept

    def take_first(self, name: str) -> None:
        """What was read as the names of lines are the counts of a feature, the first."""
        kind: Any = float if self.cells.fractional else int
        first = np.array([kind(labels[0]) for labels in self.labels], np.dtype(self.cells.code))
        starts, indices, data = self._arrays
        cost = 32 * (data.size + first.size)
        self.cells.budget.charge(cost, f"one more column of {first.size:,} counts")
        counted = np.flatnonzero(first)
        at = starts[counted]
        self.indices = array("i", np.insert(indices + 1, at, 0).astype(np.int32).tobytes())
        self.data = array(self.cells.code, np.insert(data, at, first[counted]).tobytes())
        lengths = np.frombuffer(self.lengths, np.int64).copy()
        lengths[1:][counted] += 1
        self.lengths = array("q", lengths.tobytes())
        self.columns, self.labels, self.n_labels = [name, *self.columns], [], 0
        self.cells.budget.free(cost)

    def counts(self, path: Path, header: list[str]) -> Counts:
        """Lines are documents; what several columns say of them are attributes as well."""
        ids = self.names if self.n_labels else None
        counts = Counts(*self._arrays, _space(path, self.columns), ids)
        if self.n_labels < 2:
            return counts
        about = zip(header[: self.n_labels], zip(*self.labels, strict=True), strict=True)
        return counts.with_attributes(Attributes(counts.n_docs, dict(about)))

    def turned(self, path: Path) -> Counts:
        """Lines are features, columns documents."""
        starts, indices, data = self._arrays
        shape = (len(self.labels), len(self.columns))
        matrix: Any = sparse.csr_array((data, indices, starts), shape=shape).tocsc()
        matrix.sort_indices()
        features, ids = _space(path, self.names), tuple(self.columns)
        pointers = np.asarray(matrix.indptr, np.int64)
        return Counts(pointers, np.asarray(matrix.indices, np.int32), matrix.data, features, ids)


def _space(path: Path, names: Iterable[str]) -> FeatureSpace:
    names = list(names)
    try:
        return FeatureSpace.build(len(names), names)
    except DcompError as error:
        of_numbers = "; the header seems to be missing, for the first line holds numbers"
        hint = of_numbers if all(map(is_number, names)) else ""
        raise InvalidFile(f"{path}:1: {error}{hint}") from None


def _batches(rows: Iterable[Numbered], size: int) -> Iterator[list[Numbered]]:
    """Some rows at a time."""
    batch: list[Numbered] = []
    for numbered in rows:
        batch.append(numbered)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
