"""Tables in text form, .csv and .tsv, with a header line.

Long: `document, feature, count` (or without the count: 1 each), one entry per line.
Wide: the first column names the document, every other column is a feature (`wide_table.py`).
Between fields are commas, semicolons or tabs (`delimiters.py`).
"""

from __future__ import annotations

import contextlib
import csv
from array import array
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcomp.data.counts import Counts
from dcomp.data.longform import sort_names
from dcomp.data.mistaken import are_texts, excerpt
from dcomp.data.reading import Reading
from dcomp.errors import InvalidFile, InvalidParameter
from dcomp.io.cells import BATCH, Cells, is_number
from dcomp.io.delimiters import MARKS, delimiter_in, delimiter_of
from dcomp.io.encodings import not_utf8
from dcomp.io.files import OF_NAME, SHORT, Guarded, StrPath, opened
from dcomp.io.layout import Layout, Numbered, layout_of
from dcomp.io.limits import Budget, Limits
from dcomp.io.numbers import ENTRY
from dcomp.io.oddities import check_header, say_of_totals, why_not_as_wide
from dcomp.io.wide_table import read_wide

Rows = Generator[tuple[int, list[str]], None, None]
_FIELD = 110  # bytes that a field may take beside its letters


def read_table(
    path: StrPath,
    *,
    layout: Layout | None = None,
    transpose: bool = False,
    label_columns: int | None = None,
    delimiter: str | None = None,
    fractional: bool = False,
    limits: Limits | None = None,
) -> Counts:
    """Read a table; more than three columns mean that it is wide, unless `layout` says, and so do
    three that are called otherwise than those of long tables, where two hold counts.
    `fractional`: whether counts need not be whole.

    `transpose`: features come first, or are the lines of a wide table, and documents its columns.
    `label_columns`: so many columns in front of a wide table name its lines; joined they are the
    names of documents (then each is an attribute, too) or of features; 0 is a table whose
    documents have no names. Of a table that is transposed these are, unless given, the columns in
    front of the first number.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "tiny.csv")
    ...     _ = file.write_text("doc,word,count\\nd1,cat,2\\nd2,ant,1\\n")
    ...     read_table(file).features.names
    ...     _ = file.write_text("type,bases,t1,t2\\nC>A,ACA,0,5\\nC>A,ACC,1,0\\n")
    ...     read_table(file, transpose=True).features.names
    ('ant', 'cat')
    ('C>A ACA', 'C>A ACC')
    """
    path = Path(path)
    if layout not in (None, "long", "wide"):
        raise InvalidParameter(f"layout must be 'long' or 'wide'; found {layout!r}")
    if layout == "long" and label_columns is not None:
        raise InvalidParameter("label_columns are those of a wide table, and layout says 'long'")
    budget = Budget(path, limits)
    with contextlib.closing(table_rows(path, delimiter, budget)) as rows:
        _, header = next(rows, (1, []))
        check_header(path, header, rows=rows)
        front = list(islice(rows, 1))
        check_header(path, header, front[0][1] if front else None)
        below: Iterator[Numbered] = chain(front, rows)
        del front  # a line may be long
        found = False  # by the numbers
        if layout is None and label_columns is not None:
            layout = "wide"
        elif layout is None:
            layout, below, found = layout_of(path, header, below, budget)
        cells = Cells(path, fractional, budget)
        if layout == "wide":
            counts = read_wide(path, header, below, cells, label_columns, transpose)
        else:
            counts = _read_long(path, header, below, cells, transpose)
    say_of_totals(path, counts)
    return _remembering(counts, layout) if found else counts


def _remembering(counts: Counts, layout: Layout) -> Counts:
    """Counts whose layout was told by their numbers: other files of the kind have the same."""
    before = counts.reading or Reading("table", "table")
    return replace(counts, reading=replace(before, layout=layout))


def table_rows(path: Path, delimiter: str | None, budget: Budget) -> Rows:
    """Give the lines' numbers and fields; all have as many fields as the first. The delimiter is
    found unless it is given."""
    line, header, n_rows = 0, list[str](), 0
    marks = MARKS if delimiter is None else (delimiter_of(path, delimiter),)
    with opened(path, budget) as stream:
        lines = _lines(path, stream, marks)
        front = list(islice(lines, 1))
        if front and len(front[0]) <= SHORT:  # two long lines at once would take too much
            front += islice(lines, 1)
        mark = delimiter_in(path, front, delimiter)
        reader = csv.reader(chain(front, lines), delimiter=mark)
        del front
        try:
            for row in reader:
                line = reader.line_num
                if not row:
                    continue
                header, n_rows = header or row, n_rows + 1
                if len(row) != len(header):
                    why = why_not_as_wide(header, row, mark, n_rows == 2)
                    there = f"expected {len(header)} columns, found {len(row)}"
                    raise InvalidFile(f"{path}:{line}: {there}{why}")
                yield line, row
        except csv.Error as error:
            raise InvalidFile(f"{path}:{line + 1}: {error}") from None


def _lines(path: Path, stream: Guarded, marks: Sequence[str]) -> Iterator[str]:
    """The lines with their ends, whatever these are; checked for what their fields will take, with
    any of these marks between."""
    number, between = 0, [mark.encode() for mark in marks]
    while whole := stream.line(number + 1):
        if not number:
            whole = whole.removeprefix(b"\xef\xbb\xbf")
        for raw in _cut(whole):
            number += 1
            if len(raw) > SHORT:
                cost = 5 * len(raw) + _FIELD * max(map(raw.count, between))
                stream.budget.charge(cost, f"line {number:,}, of {len(raw):,} bytes,")
                stream.budget.free(cost)
            if b"\0" in raw:
                raise InvalidFile(f"{path}:{number}: {not_utf8(raw)}")
            try:
                yield raw.decode()
            except UnicodeDecodeError as error:
                raise InvalidFile(f"{path}:{number}: {not_utf8(raw, error)}") from None


def _cut(line: bytes) -> Iterator[bytes]:
    """A line at the returns in it: some programs end lines by those alone."""
    start, body = 0, len(line.rstrip(b"\n").removesuffix(b"\r"))
    while 0 <= (end := line.find(b"\r", start)) < body:
        yield line[start : end + 1]
        start = end + 1
    if start < len(line):
        yield line[start:]


def _read_long(
    path: Path,
    header: list[str],
    rows: Iterator[Numbered],
    cells: Cells,
    transpose: bool = False,
) -> Counts:
    if len(header) > 3:
        raise InvalidFile(f"{path}:1: expected 2 or 3 columns, found {len(header)}")
    if len(header) == 3 and is_number(header[2]):
        raise InvalidFile(
            f"{path}:1: expected a header such as 'document,feature,count', found "
            f"{[excerpt(name) for name in header]}"
        )
    entries = _Entries(cells, header)
    for line, row in rows:
        if len(header) == 2:
            _check_name(path, line, row[1])
        entries.add(line, [row[1], row[0], *row[2:]] if transpose else row)
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
    if is_number(name) and not name.strip().isdigit():
        raise InvalidFile(
            f"{path}:{line}: two columns are read as document and feature, and {name!r} is "
            "no name of a feature; a table of counts needs a first column of document names"
        )


@dataclass(slots=True)
class _Entries:
    """The lines of a long table as they come, in numbers: names are kept once."""

    cells: Cells
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
        if len(self.waiting) == BATCH:
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
