"""The texts of some documents of a file, to show beside what was found of them."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

from dcomp.data.mail import without_parts
from dcomp.data.text_options import TextOptions
from dcomp.io.files import StrPath, text_lines
from dcomp.io.jsonl import records as json_records
from dcomp.io.limits import Budget, Limits
from dcomp.io.parquet import records as parquet_records
from dcomp.io.read import FORMATS, format_of
from dcomp.io.records import conditions, meets
from dcomp.io.text_table import has_columns
from dcomp.io.text_table import records as table_records
from dcomp.printable import shortened

_OF_LINE = 70


def texts_of(
    path: StrPath,
    numbers: Collection[int],
    options: TextOptions,
    *,
    format: str | None = None,
    where: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    letters: int | None = None,
) -> dict[int, str]:
    """The texts of documents by their numbers, as `dcomp.read` with these options counts them;
    empty where the file holds no text, and without the parts of mail that were left out.
    letters: so many of each at most.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "tiny.jsonl")
    ...     _ = file.write_text('{"text": "A cat."}\\n{"text": "The dog."}\\n')
    ...     texts_of(file, {1}, TextOptions())
    {1: 'The dog.'}
    """
    path, found = Path(path), dict[int, str]()
    budget = Budget(path, limits)
    with contextlib.closing(_texts(path, options, format, where, budget)) as texts:
        for number, text in enumerate(texts):
            if number in numbers:
                text = without_parts(text, options.without)[:letters]
                found[number] = text
                budget.charge(4 * len(text), "the texts that are shown")
            if len(found) == len(numbers):
                break
    return found


def _texts(
    path: Path,
    options: TextOptions,
    format: str | None,
    where: Mapping[str, Any] | None,
    budget: Budget,
) -> Generator[str, None, None]:
    name = _format(path, options, format)
    if name == "text" and path.is_dir():
        for file in sorted(path.rglob("*.txt")):
            yield "\n".join(line for _, line in text_lines(file, budget=budget))
    elif name == "text":
        yield from (line for _, line in text_lines(path, budget=budget))
    elif name in ("jsonl", "parquet", "text-table"):
        wanted = conditions(where)
        for _, record in _records(name, path, options, where, budget):
            if meets(record, wanted):
                yield "\n".join(_text(record.get(field)) for field in options.text)


def _format(path: Path, options: TextOptions, format: str | None) -> str:
    """A table is one of texts where it has their columns; counts have none."""
    kind = format_of(path, format)
    name = next(name for name, known in FORMATS.items() if known is kind)
    is_text = name == "table" and format is None and has_columns(path, options.text)
    return "text-table" if is_text else name


def _records(
    name: str, path: Path, options: TextOptions, where: Mapping[str, Any] | None, budget: Budget
) -> Iterator[tuple[str, dict[str, Any]]]:
    if name == "jsonl":
        return json_records(path, budget)
    if name == "parquet":
        return parquet_records(path, options, budget, where)
    return table_records(path, options, budget)


def _text(value: Any) -> str:
    """A field as text: lists of tokens, or of pairs of bag and token, with spaces between."""
    if isinstance(value, list):
        return " ".join(str(v[-1]) if isinstance(v, list) and v else str(v) for v in value)
    return "" if value is None else str(value)


def snippet(text: str, limit: int = _OF_LINE) -> str:
    """The beginning of a text in one line that is safe to look at.

    >>> snippet("The cat\\n  sat on the mat.", 16)
    'The cat sat on …'
    """
    return shortened(" ".join(text[: 8 * limit].split()), limit)
