"""Matrix Market files, coordinates or arrays, read here from the first line to the last.

scipy.io.mmread is not used: its parser leaves a file's place to a destructor, where an error (of a
foreign file, a damaged archive) ends the whole process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcomp.data.canonical import LIMIT
from dcomp.data.counts import Counts
from dcomp.errors import InvalidFile
from dcomp.io.beside import vocabularies
from dcomp.io.files import (
    Guarded,
    StrPath,
    chunks_of_lines,
    opened,
    plain_name,
    refuse_lines,
    vocabulary,
)
from dcomp.io.limits import Budget, Limits
from dcomp.io.numbers import ENTRY, is_whole, parse_lines, parse_real_lines

_BANNER = "%%MatrixMarket matrix coordinate integer general"
# What each word of the banner after the first may be; a complex number is no count, and the other
# half of a skew-symmetric matrix is negative.
_WORDS: tuple[tuple[str, ...], ...] = (
    ("matrix",),
    ("coordinate", "array"),
    ("integer", "unsigned-integer", "real", "double", "pattern"),
    ("general", "symmetric", "hermitian"),
)


@dataclass(frozen=True, slots=True)
class _Header:
    """What the lines before the numbers say."""

    is_array: bool
    is_pattern: bool  # entries have no values: each counts once
    is_symmetric: bool  # the other triangle is to be added
    n_rows: int
    n_columns: int
    n_entries: int  # lines with numbers that have to follow
    n_lines: int  # up to and with the line of sizes

    @property
    def n_mirrored(self) -> int:
        """Entries of the other triangle, at most."""
        return self.n_entries if self.is_symmetric else 0

    @property
    def layout(self) -> str:
        """What a line holds, in words."""
        if self.is_array:
            return "count"
        return "row column" if self.is_pattern else "row column count"


def read_matrix_market(
    path: StrPath,
    *,
    vocab: StrPath | Sequence[str] | None = None,
    fractional: bool = False,
    limits: Limits | None = None,
) -> Counts:
    """Read a matrix of documents by features; `vocab` names the features, or
    x.mtx.vocab.txt or x.vocab.txt beside x.mtx. `fractional`: whether counts need not be whole.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "tiny.mtx")
    ...     head = "%%MatrixMarket matrix coordinate integer general"
    ...     _ = file.write_text(head + "\\n1 2 1\\n1 2 7\\n")
    ...     read_matrix_market(file).to_scipy().toarray().tolist()
    [[0, 7]]
    """
    path = Path(path)
    budget = Budget(path, limits)
    with opened(path, budget) as stream:
        header = _read_header(path, stream)
        numbers = _read_numbers(path, stream, header)
    if numbers.shape[1] != header.n_entries:
        _refuse(
            path,
            header.n_lines,
            f"the header promises {header.n_entries} entries, the file holds {numbers.shape[1]}",
        )
    names = vocabulary(vocab, vocab_beside(path), budget)[0]
    budget.charge_table(header.n_rows, header.n_columns, header.n_mirrored)
    matrix = _of_array(numbers[0], header) if header.is_array else _of_entries(numbers, header)
    return Counts.from_matrix(matrix, feature_names=names, fractional=fractional)


def vocab_beside(path: Path) -> list[Path]:
    """Where names of a matrix that has none itself may be: x.mtx.vocab.txt, x.vocab.txt.

    >>> vocab_beside(Path("a/x.mtx.gz"))[-1].as_posix()
    'a/x.vocab.txt'
    """
    return vocabularies(path, Path(plain_name(path)).stem + ".vocab.txt")


def _read_header(path: Path, stream: Guarded) -> _Header:
    banner = _line(stream.readline(1 << 16).removeprefix(b"\xef\xbb\xbf"))
    words = banner.lower().split()
    if words[:1] != ["%%matrixmarket"] or len(words) != 1 + len(_WORDS):
        _refuse(path, 1, f"expected a line like {_BANNER!r}, found {banner[:60]!r}")
    for word, known in zip(words[1:], _WORDS, strict=True):
        if word not in known:
            _refuse(path, 1, f"expected {' or '.join(known)}, found {word[:40]!r}")
    _, form, field, symmetry = words[1:]
    is_array, is_symmetric = form == "array", symmetry != "general"
    if is_array and field == "pattern":
        _refuse(path, 1, "an array must hold numbers; found 'array pattern'")
    number, sizes = _read_sizes(path, stream, 2 if is_array else 3)
    n_rows, n_columns = sizes[:2]
    if is_symmetric and n_rows != n_columns:
        _refuse(
            path,
            number,
            f"a {symmetry} matrix must have as many rows as columns; "
            f"found {n_rows} and {n_columns}",
        )
    triangle = n_rows * (n_rows + 1) // 2 if is_symmetric else n_rows * n_columns
    n_entries = triangle if is_array else sizes[2]
    return _Header(is_array, field == "pattern", is_symmetric, n_rows, n_columns, n_entries, number)


def _read_sizes(path: Path, stream: Guarded, n: int) -> tuple[int, list[int]]:
    """The first line that is neither blank nor a comment: its number, and n sizes."""
    number, line = 1, "%"
    while not line or line.startswith("%"):
        raw = stream.readline(1 << 16)
        if not raw:
            _refuse(path, number, "the file ends before the line of sizes")
        number, line = number + 1, _line(raw)
    fields = line.split()
    if len(fields) != n or not all(is_whole(field) for field in fields):
        what = "rows and columns" if n == 2 else "rows, columns and entries"
        _refuse(path, number, f"expected the numbers of {what}, found {line[:40]!r}")
    sizes = [int(field) for field in fields]
    most = max(sizes[:2])
    if most > LIMIT:
        _refuse(path, number, f"rows and columns must be at most {LIMIT}, found {most}")
    return number, sizes


def _read_numbers(path: Path, stream: Guarded, header: _Header) -> NDArray[Any]:
    """The numbers of all lines, (numbers per line, n); places are numbered from 1 and checked."""
    width = len(header.layout.split())
    parts: list[NDArray[Any]] = [np.zeros((width, 0), np.int64)]
    for number, chunk in chunks_of_lines(stream, header.n_lines + 1):
        numbers = _parsed(chunk)
        if numbers is None or (numbers[1] != width).any():
            _refuse_line(path, number, chunk, header)
        part = numbers[0].reshape(-1, width).T
        if not header.is_array and part.size and not _in_range(part, header):
            _refuse_line(path, number, chunk, header)
        cost = 32 if header.is_array else ENTRY + 8
        stream.budget.charge(cost * part.shape[1], "its entries")
        parts.append(part)
    return np.concatenate(parts, axis=1)


def _parsed(chunk: bytes) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
    """Numbers, and how many each line has: whole ones where they all are, which is faster."""
    numbers = parse_lines(chunk)
    # Beyond 64 bits a whole number would be read as another.
    if numbers is not None and numbers.values.max(initial=0) <= LIMIT:
        return None if numbers.after_colon.any() else (numbers.values, numbers.per_line)
    return parse_real_lines(chunk)


def _in_range(part: NDArray[Any], header: _Header) -> bool:
    places = part[:2]
    limits = np.array([[header.n_rows], [header.n_columns]])
    inside = (places >= 1) & (places <= limits) & (places == np.floor(places))
    return bool(inside.all())


def _of_array(values: NDArray[Any], header: _Header) -> NDArray[Any]:
    """Columns one after the other; of a symmetric matrix from the diagonal down."""
    if not header.is_symmetric:
        return values.reshape(header.n_columns, header.n_rows).T
    whole = np.zeros((header.n_rows, header.n_columns), values.dtype)
    column, row = np.triu_indices(header.n_rows)
    whole[row, column] = whole[column, row] = values
    return whole


def _of_entries(numbers: NDArray[Any], header: _Header) -> sparse.coo_array:
    row, column = numbers[:2].astype(np.int32) - 1
    values = np.ones(row.size, np.int32) if header.is_pattern else numbers[2]
    if header.is_symmetric:
        off = row != column
        mirrored = column[off], row[off]
        row, column = np.r_[row, mirrored[0]], np.r_[column, mirrored[1]]
        values = np.r_[values, values[off]]
    return sparse.coo_array((values, (row, column)), shape=(header.n_rows, header.n_columns))


def _refuse_line(path: Path, number: int, chunk: bytes, header: _Header) -> NoReturn:
    def complaint(line: str) -> str | None:
        fields = line.split()
        numbers = [_number(field) for field in fields]
        if len(fields) != len(header.layout.split()) or None in numbers:
            return _not_one(f"expected '{header.layout}', found {line.strip()[:40]!r}")
        if header.is_array:
            return None
        for what, value, limit in zip(
            ("row", "column"), numbers, (header.n_rows, header.n_columns), strict=False
        ):
            if value is None or not (1 <= value <= limit and value == int(value)):
                return _not_one(f"{what} must be a whole number from 1 to {limit}, found {value:g}")
        return None

    refuse_lines(path, number, chunk, complaint)


def _number(field: str) -> float | None:
    try:
        return float(field) if field.isascii() and "_" not in field else None
    except ValueError:
        return None


def _refuse(path: Path, number: int, reason: str) -> NoReturn:
    raise InvalidFile(f"{path}:{number}: {_not_one(reason)}")


def _not_one(reason: str) -> str:
    return f"not a Matrix Market file: {reason}"


def _line(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").strip()
