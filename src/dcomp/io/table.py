"""Tables in text form, .csv and .tsv, with a header line.

Long: `document, feature, count` (or without the count: 1 each), one entry per line.
Wide: the first column names the document, every other column is a feature.
"""

from __future__ import annotations

import contextlib
import csv
import io
from array import array
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dcomp.data.canonical import LIMIT, TAKES_ANY, Rows
from dcomp.data.counts import Counts
from dcomp.data.features import FeatureSpace
from dcomp.errors import DcompError, InvalidFile, InvalidParameter
from dcomp.io.files import StrPath, opened, plain_name, text_lines

_Rows = Generator[tuple[int, list[str]], None, None]


def read_table(
    path: StrPath,
    *,
    layout: Literal["long", "wide"] | None = None,
    delimiter: str | None = None,
    fractional: bool = False,
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
    if delimiter is None:
        delimiter = "\t" if plain_name(path).lower().endswith(".tsv") else ","
    if len(delimiter) != 1:
        raise InvalidParameter(f"delimiter must be one character; found {delimiter!r}")
    with contextlib.closing(_rows(path, delimiter)) as rows:
        _, header = next(rows, (1, []))
        if len(header) < 2:
            raise InvalidFile(f"{path}:1: expected a header of two or more columns, found {header}")
        if layout is None:
            layout = "wide" if len(header) > 3 else "long"
        read_layout = _read_wide if layout == "wide" else _read_long
        return read_layout(path, header, rows, _Cells(path, fractional))


def _rows(path: Path, delimiter: str) -> _Rows:
    """Give the lines' numbers and fields; all have as many fields as the first."""
    line, width = 0, 0
    try:
        with opened(path) as stream:
            text = io.TextIOWrapper(stream, "utf-8-sig", newline="")
            reader = csv.reader(text, delimiter=delimiter)
            for row in reader:
                line = reader.line_num
                if row and len(row) != (width := width or len(row)):
                    raise InvalidFile(f"{path}:{line}: expected {width} columns, found {len(row)}")
                if row:
                    yield line, row
    except csv.Error as error:
        raise InvalidFile(f"{path}:{line + 1}: {error}") from None
    except UnicodeDecodeError as error:
        # Text is decoded ahead of the line at hand, so only a second reading finds the line.
        for _ in text_lines(path):
            pass
        raise InvalidFile(f"{path}: text is not utf-8: {error}") from None


@dataclass(frozen=True, slots=True)
class _Cells:
    """Counts out of fields, whole ones or fractional ones."""

    path: Path
    fractional: bool

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
                f"found {field!r} in column {column!r}{hint}"
            )
        return value


def _read_long(path: Path, header: list[str], rows: _Rows, cells: _Cells) -> Counts:
    if len(header) > 3:
        raise InvalidFile(f"{path}:1: expected 2 or 3 columns, found {len(header)}")
    if len(header) == 3 and _is_number(header[2]):
        raise InvalidFile(
            f"{path}:1: expected a header such as 'document,feature,count', found {header}"
        )
    lines, documents, features, fields = array("q"), [], [], []
    for line, row in rows:
        lines.append(line)
        documents.append(row[0])
        features.append(row[1])
        fields.append(row[-1])
    if not documents:
        raise InvalidFile(f"{path}: there must be at least one line below the header")
    if len(header) == 2:
        for line, name in zip(lines, features, strict=True):
            # Whole numbers may be the ids of features; other numbers are measured or counted.
            if _is_number(name) and not name.strip().isdigit():
                raise InvalidFile(
                    f"{path}:{line}: two columns are read as document and feature, and {name!r} is "
                    "no name of a feature; a table of counts needs a first column of document names"
                )
        return Counts.from_table(documents, features, fractional=cells.fractional)
    counts = cells.numbers(fields, ((line, header[2]) for line in lines))
    return Counts.from_table(documents, features, counts, fractional=cells.fractional)


def _read_wide(path: Path, header: list[str], rows: _Rows, cells: _Cells) -> Counts:
    try:
        features = FeatureSpace.build(len(header) - 1, header[1:])
    except DcompError as error:
        raise InvalidFile(f"{path}:1: {error}") from None
    ids: list[str] = []
    indices: list[NDArray[np.int32]] = []
    data: list[NDArray[Any]] = []
    lengths = [0]
    for line, row in rows:
        ids.append(row[0])
        values = cells.numbers(row[1:], ((line, name) for name in header[1:]))
        indices.append(np.flatnonzero(values).astype(np.int32))
        data.append(values[indices[-1]])
        lengths.append(indices[-1].size)
    if not ids:
        raise InvalidFile(f"{path}: there must be at least one line below the header")
    parts = Rows(np.cumsum(lengths), np.concatenate(indices), np.concatenate(data))
    return Counts(*parts, features, tuple(ids))


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
