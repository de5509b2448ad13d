"""From numbered words to counts: stop words, stems, words in a row, how often is often enough."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcomp import _core
from dcomp.data.canonical import Rows
from dcomp.data.counts import Counts
from dcomp.data.features import FeatureSpace
from dcomp.data.languages import stemmer, stop_words
from dcomp.data.mapped import Mapped, runs
from dcomp.data.sequences import Sequences
from dcomp.data.spooled import TOKENS, SpooledRows, spool_folder
from dcomp.data.text_options import TextOptions, Vocabulary
from dcomp.data.words import Watch, Words
from dcomp.errors import InvalidCounts

_NONE = np.int32(-1)
_Rows = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Documents as numbers of what may become a feature. Those up to `len(names)` are words, the
    rest are rows of words, made of the words that `grams` has the numbers of."""

    starts: NDArray[np.int64]
    tokens: NDArray[np.int32]
    names: Sequence[str]
    grams: tuple[NDArray[np.int32], ...] = ()  # (how many, length), by length

    @property
    def n(self) -> int:
        return len(self.names) + sum(len(rows) for rows in self.grams)

    def named(self, chosen: NDArray[np.int64]) -> list[str]:
        """The names of some, in the order of their numbers."""
        first = len(self.names)
        out = [self.names[j] for j in chosen[chosen < first].tolist()]
        for rows in self.grams:
            own = chosen[(chosen >= first) & (chosen < first + len(rows))] - first
            out += [" ".join(map(self.names.__getitem__, row)) for row in rows[own].tolist()]
            first += len(rows)
        return out


def count_words(
    words: Words,
    options: TextOptions,
    watch: Watch | None = None,
    **known: Any,
) -> Counts:
    """Counts of the words that the options keep; the features are sorted. known: other fields of
    the result.

    >>> words = Words(np.array([0, 2]), np.array([0, 1], np.int32), ["the", "cat"])
    >>> count_words(words, TextOptions()).features.names
    ('cat',)
    """
    if not words.n_docs or not len(words.names):
        raise InvalidCounts(
            "there must be at least one document and one token; "
            f"found {words.n_docs} documents and {len(words.names)} distinct tokens"
        )
    folder = spool_folder()
    if folder is not None and options.ngrams[1] == 1:
        return _count_spooled(words, options, folder, known)
    found, report = _worth_counting(words, options)
    if options.ngrams[1] > 1:
        found = _in_rows(found, *options.ngrams)
        n_rows = sum(len(rows) for rows in found.grams)
        report = replace(report, n_words=report.n_words + n_rows)
        if watch is not None:
            watch(words.n_docs, len(found.tokens), len(words.names))
    rows = _core.count_tokens(found.starts, found.tokens, found.n, _n_threads())
    kept, report = _often_enough(found, rows, options, report)
    if watch is not None:
        watch(words.n_docs, len(found.tokens), len(words.names) + len(kept))
    report = replace(report, n_kept=len(kept))
    return _table(found, rows, kept, {"text": options, "vocabulary": report} | known)


def _worth_counting(words: Words, options: TextOptions) -> tuple[_Candidates, Vocabulary]:
    """Without stop words and words of the wrong length; stems in the place of words; sorted."""
    position, distinct, report = _worth(words.names, options)
    return _Candidates(words.starts, position[words.tokens], distinct), report


def _worth(
    names: list[str], options: TextOptions
) -> tuple[NDArray[np.int32], list[str], Vocabulary]:
    """Where each word goes, among which, sorted; -1 for those that are left out."""
    n = len(names)
    stop = stop_words(options.stop_words)
    small = names if options.case == "lower" else [name.lower() for name in names]
    is_stop = np.fromiter((name in stop for name in small), np.bool_, n)
    length = np.fromiter(map(len, names), np.int64, n)
    short = ~is_stop & (length < options.min_length)
    longest = options.max_length if options.max_length is not None else length.max(initial=1)
    long = ~is_stop & (length > longest)
    kept = ~(is_stop | short | long)
    report = Vocabulary(n, 0, int(is_stop.sum()), int(short.sum()), int(long.sum()))
    chosen = np.flatnonzero(kept).tolist()
    left = [names[j] for j in chosen]
    if options.stem is not None:
        left = stemmer(options.stem).stemWords(left)
    distinct = sorted(set(left))
    number = {name: place for place, name in enumerate(distinct)}
    report = replace(report, merged=len(left) - len(distinct))
    position = np.full(n, _NONE)
    position[chosen] = [number[name] for name in left]
    return position, distinct, report


def _count_spooled(
    words: Words, options: TextOptions, folder: Path, known: dict[str, Any]
) -> Counts:
    """The same for words on the disk, twice over them: how often each is there, then the rows of
    those that are kept."""
    position, distinct, report = _worth(words.names, options)
    docs, totals = np.zeros((2, len(distinct)), np.int64)
    every = SpooledRows(folder)
    for first, end in runs(words.starts, TOKENS):
        starts = words.starts[first : end + 1]
        tokens = position[words.tokens[starts[0] : starts[-1]]]
        rows = Rows(
            *_core.count_tokens(starts - starts[0], tokens, max(len(distinct), 1), _n_threads())
        )
        if len(distinct):
            docs += np.bincount(rows.indices, minlength=len(distinct))
            totals += np.bincount(rows.indices, rows.data, len(distinct)).astype(np.int64)
        every.add(rows)
    found = _Candidates(words.starts, words.tokens, distinct)
    kept, report = _chosen(found, docs, totals, options, report)
    there = every.mapped()
    if len(kept) < len(distinct):
        there = _renumbered(there, kept, len(distinct), folder)
    features = FeatureSpace.build(len(kept), found.named(kept))
    mapped = Mapped(there, len(kept), folder)
    report = replace(report, n_kept=len(kept))
    about: dict[str, Any] = {"text": options, "vocabulary": report, "mapped": mapped} | known
    return Counts(*there, features, **about)


def _renumbered(rows: Rows, kept: NDArray[np.int64], n: int, folder: Path) -> Rows:
    """The columns that are kept, on the disk."""
    position, out = np.full(n, _NONE), SpooledRows(folder)
    position[kept] = np.arange(len(kept), dtype=np.int32)
    for first, end in runs(rows.indptr, TOKENS):
        indptr = rows.indptr[first : end + 1]
        own = slice(int(indptr[0]), int(indptr[-1]))
        part = (indptr - indptr[0], rows.indices[own], rows.data[own])
        out.add(Rows(*_without(part, position)))
    return out.mapped()


def _in_rows(words: _Candidates, least: int, most: int) -> _Candidates:
    """Words with the rows of `least` to `most` words that stand next to each other, none of them
    left out; each row comes where its last word is."""
    starts, tokens, n = words.starts, words.tokens, len(words.names)
    first = np.zeros(tokens.size, np.bool_)  # of a document
    first[starts[:-1][starts[:-1] < tokens.size]] = True
    alone = np.arange(n, dtype=np.int32)[:, None]
    level, rows, columns, grams = tokens, alone, [tokens], []
    first_number = n
    for length in range(2, most + 1):
        level, rows = _longer(level, rows, tokens, first, n)
        if length >= least:
            columns.append(np.where(level >= 0, level + np.int32(first_number), _NONE))
            grams.append(rows)
            first_number += len(rows)
        if first_number > np.iinfo(np.int32).max - 1:
            raise InvalidCounts("there are more than 2^31 rows of words; give fewer ngrams")
    if least > 1:
        columns[0] = np.full(tokens.size, _NONE)
    table = np.stack(columns, axis=1)
    # A word that is left out keeps its place, but only one.
    there = table >= 0
    there[:, 0] |= tokens < 0
    ends = np.zeros(tokens.size + 1, np.int64)
    np.cumsum(there.sum(axis=1), out=ends[1:])
    return _Candidates(ends[starts], table[there], words.names, tuple(grams))


def _longer(
    level: NDArray[np.int32],
    rows: NDArray[np.int32],
    tokens: NDArray[np.int32],
    first: NDArray[np.bool_],
    n_words: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Rows of one word more: their number where one ends, and the words of each."""
    before = np.full(level.size, _NONE)
    before[1:] = level[:-1]
    at = np.flatnonzero((before >= 0) & (tokens >= 0) & ~first)
    codes, number = np.unique(
        before[at].astype(np.int64) * n_words + tokens[at], return_inverse=True
    )
    longer = np.full(level.size, _NONE)
    longer[at] = number.astype(np.int32)
    words = np.column_stack([rows[codes // n_words], (codes % n_words).astype(np.int32)])
    return longer, words.astype(np.int32, copy=False)


def _often_enough(
    found: _Candidates, rows: _Rows, options: TextOptions, report: Vocabulary
) -> tuple[NDArray[np.int64], Vocabulary]:
    """The numbers of what is kept, ascending; and what is left out for which reason."""
    _, indices, data = rows
    docs = np.bincount(indices, minlength=found.n)
    # Sums are below 2^53, hence exact in the float64 that bincount adds in.
    totals = np.bincount(indices, data, minlength=found.n).astype(np.int64)
    return _chosen(found, docs, totals, options, report)


def _chosen(
    found: _Candidates,
    docs: NDArray[np.int64],
    totals: NDArray[np.int64],
    options: TextOptions,
    report: Vocabulary,
) -> tuple[NDArray[np.int64], Vocabulary]:
    """The same from how many documents each is in, and how often."""
    there = totals > 0
    most = most_docs(options.max_docs, len(found.starts) - 1)
    in_few = there & (docs < options.min_docs)
    in_many = there & (docs > most)
    rare = there & (totals < options.min_count) & ~in_few & ~in_many
    kept = np.flatnonzero(there & ~in_few & ~in_many & ~rare)
    n_kept = len(kept)
    if options.max_features is not None and n_kept > options.max_features:
        kept = _most_frequent(found, kept, totals, options.max_features)
    report = replace(
        report,
        rare=int(rare.sum()),
        in_few=int(in_few.sum()),
        in_many=int(in_many.sum()),
        beyond=n_kept - len(kept),
        longer=int((kept >= len(found.names)).sum()),
        min_count=options.min_count,
        min_docs=options.min_docs,
        most_docs=int(most),
    )
    if not len(kept):
        raise InvalidCounts(
            f"no word is left: {report.n_words} distinct words, none of them kept with "
            f"min_count={options.min_count}, min_docs={options.min_docs}, "
            f"max_docs={options.max_docs}, {len(stop_words(options.stop_words))} stop words"
        )
    return kept, report


def _most_frequent(
    found: _Candidates, kept: NDArray[np.int64], totals: NDArray[np.int64], n: int
) -> NDArray[np.int64]:
    """The n most frequent; of equals those that come first by name."""
    least = np.sort(totals[kept])[len(kept) - n]
    above, equal = kept[totals[kept] > least], kept[totals[kept] == least]
    names = found.named(equal)
    order = sorted(range(len(equal)), key=names.__getitem__)[: n - len(above)]
    return np.sort(np.concatenate([above, equal[order]]))


def _table(
    found: _Candidates, rows: _Rows, kept: NDArray[np.int64], known: dict[str, Any]
) -> Counts:
    names = found.named(kept)
    order: NDArray[Any] = np.arange(len(kept))
    if found.grams:
        order = np.array(sorted(range(len(names)), key=names.__getitem__))
    features = FeatureSpace.build(len(kept), [names[k] for k in order.tolist()])
    tokens = found.tokens
    if len(kept) < found.n or found.grams:
        position = np.full(found.n + 1, _NONE)  # the last one is found by -1, and so stays -1
        position[kept[order]] = np.arange(len(kept), dtype=np.int32)
        tokens = position[tokens]
        if found.grams:
            rows = _core.count_tokens(found.starts, tokens, len(kept), _n_threads())
        else:  # in the same order
            rows = _without(rows, position)
    return Counts(*rows, features, sequences=Sequences(found.starts, tokens), **known)


def _without(rows: _Rows, position: NDArray[np.int32]) -> _Rows:
    """The rows with their columns at new positions, of which -1 is none."""
    indptr, indices, data = rows
    indices = position[indices]
    there = indices >= 0
    before = np.zeros(there.size + 1, np.int64)
    np.cumsum(there, out=before[1:])
    return before[indptr], indices[there], data[there]


def most_docs(max_docs: float, n_docs: int) -> float:
    """How many documents a word may be in.

    >>> most_docs(0.5, 10), most_docs(3, 10)
    (5.0, 3)
    """
    return max_docs * n_docs if isinstance(max_docs, float) else max_docs


def _n_threads() -> int:
    return os.cpu_count() or 1
