"""STRUCTURE's files of genotypes: alleles in columns, two rows per individual or one.

A first line may name the loci; columns in front may say who it is and where it is from. What is
not said is told from the table: rows that come in pairs of one name are two per individual, and
columns in front are those in which both rows of every individual agree.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from dcomp.data.attributes import Attributes
from dcomp.data.counts import Counts
from dcomp.data.features import FeatureSpace
from dcomp.errors import DataWarning, InvalidFile, InvalidParameter, warn
from dcomp.io.categories import Names, names
from dcomp.io.files import OF_NAME, StrPath, text_lines
from dcomp.io.limits import Budget, Limits
from dcomp.io.loci import POPULATION

ID = "id"
_HEADERS = 3  # lines of other length that may come first: names, recessive alleles, distances
_CELL = 80  # bytes that a cell takes until the table is made
_LINE = 200  # bytes that a line of numbers takes beside
_NOTHING = ("NA", "?", ".")
_ASK = "say what stands in front of the genotypes by columns= (such as 'id,population', or 'none')"


def read_structure(
    path: StrPath,
    *,
    columns: Names | None = None,
    rows: int | str | None = None,
    missing: Names | None = None,
    limits: Limits | None = None,
) -> Counts:
    """Read genotypes: one block per locus with the copies of each allele; missing is no count.

    `columns`: what stands in front of the genotypes, such as "id,population" (other names become
    attributes), or "none". `rows`: of each individual, 1 (its alleles side by side) or 2.
    `missing`: the codes of a missing allele; unless given, negative numbers, and 0 where it never
    stands beside another allele.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "birds.str")
    ...     _ = file.write_text("a 1 120 7\\na 1 124 -9\\nb 2 124 9\\nb 2 124 7\\n")
    ...     counts = read_structure(file)
    >>> counts.features.labels
    ('locus1=120', 'locus1=124', 'locus2=7', 'locus2=9')
    >>> counts.to_scipy().toarray().tolist(), counts.attributes["population"].tolist()
    ([[1, 1, 1, 0], [0, 2, 1, 1]], ['1', '2'])
    """
    path = Path(path)
    if rows not in (None, 1, 2, "1", "2"):
        raise InvalidParameter(f"rows must be 1 or 2, of each individual; got {rows!r}")
    table = _read(path, Budget(path, limits))
    front = None if columns is None else names("columns", columns)
    _check_names(front)
    layout = _layout(table, [] if front == ["none"] else front, None if rows is None else int(rows))
    alleles, about = layout.cut(table)
    codes = None if missing is None else names("missing", missing)
    return _counts(table, layout, _checked(table, layout, alleles, codes), about)


def _check_names(front: list[str] | None) -> None:
    """An error for a name that is nearly one of those that mean something."""
    for name in front or ():
        near = get_close_matches(name.lower(), (ID, POPULATION, "none"), 1, 0.75)
        if near and name not in (ID, POPULATION, "none"):
            raise InvalidParameter(
                f"columns: {name!r} would be an attribute of that name; is {near[0]!r} meant?"
            )


@dataclass(frozen=True, slots=True)
class _Table:
    """The words of a file by number; the first line apart, where it names the loci."""

    path: Path
    header: list[str] | None
    words: NDArray[np.int32]  # (line, column)
    values: list[str]  # the word of each number
    lines: list[int]  # where in the file each line is


def _read(path: Path, budget: Budget) -> _Table:
    numbers: dict[str, int] = {}
    found: list[tuple[int, array[int]]] = []
    charged = n_cells = 0
    for number, line in text_lines(path, budget=budget):
        words = line.split()
        if not words:
            continue
        found.append((number, array("i", [numbers.setdefault(w, len(numbers)) for w in words])))
        n_cells += len(words)
        cost = _CELL * n_cells + _LINE * len(found) + OF_NAME * len(numbers)
        budget.charge(cost - charged, f"{len(found):,} lines of genotypes")
        charged = cost
    if len(found) < 2:
        raise InvalidFile(f"{path}: expected two lines of genotypes or more, found {len(found)}")
    return _without_header(path, found, list(numbers))


def _without_header(path: Path, found: list[tuple[int, array[int]]], values: list[str]) -> _Table:
    width = Counter(len(words) for _, words in found).most_common(1)[0][0]
    body = next((i for i, (_, words) in enumerate(found[:_HEADERS]) if len(words) == width), 0)
    header = None if not body else [values[code] for code in found[0][1]]
    if header and len(set(header)) < len(header):
        body, header = 0, None  # no names: a line that lacks a column is said to, below
    for number, words in found[body:]:
        if len(words) != width:
            raise InvalidFile(
                f"{path}:{number}: expected {width} columns as most lines have, found {len(words)}"
            )
    table = np.array([words for _, words in found[body:]], np.int32)
    lines = [number for number, _ in found[body:]]
    if header is None and _is_header(table, values):
        header = [values[code] for code in table[0]]
        table, lines = table[1:], lines[1:]
    return _Table(path, header, table, values, lines)


def _is_header(table: NDArray[np.int32], values: Sequence[str]) -> bool:
    """Whether the first of lines of one length names the columns: its last word is no number, and
    all below it are."""
    is_whole = np.array([_is_whole(value) for value in values])
    return len(table) > 1 and not is_whole[table[0, -1]] and bool(is_whole[table[1:, -1]].all())


def _is_whole(value: str) -> bool:
    return value.isascii() and value.removeprefix("-").isdigit() and len(value) < 10


@dataclass(frozen=True, slots=True)
class _Layout:
    """Rows of each individual, the columns in front, and the names of the loci."""

    rows: int
    front: list[str]
    loci: list[str]

    def cut(self, table: _Table) -> tuple[NDArray[np.int32], dict[str, list[str]]]:
        """The alleles by number, (individual, locus, 2), and the columns in front."""
        n, f = len(table.words) // self.rows, len(self.front)
        body = table.words[:, f:]
        if self.rows == 2:
            alleles = body.reshape(n, 2, -1).transpose(0, 2, 1)
        else:
            alleles = body.reshape(n, -1, 2)
        of_first = table.words[:: self.rows]
        about = {
            name: [table.values[code] for code in of_first[:, c].tolist()]
            for c, name in enumerate(self.front)
        }
        return np.ascontiguousarray(alleles), about


def _layout(table: _Table, front: list[str] | None, rows: int | None) -> _Layout:
    n_lines, width = table.words.shape
    if rows is None:
        rows = _guess_rows(table, front)
    if rows == 2 and n_lines % 2:
        raise InvalidFile(
            f"{table.path}: two rows per individual make an even number of lines; found {n_lines} "
            "lines of genotypes (rows=1 if both alleles are on one line)"
        )
    named = table.header
    whole = named is not None and len(named) == width  # columns in front are named as well
    if front is None:
        n_front = _guess_front(table, rows, None if whole or named is None else len(named))
        front = list(named[:n_front]) if whole and named else _usual(n_front)
    n_alleles = width - len(front)
    if n_alleles < rows % 2 + 1 or (rows == 1 and n_alleles % 2):
        raise InvalidFile(
            f"{table.path}:{table.lines[0]}: {width} columns without {len(front)} in front "
            f"({', '.join(front) or 'none'}) leave {n_alleles} for genotypes, and one row per "
            f"individual has two for each locus: {_ASK}, and rows=2 if it has two rows"
        )
    n_loci = n_alleles if rows == 2 else n_alleles // 2
    loci = None if named is None else named[len(front) :] if whole else named
    if loci is not None and rows == 1 and len(loci) == 2 * n_loci:
        loci = loci[::2]
    if loci is not None and len(loci) != n_loci:
        raise InvalidFile(
            f"{table.path}:1: the first line names {len(loci)} loci, and the lines below have "
            f"{n_loci} behind {len(front)} columns ({', '.join(front) or 'none'}): {_ASK}"
        )
    return _Layout(rows, front, loci or [f"locus{s + 1}" for s in range(n_loci)])


def _guess_rows(table: _Table, front: list[str] | None) -> int:
    """Two where lines come in pairs of one name."""
    names_of = table.words[:, 0]
    if front == []:
        raise InvalidParameter(
            "without columns in front nothing tells how many rows an individual has: give rows=1 "
            "or rows=2"
        )
    in_pairs = not len(names_of) % 2 and bool((names_of[0::2] == names_of[1::2]).all())
    return 2 if in_pairs else 1


def _guess_front(table: _Table, rows: int, n_loci: int | None) -> int:
    """How many columns stand in front of the genotypes."""
    width = table.words.shape[1]
    if n_loci is not None:
        return int(max(width - n_loci * (3 - rows), 0))
    if rows == 2:
        agree = (table.words[0::2] == table.words[1::2]).all(axis=0)
        if agree.all():
            _refuse_front(table, "both rows of every individual agree in all columns")
        return int(np.argmin(agree))
    first = [table.values[code] for code in table.words[:, 0].tolist()]
    if len(set(first)) < len(first):
        _refuse_front(table, "the first column has the same name twice")
    return int(2 - width % 2)  # an id, and a population where the rest would be odd


def _refuse_front(table: _Table, why: str) -> NoReturn:
    raise InvalidFile(f"{table.path}: cannot tell where the genotypes begin, {why}: {_ASK}")


def _usual(n: int) -> list[str]:
    return [ID, POPULATION, *(f"column{c}" for c in range(3, n + 1))][:n]


def _checked(
    table: _Table, layout: _Layout, alleles: NDArray[np.int32], codes: list[str] | None
) -> NDArray[np.int32]:
    """The alleles with -1 for those that are missing; an error where one is no number."""
    values = table.values
    gone = [value in _NOTHING or value.startswith("-") for value in values]
    if codes is not None:
        gone = [value in codes or value in _NOTHING for value in values]
        _check_codes(table, [values[code] for code in np.unique(alleles).tolist()], codes)
    is_gone = np.array(gone)
    if codes is None and "0" in values and not is_gone[alleles].any():
        is_gone[values.index("0")] = _never_beside(alleles, values.index("0"))
    out = np.where(is_gone[alleles], np.int32(-1), alleles)
    whole = np.array([_is_whole(value) for value in values])
    odd = np.argwhere((out >= 0) & ~whole[alleles])
    if len(odd):
        i, s, a = odd[0].tolist()
        line = table.lines[layout.rows * i + (a if layout.rows == 2 else 0)]
        raise InvalidFile(
            f"{table.path}:{line}: alleles must be whole numbers; found "
            f"{values[alleles[i, s, a]]!r} at {layout.loci[s]!r}, behind {len(layout.front)} "
            f"columns ({', '.join(layout.front) or 'none'}): {_ASK}"
        )
    return out


def _check_codes(table: _Table, there: list[str], codes: list[str]) -> None:
    """An error where none of the codes is there, and others that look like one are; a warning where
    nothing is missing."""
    if set(codes) & set(there):
        return
    likely = sorted(value for value in there if value.startswith("-"))
    given = ", ".join(codes)
    if likely:
        raise InvalidParameter(
            f"missing: no allele in {table.path} is {given}, and some are {likely[0]}, which would "
            "be an allele; leave missing= out, or give the code that the file has"
        )
    warn(f"{table.path}: no allele has the code {given} of a missing one", DataWarning)


def _never_beside(alleles: NDArray[np.int32], zero: int) -> bool:
    """Whether 0 stands with 0 alone, though others are mixed: then it is no allele."""
    first, second = alleles[..., 0], alleles[..., 1]
    mixed = first != second
    return bool(mixed.any() and not (mixed & ((first == zero) | (second == zero))).any())


def _counts(
    table: _Table, layout: _Layout, alleles: NDArray[np.int32], about: dict[str, list[str]]
) -> Counts:
    n, n_loci, _ = alleles.shape
    number = np.array([int(v) if _is_whole(v) else 0 for v in table.values], np.int64)
    person, locus, _ = np.nonzero(alleles >= 0)
    size = number[alleles[alleles >= 0]]
    present = np.unique(np.stack([locus, size]), axis=1)
    empty = sorted(set(range(n_loci)) - set(present[0].tolist()))
    if empty:
        raise InvalidFile(
            f"{table.path}: there must be an allele at every locus; {layout.loci[empty[0]]!r} has "
            "none but missing ones"
        )
    span = int(number.max() - number.min()) + 1
    keys = present[0] * span + (present[1] - number.min())
    feature = np.searchsorted(keys, locus * span + (size - number.min()))
    cells, copies = np.unique(person * keys.size + feature, return_counts=True)
    ids = about.pop(ID, None)
    return Counts(
        np.searchsorted(cells, np.arange(n + 1) * keys.size),
        (cells % keys.size).astype(np.int32),
        copies.astype(np.int32),
        FeatureSpace(tuple(map(str, present[1].tolist())), present[0], tuple(layout.loci)),
        None if ids is None else tuple(ids),
        attributes=Attributes(n, about),
        empty_is_missing=True,
    )
