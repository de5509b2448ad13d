"""In how many windows the features of a component appear together: what coherence is made of.

A window is a whole document, or `size` positions of one in reading order, moved along one by one;
a document that is shorter is one window. Windows are never formed: a feature is in one stretch of
windows after another, and a component's few features change places only at the ends of those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dcomp.data import Counts, Sequences
from dcomp.models.arrays import FloatArray

Numbers = npt.NDArray[np.int64]
_ROWS = 1 << 16  # events at a time, to bound the temporaries


@dataclass(frozen=True, eq=False)
class Occurrences:
    """Counts of windows, per component over its features."""

    together: tuple[FloatArray, ...]  # (n, n) each: windows with both; diagonal: with the feature
    n_windows: int


def in_documents(counts: Counts, topics: Sequence[Numbers]) -> Occurrences:
    """Every document is one window.

    >>> counts = Counts.from_matrix([[2, 1, 0], [1, 0, 3]])
    >>> in_documents(counts, [np.array([0, 2])]).together[0].tolist()
    [[2.0, 1.0], [1.0, 1.0]]
    """
    present = counts.to_scipy().astype(np.float64).tocsc()
    present.data[:] = 1
    parts = (present[:, topic] for topic in topics)
    return Occurrences(tuple((part.T @ part).toarray() for part in parts), counts.n_docs)


def in_windows(
    order: Sequences, topics: Sequence[Numbers], size: int, *, exact: bool
) -> Occurrences:
    """Windows of `size` positions in reading order.

    exact: a feature is in a window if any of its copies is. Otherwise, as gensim counts, it is
    taken out when a copy leaves the window, though another may stay, until one more copy enters.

    >>> words = Sequences(np.array([0, 4]), np.array([0, 1, 1, 0]))
    >>> in_windows(words, [np.array([0, 1])], 2, exact=True).together[0].tolist()
    [[2.0, 2.0], [2.0, 3.0]]
    """
    used = np.unique(np.concatenate(topics))
    stretches = _Stretches.of(order, used, size, exact)
    return Occurrences(
        tuple(stretches.together(np.searchsorted(used, topic)) for topic in topics),
        stretches.n_windows,
    )


@dataclass(frozen=True, eq=False)
class _Stretches:
    """Of each feature the windows that it is in, as disjoint [begin, end) over all documents."""

    begin: Numbers
    end: Numbers
    starts: Numbers  # feature f has the stretches starts[f] to starts[f + 1]
    n_windows: int

    @classmethod
    def of(cls, order: Sequences, used: Numbers, size: int, exact: bool) -> _Stretches:
        lengths = np.diff(order.starts)
        n_windows = np.maximum(lengths - size + 1, 1)  # an empty document is a window, too
        first = np.concatenate(([0], np.cumsum(n_windows)))
        number = np.full(max(int(used.max()), int(order.tokens.max(initial=0))) + 2, -1)
        number[used] = np.arange(used.size)  # the last entry is that of -1, no feature
        feature = number[order.tokens]
        where = np.flatnonzero(feature >= 0)
        where = where[np.argsort(feature[where], kind="stable")]
        feature = feature[where]
        document = np.searchsorted(order.starts, where, side="right") - 1
        position = where - order.starts[document]
        enters = np.maximum(position - size + 1, 0)
        leaves = np.minimum(position + 1, n_windows[document])
        key = feature * (order.tokens.size + 1) + where
        if exact:
            opens, closes = _unions(feature, document, enters, leaves)
        else:
            opens, closes = _until_one_leaves(key, key - position + enters)
        starts = np.searchsorted(feature[opens], np.arange(used.size + 1))
        return cls(
            (enters + first[document])[opens],
            (leaves + first[document])[closes],
            starts,
            int(first[-1]),
        )

    def together(self, features: Numbers) -> FloatArray:
        """(n, n): the number of windows with each pair."""
        slices = [slice(self.starts[f], self.starts[f + 1]) for f in features]
        sizes = [s.stop - s.start for s in slices]
        column = np.tile(np.repeat(np.arange(len(slices)), sizes), 2)
        time = np.concatenate([x[s] for x in (self.begin, self.end) for s in slices])
        change = np.repeat(np.array([1, -1], np.int8), sum(sizes))
        order = np.argsort(time, kind="stable")
        time, column, change = time[order], column[order], change[order]
        lasts = np.diff(time, append=time[-1:]).astype(np.float64)
        total = np.zeros((len(slices), len(slices)))
        now = np.zeros(len(slices), np.int8)
        for at in range(0, time.size, _ROWS):
            part = slice(at, at + _ROWS)
            present = np.zeros((len(time[part]), len(slices)), np.int8)
            present[np.arange(len(present)), column[part]] = change[part]
            present[0] += now
            np.cumsum(present, axis=0, out=present)
            now = present[-1].copy()
            weighted = present * lasts[part, None]
            total += weighted.T @ present.astype(np.float64)
        return total


def _unions(
    feature: Numbers, document: Numbers, enters: Numbers, leaves: Numbers
) -> tuple[Numbers, Numbers]:
    """Tokens with which a stretch opens and closes, where copies that overlap make one."""
    opens = np.ones(feature.size, np.bool_)
    same = (feature[1:] == feature[:-1]) & (document[1:] == document[:-1])
    opens[1:] = ~same | (enters[1:] > leaves[:-1])
    closes = np.roll(opens, -1)
    return np.flatnonzero(opens), np.flatnonzero(closes)


def _until_one_leaves(key: Numbers, key_of_entry: Numbers) -> tuple[Numbers, Numbers]:
    """The same, where a stretch ends as soon as the first copy in its window leaves it."""
    earliest = np.searchsorted(key, key_of_entry)  # the first copy at or after the window's begin
    opens = np.flatnonzero(np.diff(earliest, prepend=-1))
    return opens, earliest[opens]
