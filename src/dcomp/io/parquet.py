"""Parquet files with a column of text, by pyarrow: a document per row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dcomp.data.counts import Counts
from dcomp.data.text_options import TextOptions
from dcomp.errors import DcompError, InvalidFile, MissingDependency
from dcomp.io.files import StrPath
from dcomp.io.limits import Budget, Limits
from dcomp.io.records import ID, conditions, count_records
from dcomp.io.text_table import check_columns

_ROWS = 256  # read at a time


def read_parquet(
    path: StrPath,
    *,
    where: Mapping[str, Any] | None = None,
    options: TextOptions | None = None,
    free_labels: bool = False,
    limits: Limits | None = None,
) -> Counts:
    """Count the words in the text columns; the column "id", if there, names the documents.

    where: values by column; rows that have others are left out. free_labels: whether the columns
    of labels may be missing.

    >>> read_parquet("absent.parquet")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'absent.parquet'
    """
    path, options = Path(path), options or TextOptions()
    budget = Budget(path, limits)
    budget.trust(path.stat().st_size)
    try:
        found = records(path, options, budget, where, free_labels)
        return count_records(found, options, budget, where, free_labels)
    except (DcompError, OSError, MemoryError):
        raise
    except Exception as error:  # of pyarrow, which has many
        raise InvalidFile(f"{path}: not a parquet file: {error}"[:300]) from None


def records(
    path: Path,
    options: TextOptions,
    budget: Budget,
    where: Mapping[str, Any] | None,
    free_labels: bool = False,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows, each with its place, of the columns that are asked for."""
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingDependency(
            'parquet files need pyarrow, which is not installed: pip install "dcomp[text]"'
        ) from None
    # Repeated values stay numbers until they are looked at: a page of a kilobyte may stand for
    # gigabytes of text.
    with parquet.ParquetFile(path) as probe:
        columns = list(probe.schema_arrow.names)
        paths = [probe.schema.column(place).path for place in range(len(probe.schema))]
        _check_size(probe, budget)
    check_columns(path, columns, options, free_labels)
    named = {*options.text, *options.labels, options.id or ID, *conditions(where)}
    chosen = [name for name in columns if name in named]
    number = unpacked = 0
    size = path.stat().st_size
    repeated = [place for place in paths if place.split(".")[0] in chosen]  # of lists, too
    with parquet.ParquetFile(path, read_dictionary=repeated) as file:
        for batch in file.iter_batches(_ROWS, columns=chosen, use_threads=False):
            for row in range(batch.num_rows):
                number += 1
                record = {name: batch.column(name)[row].as_py() for name in chosen}
                cost = sum(map(_cost, record.values()))
                budget.charge(cost, f"row {number:,}")
                unpacked += cost // 4  # letters; few of them may be said many times
                budget.unpacked(unpacked, size)
                yield f"{path}: row {number:,}", record
                budget.free(cost)


def _cost(value: Any) -> int:
    """Bytes that a cell may take: a text, or a list of tokens."""
    if isinstance(value, list):
        return 60 * len(value) + sum(map(_cost, value))
    return 4 * len(value) if isinstance(value, str) else 0


def _check_size(file: Any, budget: Budget) -> None:
    """What the file says that it holds, before it is unpacked. Columns are not asked: what is wrong
    with their statistics ends the process (pyarrow 26)."""
    found = file.metadata
    for group in range(found.num_row_groups):
        size = max(found.row_group(group).total_byte_size, 0)
        budget.charge(size, f"row group {group}")
        budget.free(size)
    budget.charge(max(found.num_rows, 0) // 8, f"{found.num_rows:,} rows")
