"""Counts as .csv and .tsv, long or wide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dcomp.data.counts import Counts
from dcomp.errors import InvalidParameter
from dcomp.io.delimiters import delimiter_of
from dcomp.io.write_sparse import names_of, text
from dcomp.printable import for_spreadsheet

_CELLS = 50_000_000  # of a wide table, beyond which nobody can open it


def quoted(cell: str, delimiter: str = ",") -> str:
    """A cell of a CSV file; the csv module leaves a carriage return as it is, and its own reader
    then takes it for the end of a row.

    >>> quoted("cat"), quoted('the "cat", they say')
    ('cat', '"the ""cat"", they say"')
    """
    needs = set(cell) & {delimiter, '"', "\r", "\n"} or not cell
    return '"' + cell.replace('"', '""') + '"' if needs else cell


def write_table(
    counts: Counts, path: Path, layout: str | None = None, spreadsheet: bool = False
) -> None:
    """A line per entry, or with the layout "wide" a line per document. Documents without counts
    have a line with 0 in a long table, and so have features."""
    if layout not in (None, "long", "wide"):
        raise InvalidParameter(f"layout must be 'long' or 'wide'; found {layout!r}")
    delimiter = delimiter_of(path)
    given = names_of(counts)
    names = list(given or (f"feature {j}" for j in range(counts.n_features)))
    ids = list(counts.doc_ids or map(str, range(counts.n_docs)))
    for name in (*names, *ids):
        if "\0" in name:
            raise InvalidParameter(f"{path.name} cannot hold a NUL, which the name {name!r} has")
    exact = for_spreadsheet if spreadsheet else str
    cells = [[quoted(exact(name), delimiter) for name in some] for some in (ids, names)]
    with text(path) as lines:
        if layout == "wide":
            _write_wide(lines, counts, cells[0], cells[1], delimiter)
        else:
            _write_long(lines, counts, cells[0], cells[1], delimiter)


def _write_long(
    lines: Any, counts: Counts, ids: list[str], names: list[str], delimiter: str
) -> None:
    lines.write(delimiter.join(("document", "feature", "count")) + "\n")
    empty = iter((counts.feature_docs == 0).nonzero()[0].tolist())
    for i, name in enumerate(ids):
        own = slice(*counts.indptr[i : i + 2].tolist())
        pairs = list(zip(counts.indices[own].tolist(), counts.data[own].tolist(), strict=True))
        pairs = pairs or [(next(empty, 0), 0)]  # so that the document is there
        lines.writelines(f"{name}{delimiter}{names[j]}{delimiter}{c!r}\n" for j, c in pairs)
    lines.writelines(f"{ids[0]}{delimiter}{names[j]}{delimiter}0\n" for j in empty)


def _write_wide(
    lines: Any, counts: Counts, ids: list[str], names: list[str], delimiter: str
) -> None:
    if counts.n_docs * counts.n_features > _CELLS:
        raise InvalidParameter(
            f"a wide table of {counts.n_docs:,} documents by {counts.n_features:,} features is too "
            f"large ({_CELLS:,} cells at most); write a long one"
        )
    lines.write(delimiter.join(("document", *names)) + "\n")
    table: Any = counts.to_scipy()
    for i, name in enumerate(ids):
        row = table[[i]].toarray()[0].tolist()
        lines.write(delimiter.join((name, *map(repr, row))) + "\n")
