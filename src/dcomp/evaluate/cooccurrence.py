"""In how many windows the features of a component appear together: what coherence is made of.

A window is a whole document, or `size` positions of one in reading order, moved along one by one;
a document that is shorter is one window. Windows are never formed: a feature is in one stretch of
windows after another, and a component's few features change places only at the ends of those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt

from dcomp.data import Counts, Sequences
from dcomp.models.arrays import FloatArray

Numbers = npt.NDArray[np.int64]
_BITS = 16  # features at a time: there are 2^16 counters of which of them are present


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
    stretches = _Stretches.from_sequences(order, used, size, exact)
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
    def from_sequences(cls, order: Sequences, used: Numbers, size: int, exact: bool) -> _Stretches:
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
        n = len(features)
        total = np.zeros((n, n))
        n_groups = 1 if n <= _BITS else -(-n // (_BITS // 2))
        groups = np.array_split(np.arange(n), n_groups)
        for first, second in combinations_with_replacement(groups, 2):
            both = np.union1d(first, second)
            total[np.ix_(both, both)] = self._by_masks(features[both])
        return total

    def _by_masks(self, features: Numbers) -> FloatArray:
        """The same for few features: which of them are present is a whole number, a bit for each,
        that changes at the ends of stretches."""
        slices = [slice(self.starts[f], self.starts[f + 1]) for f in features]
        bit = np.repeat(1 << np.arange(len(slices)), [s.stop - s.start for s in slices])
        time = np.concatenate([x[s] for x in (self.begin, self.end) for s in slices])
        order = np.argsort(time, kind="stable")
        present = np.cumsum(np.concatenate([bit, -bit])[order])
        lasts = np.diff(time[order], append=time[order[-1:]])
        whole = lasts > 0  # all that happens at one time has happened
        windows = np.bincount(present[whole], lasts[whole], 1 << len(slices))
        masks = np.flatnonzero(windows)
        bits = (masks[:, None] >> np.arange(len(slices)) & 1).astype(np.float64)
        return np.asarray((bits * windows[masks, None]).T @ bits)


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
