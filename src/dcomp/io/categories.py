"""Tables of categories in text form, .csv and .tsv with a header: a row per document, a question
per column."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from dcomp.data.categories import Column, column_name, from_columns, turned
from dcomp.data.counts import Counts
from dcomp.errors import InvalidFile, InvalidParameter
from dcomp.io.files import OF_NAME, StrPath
from dcomp.io.limits import Budget, Limits
from dcomp.io.oddities import check_header
from dcomp.io.table import table_rows

_TAKEN = 1024  # rows that are charged at a time
_CELL = 24  # bytes that a cell takes: its number, and what the table is made from
ID = "id"  # the column that names the documents where no other is said to
Names = Iterable[str] | str


def read_categories(
    path: StrPath,
    *,
    attributes: Names = (),
    codes: Names | bool = (),
    id: str | None = None,
    missing: Names = (),
    transpose: bool = False,
    delimiter: str | None = None,
    limits: Limits | None = None,
) -> Counts:
    """Read answers, votes or grades: one block of features per column, none where it is empty.

    Columns of words are questions. Columns of numbers are attributes, unless `codes` names them
    ("all": all of them), and so are those that `attributes` names. `id` names the column that names
    the documents: "id", if there and filled, unless another is said. `missing` are further ways to
    say that nothing was answered, beside an empty cell. With `transpose` the questions are the
    documents. Names may be text with commas between.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "tiny.csv")
    ...     _ = file.write_text("who,honest,knows,age\\nAnn,well,badly,40\\nBob,,well,50\\n")
    ...     counts = read_categories(file, id="who")
    >>> counts.features.labels, counts.to_scipy().toarray().tolist()
    (('honest=well', 'knows=badly', 'knows=well'), [[1, 1, 0], [0, 0, 1]])
    >>> counts.doc_ids, counts.attributes["age"].tolist()
    (('Ann', 'Bob'), [40, 50])
    """
    path = Path(path)
    columns = read_columns(path, names("missing", missing), delimiter, limits)
    wanted: Sequence[str] | bool = codes if isinstance(codes, bool) else names("codes", codes)
    if wanted == ["all"]:
        wanted = True
    about = names("attributes", attributes)
    if id is None:
        id = _usual_id(columns, [*about, *([] if isinstance(wanted, bool) else wanted)])
    ids = None
    if id is not None:
        columns, ids = without_id(path, columns, id)
    counts = from_columns(columns, attributes=about, codes=wanted, doc_ids=ids)
    return turned(counts) if transpose else counts


def names(option: str, given: Names) -> list[str]:
    """Names with commas between, or a list of them.

    >>> names("attributes", "party, age")
    ['party', 'age']
    """
    parts = given.split(",") if isinstance(given, str) else list(given)
    found = [part.strip() if isinstance(part, str) else part for part in parts]
    if not all(isinstance(part, str) for part in found):
        raise InvalidParameter(f"{option} must be names; got {given!r}")
    return [part for part in found if part]


def read_columns(
    path: Path,
    missing: Iterable[str] = (),
    delimiter: str | None = None,
    limits: Limits | None = None,
    budget: Budget | None = None,
) -> list[Column]:
    """The columns of a table with a header; empty cells are missing, and so are those of
    `missing`."""
    gaps = {"", *missing}
    budget = Budget(path, limits) if budget is None else budget
    with contextlib.closing(table_rows(path, delimiter, budget)) as rows:
        _, header = next(rows, (1, []))
        check_header(path, header, rows=rows)
        budget.charge(2 * OF_NAME * len(header), f"{len(header):,} columns")
        columns = [Column(name.strip()) for name in header]
        often = Counter(column.name for column in columns)
        if len(often) < len(columns):
            twice = next(name for name in often if often[name] > 1)
            raise InvalidFile(
                f"{path}:1: columns must differ in their names; {twice!r} is there twice"
            )
        charged = n_rows = 0
        for _, row in rows:
            for column, cell in zip(columns, row, strict=True):
                value = cell.strip()
                column.add(None if value in gaps else value)
            n_rows += 1
            if n_rows % _TAKEN == 1:
                n_values = sum(len(column.values) for column in columns)
                cost = _CELL * len(columns) * (n_rows + _TAKEN) + OF_NAME * n_values
                budget.charge(cost - charged, f"{n_rows:,} rows with {n_values:,} values")
                charged = cost
    if not n_rows:
        raise InvalidFile(f"{path}: there must be at least one line below the header")
    return columns


def _usual_id(columns: list[Column], taken: list[str]) -> str | None:
    """The column "id", unless it has gaps, is said to be something else, or is all there is."""
    said = {name.lower() for name in taken}
    found = [column for column in columns if column.name.lower() == ID]
    is_one = len(found) == 1 < len(columns) and ID not in said and -1 not in found[0].codes
    return found[0].name if is_one else None


def without_id(path: Path, columns: list[Column], id: str) -> tuple[list[Column], list[str]]:
    """The other columns, and what this one calls the documents."""
    called = column_name("id", id, [column.name for column in columns])
    own = next(column for column in columns if column.name == called)
    values = list(own.values)
    if -1 in own.codes:
        raise InvalidFile(f"{path}: column {id!r} names the documents, and is empty in some rows")
    return [column for column in columns if column is not own], [values[c] for c in own.codes]
