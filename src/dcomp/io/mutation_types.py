"""Tables of mutation types, whichever way round they lie: of tumours, or of signatures."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from dcomp.data.counts import Counts
from dcomp.data.mutations import is_type
from dcomp.errors import InvalidFile, InvalidParameter
from dcomp.io.cells import is_number
from dcomp.io.limits import Budget, Limits
from dcomp.io.table import table_rows

# Formats whose features are words, votes, answers or alleles, and never types of mutations.
_OTHERS = frozenset(
    ("text", "jsonl", "text-table", "voteview", "votes", "categories", "plink", "vcf", "structure")
)


def read_types(path: Path, *, transpose: bool | None = None, **options: Any) -> Counts:
    """A table of mutation types, whichever way round it lies: documents are tumours or signatures.
    transpose: whether types are its lines; told from their names unless given."""
    from dcomp.io.read import guess_format, read

    given = options.pop("format", None)
    name = given or (guess_format(path) if path.exists() else "table")
    if name in _OTHERS:
        raise InvalidFile(
            f"{path}: mutation types are read from a table or a matrix of counts; this is read as "
            f"{name}"
        )
    if name == "table":
        if transpose is None and path.exists():
            transpose = lines_are_types(path, options.get("limits"), options.get("delimiter"))
        options["transpose"] = bool(transpose)
        options.setdefault("layout", "wide")
    elif transpose is not None:
        raise InvalidParameter(f"transpose is said of tables; {path} is read as {name}")
    return read(path, format=name, **options)


def lines_are_types(path: Path, limits: Limits | None = None, delimiter: str | None = None) -> bool:
    """Whether the lines of a table are mutation types, by the first."""
    budget = Budget(path, limits)
    with contextlib.closing(table_rows(path, delimiter, budget)) as rows:
        _, header = next(rows, (1, []))
        _, line = next(rows, (2, []))
    words = []
    for cell in line:
        if is_number(cell):
            break
        words.append(cell)
    return is_type(" ".join(words)) and not is_type(header[-1])
