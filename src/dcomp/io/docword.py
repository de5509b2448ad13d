"""The bag-of-words format of the UCI repository.

Three lines with the numbers of documents D, words W and entries NNZ; then one entry per line,
`document word count`, numbered from 1. The words are in a second file, one per line.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcomp.data.canonical import LIMIT
from dcomp.data.counts import Counts
from dcomp.errors import InvalidFile
from dcomp.io.files import (
    Guarded,
    StrPath,
    chunks_of_lines,
    opened,
    plain_name,
    refuse_lines,
    vocabulary,
)
from dcomp.io.limits import Budget, Limits
from dcomp.io.numbers import ENTRY, is_whole, parse_lines

_HEADER = ("documents", "words", "entries")


def read_docword(
    path: StrPath,
    *,
    vocab: StrPath | Sequence[str] | None = None,
    limits: Limits | None = None,
) -> Counts:
    """Read `docword.NAME.txt`; words come from `vocab` or from `vocab.NAME.txt` beside it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "docword.tiny.txt")
    ...     _ = file.write_text("2\\n3\\n2\\n1 1 4\\n2 3 1\\n")
    ...     read_docword(file).to_scipy().toarray().tolist()
    [[4, 0, 0], [0, 0, 1]]
    """
    path = Path(path)
    budget = Budget(path, limits)
    with opened(path, budget) as stream:
        sizes = _read_header(path, stream)
        entries = _read_entries(path, stream, sizes)
    n_docs, n_words, n_entries = sizes
    if entries.shape[1] != n_entries:
        raise InvalidFile(
            f"{path}:3: the header promises {n_entries} entries, the file holds {entries.shape[1]}"
        )
    words, source = vocabulary(vocab, _vocab_files(path), budget)
    if words is not None and len(words) != n_words:
        raise InvalidFile(
            f"{path}:2: the header promises {n_words} words, {source} holds {len(words)}"
        )
    budget.charge_table(n_docs, n_words)
    matrix = sparse.coo_array((entries[2], (entries[0], entries[1])), shape=(n_docs, n_words))
    return Counts.from_matrix(matrix, feature_names=words)


def _read_header(path: Path, stream: Guarded) -> tuple[int, int, int]:
    sizes = []
    for number, what in enumerate(_HEADER, 1):
        line = stream.readline(1 << 16).strip().decode("utf-8", "replace")
        if not is_whole(line) or int(line) > LIMIT:
            raise InvalidFile(
                f"{path}:{number}: expected the number of {what}, found {line[:40]!r}"
            )
        sizes.append(int(line))
    if not (sizes[0] and sizes[1]):
        raise InvalidFile(f"{path}:1: there must be at least one document and one word")
    return sizes[0], sizes[1], sizes[2]


def _read_entries(path: Path, stream: Guarded, sizes: tuple[int, int, int]) -> NDArray[np.int32]:
    """Give the entries as (3, n): documents and words numbered from 0, counts."""
    parts = [np.zeros((3, 0), np.int32)]
    for number, chunk in chunks_of_lines(stream, first=4):
        numbers = parse_lines(chunk)
        if numbers is None or numbers.after_colon.any() or (numbers.per_line != 3).any():
            _refuse(path, number, chunk, sizes)
        triples = numbers.values.reshape(-1, 3).T
        if triples.size and (
            triples[:2].min() < 1
            or triples[0].max() > sizes[0]
            or triples[1].max() > sizes[1]
            or triples[2].min() < 0
            or triples[2].max() > LIMIT
        ):
            _refuse(path, number, chunk, sizes)
        stream.budget.charge(ENTRY * triples.shape[1], "its entries")
        part = triples.astype(np.int32)
        part[:2] -= 1
        parts.append(part)
    return np.concatenate(parts, axis=1)


def _refuse(path: Path, number: int, chunk: bytes, sizes: tuple[int, int, int]) -> NoReturn:
    def complaint(line: str) -> str | None:
        fields = line.split()
        if len(fields) != 3 or not all(is_whole(field) for field in fields):
            return f"expected 'document word count', found {line.strip()[:40]!r}"
        document, word, count = (int(field) for field in fields)
        if not 1 <= document <= sizes[0]:
            return f"document must be between 1 and {sizes[0]}, found {document}"
        if not 1 <= word <= sizes[1]:
            return f"word must be between 1 and {sizes[1]}, found {word}"
        return f"count must be at most {LIMIT}, found {count}" if count > LIMIT else None

    refuse_lines(path, number, chunk, complaint)


def _vocab_files(path: Path) -> list[Path]:
    name = plain_name(path)
    if "docword" not in name:
        return []
    beside = path.with_name(name.replace("docword", "vocab"))
    return [beside, beside.with_name(beside.name + path.suffix)]
