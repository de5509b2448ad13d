"""What spreadsheets leave in a table beside the counts: titles, commas too many, sums."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dcomp.data.counts import Counts
from dcomp.data.mistaken import excerpt
from dcomp.errors import DataWarning, InvalidFile, warn
from dcomp.io.cells import is_number
from dcomp.io.delimiters import other_mark

_TOTALS = {"total", "totals", "sum", "sums", "grand total", "column total", "row total"}
_TOTALS |= {"gesamt", "summe", "somme", "suma", "totaal"}
_FEW = 3  # of documents or features, below which sums are no surprise
_TITLE = "where this is a title, take it and all lines above the header out"


def check_header(
    path: Path,
    header: list[str],
    first: list[str] | None = None,
    rows: Iterator[tuple[int, list[str]]] | None = None,
) -> None:
    """An error where the first line is a title, has another mark between its fields, or the last
    column is empty; `first` is the line below, or `rows` are all of them.

    >>> check_header(Path("t.csv"), ["My survey"])
    Traceback (most recent call last):
    dcomp.errors.InvalidFile: t.csv:1: expected a header of two or more columns, found 'My survey' \
alone; where this is a title, take it and all lines above the header out
    """
    named = [name for name in header if name.strip()]
    if len(header) < 2 or (len(header) > 2 and len(named) == 1 and header[0].strip()):
        why = _other_mark(header, rows) or _TITLE
        found = f"{excerpt(header[0])!r} alone; {why}" if named else "nothing"
        raise InvalidFile(f"{path}:1: expected a header of two or more columns, found {found}")
    if not header[-1].strip() and first is not None and not first[-1].strip():
        raise InvalidFile(
            f"{path}:1: every column must have a name; the last, after "
            f"{excerpt(header[-2])!r}, has none and is empty: take the delimiter at the end of the "
            "lines out"
        )


def _other_mark(header: list[str], rows: Iterator[tuple[int, list[str]]] | None) -> str:
    """What is between the fields of a header that is one field, or nothing."""
    if rows is None or len(header) != 1:
        return ""
    try:
        _, first = next(rows, (2, []))
    except InvalidFile:  # more fields than the header: that is a title
        return ""
    mark = other_mark(header[0], first[0] if first else "")
    return "" if mark is None else f"delimiter={mark!r} reads fields with {mark!r} between them"


def why_not_as_wide(header: list[str], row: list[str], mark: str, is_first: bool) -> str:
    """What may be wrong with a line that has more or fewer fields than the header, or nothing;
    `is_first`: whether it is the first below it.

    >>> why_not_as_wide(["site", "elm"], ["Fen", "3", ""], ",", True)
    ": take the ',' at the end of the line out"
    """
    if len(row) == len(header) + 1 and not row[-1].strip():
        return f": take the {mark!r} at the end of the line out"
    if len(row) == len(header) - 1 and not header[-1].strip():
        return f": take the {mark!r} at the end of the header out"
    if len(row) < len(header):
        return ""
    if is_first and not any(map(is_number, row)):
        return f"; line 1 begins with {excerpt(header[0])!r}: {_TITLE}"
    of_numbers = ", and a count has none, 1,200 is written 1200" if mark == "," else ""
    return f": a field with {mark!r} in it needs quotes{of_numbers}"


def say_of_totals(path: Path, counts: Counts) -> None:
    """Warn of a document or a feature that is called a total and holds the sums of the others."""
    said = "holds the sums of the others, and would be counted twice: take it out of the table"
    for i, name in enumerate(counts.doc_ids or () if counts.n_docs >= _FEW else ()):
        if _is_total(name) and _are_sums(counts, i, 0):
            warn(f"{path.name}: document {excerpt(name)!r} {said}", DataWarning)
            break
    for j, name in enumerate(counts.features.names or () if counts.n_features >= _FEW else ()):
        if _is_total(name) and _are_sums(counts, j, 1):
            warn(f"{path.name}: feature {excerpt(name)!r} {said}", DataWarning)
            break


def _is_total(name: str) -> bool:
    return name.strip().rstrip(":").lower() in _TOTALS


def _are_sums(counts: Counts, at: int, axis: int) -> bool:
    """Whether this line (axis 0) or column (axis 1) is the sum of all others."""
    matrix = counts.to_scipy()
    own = (matrix[[at], :] if axis == 0 else matrix[:, [at]]).toarray().ravel()
    sums = np.asarray(matrix.sum(axis=axis), np.float64).ravel()
    return bool(own.any() and np.allclose(2.0 * own, sums))
