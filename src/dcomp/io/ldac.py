"""The format of lda-c: one document per line, `M term:count term:count ...` with M pairs.

Terms are numbered from 0. The words are in a second file, one per line.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcomp.data.canonical import LIMIT, Rows, compressed
from dcomp.data.counts import Counts
from dcomp.errors import InvalidFile
from dcomp.io.beside import vocabularies
from dcomp.io.files import StrPath, chunks_of_lines, opened, refuse_lines, vocabulary
from dcomp.io.limits import Budget, Limits
from dcomp.io.numbers import ENTRY, is_whole, parse_lines


class _Documents(NamedTuple):
    lengths: NDArray[np.int64]  # pairs of each document
    terms: NDArray[np.int32]
    counts: NDArray[np.int32]


def read_ldac(
    path: StrPath,
    *,
    vocab: StrPath | Sequence[str] | None = None,
    limits: Limits | None = None,
) -> Counts:
    """Read an lda-c file; words come from `vocab`, or from x.dat.vocab.txt or vocab.txt
    beside x.dat.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "tiny.dat")
    ...     _ = file.write_text("2 0:1 2:3\\n1 1:5\\n")
    ...     read_ldac(file).to_scipy().toarray().tolist()
    [[1, 0, 3], [0, 5, 0]]
    """
    path = Path(path)
    budget = Budget(path, limits)
    parts = []
    with opened(path, budget) as stream:
        for number, chunk in chunks_of_lines(stream):
            part = _documents(chunk)
            if part is None:
                refuse_lines(path, number, chunk, _complaint)
            cost = ENTRY * part.terms.size + 40 * part.lengths.size
            budget.charge(cost, f"the documents up to line {number + part.lengths.size:,}")
            parts.append(part)
    if not parts:
        raise InvalidFile(f"{path}: the file is empty")
    lengths, terms, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
    largest = int(terms.max(initial=-1))
    words, source = vocabulary(vocab, vocabularies(path, "vocab.txt"), budget)
    if words is not None and len(words) <= largest:
        raise InvalidFile(
            f"{path}: terms must be below {len(words)}, the number of words in {source}; "
            f"found {largest}"
        )
    n_words = largest + 1 if words is None else len(words)
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    if not (lengths.size and n_words):
        raise InvalidFile(f"{path}: there must be at least one document with at least one term")
    budget.charge_table(0, n_words)
    matrix = compressed(Rows(indptr, terms, counts), (lengths.size, n_words))
    return Counts.from_matrix(matrix, feature_names=words)


def _documents(chunk: bytes) -> _Documents | None:
    """Take lines apart; None unless every one is well-formed."""
    numbers = parse_lines(chunk)
    if numbers is None:
        return None
    ends = np.cumsum(numbers.per_line)
    heads = ends - numbers.per_line
    lengths = numbers.values[heads]
    if not np.array_equal(numbers.per_line, 1 + 2 * lengths):
        return None
    in_pair = np.ones(numbers.values.size, np.bool_)
    in_pair[heads] = False
    joined = numbers.after_colon[in_pair]
    if numbers.after_colon[heads].any() or joined[0::2].any() or not joined[1::2].all():
        return None
    pairs = numbers.values[in_pair]
    # The largest index itself is LIMIT - 1, because the number of features must fit as well.
    if pairs.size and (pairs.min() < 0 or pairs.max() > LIMIT or pairs[0::2].max() == LIMIT):
        return None
    return _Documents(lengths, pairs[0::2].astype(np.int32), pairs[1::2].astype(np.int32))


def _complaint(line: str) -> str | None:
    head, *pairs = line.split()
    if not is_whole(head):
        return f"expected the number of terms, found {head[:40]!r}"
    for pair in pairs:
        term, colon, count = pair.partition(":")
        if not (colon and is_whole(term) and is_whole(count)):
            return f"expected 'term:count', found {pair[:40]!r}"
        if int(term) >= LIMIT or int(count) > LIMIT:
            return f"terms and counts must be at most {LIMIT}, found {pair!r}"
    if len(pairs) != int(head):
        return f"expected {head} pairs 'term:count', found {len(pairs)}"
    return None
