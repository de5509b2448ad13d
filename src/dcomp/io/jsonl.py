"""Texts in JSON lines: one object per line, with texts, labels and perhaps an id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dcomp.data.counts import Counts
from dcomp.data.text_options import TextOptions
from dcomp.errors import InvalidFile
from dcomp.io.files import StrPath, opened
from dcomp.io.limits import Budget, Limits
from dcomp.io.records import count_records
from dcomp.io.strict_json import parse_json


def read_jsonl(
    path: StrPath,
    *,
    where: Mapping[str, Any] | None = None,
    options: TextOptions | None = None,
    free_labels: bool = False,
    limits: Limits | None = None,
) -> Counts:
    """Count the words in the text fields of each object; the field "id", if there, names it.

    where: values by field; objects that have others are left out. free_labels: whether the fields
    of labels may be missing.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "tiny.jsonl")
    ...     _ = file.write_text('{"id": "d1", "text": "Cat and dog."}\\n')
    ...     read_jsonl(file).doc_ids
    ('d1',)
    """
    path = Path(path)
    budget = Budget(path, limits)
    found, options = records(path, budget), options or TextOptions()
    return count_records(found, options, budget, where, free_labels)


def records(path: Path, budget: Budget) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects, each with its place; one at a time, so that they are never all in memory."""
    number = 0
    with opened(path, budget) as stream:
        while line := stream.line(number + 1):
            number += 1
            line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if not line.strip():
                continue
            try:
                record = parse_json(line, budget, f"line {number:,}")
            except InvalidFile:
                raise
            except ValueError as error:
                raise InvalidFile(f"{path}:{number}: not a JSON object: {error}") from None
            if not isinstance(record, dict):
                raise InvalidFile(
                    f"{path}:{number}: expected an object with text in the field 'text', "
                    f"found {line[:40].decode(errors='replace')!r}"
                )
            yield f"{path}:{number}", record
