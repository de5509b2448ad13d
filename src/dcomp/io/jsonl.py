"""Texts in JSON lines: one object per line, with a text and perhaps an id."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from dcomp.data.counts import Counts
from dcomp.data.text import bag
from dcomp.errors import InvalidFile
from dcomp.io.files import OF_NAME, StrPath, opened
from dcomp.io.limits import Budget, Limits
from dcomp.io.strict_json import parse_json
from dcomp.io.text import word_watch


def read_jsonl(
    path: StrPath,
    *,
    text: str = "text",
    id: str = "id",
    stop_words: Collection[str] | str | None = "english",
    min_count: int = 1,
    min_docs: int = 1,
    max_docs: float = 1.0,
    limits: Limits | None = None,
) -> Counts:
    """Count the words in the field `text` of each object; the field `id`, if there, names it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "tiny.jsonl")
    ...     _ = file.write_text('{"id": "d1", "text": "Cat and dog."}\\n')
    ...     read_jsonl(file).doc_ids
    ('d1',)
    """
    path = Path(path)
    budget = Budget(path, limits)
    ids: list[str] = []
    counts = bag(
        _texts(path, text, id, ids, budget),
        stop_words=stop_words,
        min_count=min_count,
        min_docs=min_docs,
        max_docs=max_docs,
        watch=word_watch(budget),
    )
    return replace(counts, doc_ids=tuple(ids)) if ids else counts


def _texts(path: Path, text: str, id: str, ids: list[str], budget: Budget) -> Iterator[str]:
    """Yield the texts one at a time, so that they are never all in memory; collect the ids."""
    for place, (number, record) in enumerate(_records(path, text, budget)):
        if place and (id in record) != bool(ids):
            raise InvalidFile(f"{path}:{number}: the field {id!r} must be on every line or on none")
        if id in record:
            ids.append(_name(record[id], f"{path}:{number}"))
            budget.charge(OF_NAME // 2 + len(ids[-1]), f"the ids of {len(ids):,} documents")
        yield record[text]


def _records(path: Path, text: str, budget: Budget) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects, each with the number of its line."""
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
            if not isinstance(record, dict) or not isinstance(record.get(text), str):
                raise InvalidFile(
                    f"{path}:{number}: expected an object with text in the field {text!r}, "
                    f"found {line[:40].decode(errors='replace')!r}"
                )
            yield number, record


def _name(value: Any, where: str) -> str:
    """The id of a document, which can be written down."""
    name = str(value)
    if not name.isascii() and any("\ud800" <= letter <= "\udfff" for letter in name):
        raise InvalidFile(f"{where}: an id must be text; found half a character in {name[:40]!r}")
    return name
