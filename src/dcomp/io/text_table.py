"""Tables with a column of text, .csv and .tsv: a document per row."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dcomp.data.counts import Counts
from dcomp.data.mistaken import excerpt
from dcomp.data.text_options import TextOptions
from dcomp.errors import InvalidFile
from dcomp.io.delimiters import delimiter_in
from dcomp.io.files import StrPath, opened
from dcomp.io.limits import Budget, Limits
from dcomp.io.records import count_records
from dcomp.io.table import table_rows

_LONGEST = 1 << 21  # characters of a cell; the csv module's own limit is too low for texts


def read_text_table(
    path: StrPath,
    *,
    where: Mapping[str, Any] | None = None,
    delimiter: str | None = None,
    options: TextOptions | None = None,
    free_labels: bool = False,
    limits: Limits | None = None,
) -> Counts:
    """Count the words in the text columns; the column "id", if there, names the documents.

    where: values by column; rows that have others are left out. free_labels: whether the columns
    of labels may be missing.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "tiny.csv")
    ...     _ = file.write_text('stars,review\\n5,"Good, good cat"\\n')
    ...     counts = read_text_table(file, options=TextOptions(text="review", labels="stars"))
    >>> counts.features.names, counts.attributes["stars"].tolist()
    (('cat', 'good'), [5])
    """
    path, options = Path(path), options or TextOptions()
    budget = Budget(path, limits)
    with contextlib.closing(records(path, options, budget, delimiter, free_labels)) as found:
        counts = count_records(found, options, budget, where, free_labels)
    if not counts.attributes:
        return counts
    return counts.with_attributes({n: _typed(counts.attributes[n]) for n in counts.attributes})


def records(
    path: Path,
    options: TextOptions,
    budget: Budget,
    delimiter: str | None = None,
    free_labels: bool = False,
) -> Generator[tuple[str, dict[str, Any]], None, None]:
    """The rows, each with its place."""
    rows = table_rows(path, delimiter, budget)
    with _long_cells(), contextlib.closing(rows):
        _, header = next(rows, (1, []))
        check_columns(path, header, options, free_labels)
        for line, row in rows:
            yield f"{path}:{line}", dict(zip(header, row, strict=True))


def check_columns(
    path: Path, header: Sequence[str], options: TextOptions, free_labels: bool = False
) -> None:
    """An error unless the columns of text, id and labels are there, and no two are alike;
    free_labels: those of labels may be missing."""
    twice = [name for name in header if list(header).count(name) > 1] if len(header) < 999 else []
    if twice:
        raise InvalidFile(f"{path}:1: columns must differ; {twice[0]!r} is there twice")
    labels = () if free_labels else options.labels
    named = (*options.text, *labels, *((options.id,) if options.id else ()))
    for name in named:
        if name not in header:
            there = ", ".join(repr(excerpt(name)) for name in header[:20]) or "none"
            raise InvalidFile(f"{path}:1: there is no column {name!r}; there are {there}")


def has_columns(path: Path, names: Sequence[str]) -> bool:
    """Whether the first line of a table has columns of these names."""
    return set(names) <= set(header_of(path))


def header_of(path: Path, delimiter: str | None = None) -> list[str]:
    """The columns that the first line of a table names; none where it is no such line."""
    with opened(path) as stream:
        raw = [stream.readline(1 << 20).removeprefix(b"\xef\xbb\xbf"), stream.readline(1 << 20)]
    front = [line.decode("utf-8", "replace") for line in raw if line]
    try:
        return next(csv.reader(front[:1], delimiter=delimiter_in(path, front, delimiter)), [])
    except csv.Error:
        return []


@contextlib.contextmanager
def _long_cells() -> Iterator[None]:
    before = csv.field_size_limit(_LONGEST)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _typed(cells: Iterable[Any]) -> list[Any]:
    """Numbers where all cells are such, but for empty ones; else text."""
    for kind in (int, float):
        with contextlib.suppress(ValueError, OverflowError):
            return [None if cell in ("", None) else kind(cell) for cell in cells]
    return [cell or None for cell in cells]
