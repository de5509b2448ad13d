"""Tables in text form, .csv and .tsv, with a header line.

Long: `document, feature, count` (or without the count: 1 each), one entry per line.
Wide: the first column names the document, every other column is a feature.
"""

from __future__ import annotations

import contextlib
import csv
from array import array
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcomp.data.canonical import LIMIT, MISSING, TAKES_ANY
from dcomp.data.counts import Counts
from dcomp.data.features import FeatureSpace
from dcomp.data.longform import sort_names
from dcomp.data.mistaken import are_texts, excerpt, have_many_words
from dcomp.errors import DcompError, InvalidFile, InvalidParameter
from dcomp.io.files import OF_NAME, SHORT, Guarded, StrPath, opened, plain_name
from dcomp.io.limits import Budget, Limits
from dcomp.io.numbers import ENTRY

Rows = Generator[tuple[int, list[str]], None, None]
_BATCH = 4096  # fields that are made numbers at a time
_FIELD = 110  # bytes that a field may take beside its letters


def read_table(
    path: StrPath,
    *,
    layout: Literal["long", "wide"] | None = None,
    delimiter: str | None = None,
    fractional: bool = False,
    limits: Limits | None = None,
) -> Counts:
    """Read a table; more than three columns mean that it is wide, unless `layout` says.
    `fractional`: whether counts need not be whole.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "tiny.csv")
    ...     _ = file.write_text("doc,word,count\\nd1,cat,2\\nd2,ant,1\\n")
    ...     read_table(file).features.names
    ('ant', 'cat')
    """
    path = Path(path)
    if layout not in (None, "long", "wide"):
        raise InvalidParameter(f"layout must be 'long' or 'wide'; found {layout!r}")
    budget = Budget(path, limits)
    with contextlib.closing(table_rows(path, delimiter_of(path, delimiter), budget)) as rows:
        _, header = next(rows, (1, []))
        if len(header) < 2:
            raise InvalidFile(f"{path}:1: expected a header of two or more columns, found {header}")
        if layout is None:
            layout = "wide" if len(header) > 3 else "long"
        read_layout = _read_wide if layout == "wide" else _read_long
        return read_layout(path, header, rows, _Cells(path, fractional, budget))


def delimiter_of(path: Path, given: str | None = None) -> str:
    """What stands between fields: as told, or by the name of the file.

    >>> delimiter_of(Path("a.tsv.gz")), delimiter_of(Path("a.csv"))
    ('\\t', ',')
    """
    if given is None:
        return "\t" if plain_name(path).lower().endswith(".tsv") else ","
    if len(given) != 1:
        raise InvalidParameter(f"delimiter must be one character; found {given!r}")
    return given


def table_rows(path: Path, delimiter: str, budget: Budget) -> Rows:
    """Give the lines' numbers and fields; all have as many fields as the first."""
    line, width = 0, 0
    with opened(path, budget) as stream:
        reader = csv.reader(_lines(path, stream, delimiter), delimiter=delimiter)
        try:
            for row in reader:
                line = reader.line_num
                if row and len(row) != (width := width or len(row)):
                    raise InvalidFile(f"{path}:{line}: expected {width} columns, found {len(row)}")
                if row:
                    yield line, row
        except csv.Error as error:
            raise InvalidFile(f"{path}:{line + 1}: {error}") from None


def _lines(path: Path, stream: Guarded, delimiter: str) -> Iterator[str]:
    """The lines with their ends, whatever these are; checked for what their fields will take."""
    number, mark = 0, delimiter.encode()
    while whole := stream.line(number + 1):
        if not number:
            whole = whole.removeprefix(b"\xef\xbb\xbf")
        for raw in _cut(whole):
            number += 1
            if len(raw) > SHORT:
                cost = 5 * len(raw) + _FIELD * raw.count(mark)
                stream.budget.charge(cost, f"line {number:,}, of {len(raw):,} bytes,")
                stream.budget.free(cost)
            if b"\0" in raw:
                raise InvalidFile(f"{path}:{number}: text is not utf-8: it holds a NUL")
            try:
                yield raw.decode()
            except UnicodeDecodeError as error:
                raise InvalidFile(f"{path}:{number}: text is not utf-8: {error}") from None


def _cut(line: bytes) -> Iterator[bytes]:
    """A line at the returns in it: some programs end lines by those alone."""
    start, body = 0, len(line.rstrip(b"\n").removesuffix(b"\r"))
    while 0 <= (end := line.find(b"\r", start)) < body:
        yield line[start : end + 1]
        start = end + 1
    if start < len(line):
        yield line[start:]


@dataclass(frozen=True, slots=True)
class _Cells:
    """Counts out of fields, whole ones or fractional ones."""

    path: Path
    fractional: bool
    budget: Budget

    @property
    def code(self) -> str:
        """Of an `array` of counts."""
        return "d" if self.fractional else "i"

    def numbers(self, fields: list[str], places: Iterable[tuple[int, str]]) -> NDArray[Any]:
        """Of these fields; places have the line and column of each, for an error."""
        values = _plain(fields)
        if values is None:
            placed = zip(fields, places, strict=True)
            found = [self._count(field, *place) for field, place in placed]
            values = np.array(found, np.float64 if self.fractional else np.int32)
        return values.astype(np.float64) if self.fractional else values

    def _count(self, field: str, line: int, column: str) -> float:
        value = float(field) if _is_number(field) else -1.0
        if not (0 <= value <= LIMIT and (self.fractional or value.is_integer())):
            kind = "numbers" if self.fractional else "whole numbers"
            hint = "" if self.fractional or not 0 <= value <= LIMIT else f" ({TAKES_ANY})"
            raise InvalidFile(
                f"{self.path}:{line}: counts must be non-negative {kind} up to {LIMIT}; "
                f"found {excerpt(field)!r} in column {column!r}{hint or _no_count(field, column)}"
            )
        return value


def _no_count(field: str, column: str) -> str:
    """Which formats take words where counts are expected; how missing is written."""
    if field.strip().lower() in ("", "nan", "na", "null", "none"):
        return f": {MISSING}"
    if _is_number(field):
        return ""
    if have_many_words([field]):
        return f" (whole texts are read by text={column!r})"
    return " (format='categories' reads a table of answers, format='votes' one of votes)"


def _read_long(path: Path, header: list[str], rows: Rows, cells: _Cells) -> Counts:
    if len(header) > 3:
        raise InvalidFile(f"{path}:1: expected 2 or 3 columns, found {len(header)}")
    if len(header) == 3 and _is_number(header[2]):
        raise InvalidFile(
            f"{path}:1: expected a header such as 'document,feature,count', found {header}"
        )
    entries = _Entries(cells, header)
    for line, row in rows:
        if len(header) == 2:
            _check_name(path, line, row[1])
        entries.add(line, row)
    if not entries.documents:
        raise InvalidFile(f"{path}: there must be at least one line below the header")
    if are_texts(entries.features, len(entries.rows)):
        raise InvalidFile(
            f"{path}: the second column of a long table must name features; column {header[1]!r} "
            f"holds whole texts, {excerpt(next(iter(entries.features)))!r}: "
            f"text={header[1]!r} counts their words"
        )
    return entries.counts()


def _check_name(path: Path, line: int, name: str) -> None:
    # Whole numbers may be the ids of features; other numbers are measured or counted.
    if _is_number(name) and not name.strip().isdigit():
        raise InvalidFile(
            f"{path}:{line}: two columns are read as document and feature, and {name!r} is "
            "no name of a feature; a table of counts needs a first column of document names"
        )


@dataclass(slots=True)
class _Entries:
    """The lines of a long table as they come, in numbers: names are kept once."""

    cells: _Cells
    header: list[str]
    documents: dict[str, int] = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)
    rows: array[int] = field(default_factory=lambda: array("i"))
    columns: array[int] = field(default_factory=lambda: array("i"))
    values: array[Any] = field(default_factory=lambda: array("i"))
    waiting: list[tuple[int, str]] = field(default_factory=list)  # lines and counts of the last
    charged: int = 0

    def add(self, line: int, row: list[str]) -> None:
        """One line."""
        self.rows.append(self.documents.setdefault(row[0], len(self.documents)))
        self.columns.append(self.features.setdefault(row[1], len(self.features)))
        self.waiting.append((line, row[-1]))
        if len(self.waiting) == _BATCH:
            self._settle()

    def _settle(self) -> None:
        """Make numbers of the counts that wait, and charge what is new."""
        if len(self.header) == 3 and self.waiting:
            if not self.values:
                self.values = array(self.cells.code)
            places = ((line, self.header[2]) for line, _ in self.waiting)
            found = self.cells.numbers([count for _, count in self.waiting], places)
            self.values.frombytes(found.tobytes())
        self.waiting.clear()
        n_names = len(self.documents) + len(self.features)
        cost = 20 * len(self.rows) + OF_NAME * n_names
        what = f"{len(self.rows):,} entries with {n_names:,} names"
        self.cells.budget.charge(cost - self.charged, what)
        self.charged = cost

    def counts(self) -> Counts:
        """All of them as a table."""
        self._settle()
        ids, names = list(self.documents), list(self.features)
        self.documents.clear()
        self.features.clear()
        budget, n = self.cells.budget, len(self.rows)
        budget.free(self.charged)
        budget.charge(ENTRY * n + 90 * (len(ids) + len(names)), f"a table of {n:,} entries")
        columns = np.frombuffer(self.columns, np.int32)
        names = sort_names(columns, names)
        values: NDArray[Any] = np.ones(n, np.int32)
        if len(self.header) == 3:
            values = np.frombuffer(self.values, np.dtype(self.cells.code))
        at = (np.frombuffer(self.rows, np.int32), columns)
        matrix = sparse.coo_array((values, at), shape=(len(ids), len(names)))
        fractional = self.cells.fractional
        return Counts.from_matrix(matrix, feature_names=names, doc_ids=ids, fractional=fractional)


def _read_wide(path: Path, header: list[str], rows: Rows, cells: _Cells) -> Counts:
    cells.budget.charge(OF_NAME * len(header), f"{len(header):,} columns")
    try:
        features = FeatureSpace.build(len(header) - 1, header[1:])
    except DcompError as error:
        raise InvalidFile(f"{path}:1: {error}") from None
    ids: list[str] = []
    indices, data, lengths = array("i"), array(cells.code), array("q", [0])
    for batch in _batches(rows, max(1, _BATCH // len(header))):
        ids += [row[0] for _, row in batch]
        fields = [count for _, row in batch for count in row[1:]]
        places = ((line, name) for line, _ in batch for name in header[1:])
        values = cells.numbers(fields, places).reshape(len(batch), -1)
        row, column = np.nonzero(values)
        cost = sum(len(name) for name in ids[-len(batch) :]) + 70 * len(batch) + 16 * row.size
        cells.budget.charge(cost, f"{len(ids):,} documents")
        indices.frombytes(column.astype(np.int32).tobytes())
        data.frombytes(values[row, column].tobytes())
        lengths.extend(np.count_nonzero(values, axis=1).tolist())
    if not ids:
        raise InvalidFile(f"{path}: there must be at least one line below the header")
    starts = np.cumsum(np.frombuffer(lengths, np.int64))
    kept = np.frombuffer(data, np.dtype(cells.code))
    return Counts(starts, np.frombuffer(indices, np.int32), kept, features, tuple(ids))


def _batches(rows: Rows, size: int) -> Iterator[list[tuple[int, list[str]]]]:
    """Some rows at a time."""
    batch: list[tuple[int, list[str]]] = []
    for numbered in rows:
        batch.append(numbered)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _plain(fields: list[str]) -> NDArray[np.int32] | None:
    """The counts if all are plain whole numbers in range, the common case, or None."""
    try:
        values = np.array([int(field) for field in fields], np.int64)
        in_range = values.min() >= 0 and values.max() <= LIMIT
    except (ValueError, OverflowError):
        return None
    # The range is looked at in 64 bits: in 32, NumPy before 2.0 makes 1 of 4294967297.
    return values.astype(np.int32) if in_range else None


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
