"""Texts in JSON lines: one object per line, with a text and perhaps an id."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from dcomp.data.counts import Counts
from dcomp.data.text import bag
from dcomp.errors import InvalidFile
from dcomp.io.files import StrPath, text_lines


def read_jsonl(
    path: StrPath,
    *,
    text: str = "text",
    id: str = "id",
    stop_words: Collection[str] | str | None = "english",
    min_count: int = 1,
    min_docs: int = 1,
    max_docs: float = 1.0,
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
    ids: list[str] = []
    counts = bag(
        _texts(path, text, id, ids),
        stop_words=stop_words,
        min_count=min_count,
        min_docs=min_docs,
        max_docs=max_docs,
    )
    return replace(counts, doc_ids=tuple(ids)) if ids else counts


def _texts(path: Path, text: str, id: str, ids: list[str]) -> Iterator[str]:
    """Yield the texts one at a time, so that they are never all in memory; collect the ids."""
    documents = 0
    for number, line in text_lines(path):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidFile(f"{path}:{number}: not a JSON object: {error}") from None
        if not isinstance(record, dict) or not isinstance(record.get(text), str):
            raise InvalidFile(
                f"{path}:{number}: expected an object with text in the field {text!r}, "
                f"found {line[:40]!r}"
            )
        if documents and (id in record) != bool(ids):
            raise InvalidFile(f"{path}:{number}: the field {id!r} must be on every line or on none")
        if id in record:
            ids.append(str(record[id]))
        documents += 1
        yield record[text]
