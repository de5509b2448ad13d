"""Counts whose arrays lie in a file: what vouches for them, and runs of their documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dcomp.data.canonical import LIMIT, Rows, rows_ascend

_CHUNK = 1 << 20  # entries that are looked at together
_DOCUMENTS = 1 << 18


@dataclass(eq=False)
class Once:
    """Something that is looked at when it is first needed, and then not again.

    >>> look = Once(lambda: print("looked"))
    >>> look()
    looked
    >>> look()
    """

    look: Callable[[], None]
    is_done: bool = False

    def __call__(self) -> None:
        if not self.is_done:
            self.look()
            self.is_done = True


class Elsewhere(Protocol):
    """The same rows where others can have them: a file that they can open, or what lies on the
    workers of a cluster. Then rows need not be sent there."""

    def run(self, first: int, end: int) -> Elsewhere | None:
        """Those of a run of documents, where they can be had by themselves."""
        ...


@dataclass(frozen=True, eq=False)
class Mapped:
    """The rows that a file holds, where they are mapped. It vouches for them: counts with these
    very arrays and as many features are not looked at again, but for `check`, which reads the file
    once, before it is worked with."""

    rows: Rows
    n_features: int
    scratch: Path  # the folder for what is known of its documents while it is fitted
    check: Callable[[], None] = field(default_factory=lambda: Once(lambda: None))
    elsewhere: Elsewhere | None = None

    def vouches_for(self, rows: Rows, n_features: int) -> bool:
        """Whether these are its rows.

        >>> rows = Rows(np.array([0, 1]), np.array([2]), np.array([5]))
        >>> Mapped(rows, 3, Path(".")).vouches_for(rows._replace(data=np.array([5])), 3)
        False
        """
        same = (_place(own) == _place(other) for own, other in zip(self.rows, rows, strict=True))
        return n_features == self.n_features and all(same)

    def run(self, first: int, end: int) -> Mapped:
        """A run of documents: the same memory, but for the numbers of their first entries."""
        indptr = self.rows.indptr[first : end + 1]
        entries = slice(int(indptr[0]), int(indptr[-1]))
        own = Rows(indptr - indptr[0], self.rows.indices[entries], self.rows.data[entries])
        there = None if self.elsewhere is None else self.elsewhere.run(first, end)
        return Mapped(own, self.n_features, self.scratch, self.check, there)


def _place(array: NDArray[Any]) -> tuple[int, int, str]:
    return array.__array_interface__["data"][0], array.size, array.dtype.str


def wrong_rows(rows: Rows, n_features: int) -> str | None:
    """What is wrong with rows that came from a file, or None; in little memory, whatever their
    size.

    >>> wrong_rows(Rows(np.array([0, 2]), np.array([1, 0]), np.array([1, 1])), 2)
    'features do not ascend within documents 0 to 0'
    """
    indptr, indices, data = rows
    if indptr[0] != 0 or indptr[-1] != len(data):
        return "documents do not begin at 0 and end with the last count"
    for first in range(0, len(indptr) - 1, _DOCUMENTS):
        if (np.diff(indptr[first : first + _DOCUMENTS + 1]) < 0).any():
            return f"a document after number {first:,} ends before it begins"
    for start in range(0, len(data), _CHUNK):
        part, counts = indices[start : start + _CHUNK], data[start : start + _CHUNK]
        if part.min() < 0 or part.max() >= n_features:
            return f"a feature after entry {start:,} is none of {n_features:,}"
        if not (counts.min() > 0 and counts.max() <= LIMIT):  # false for NaN, too
            return f"a count after entry {start:,} is not between 0 and {LIMIT}"
    for first, end in runs(indptr, _CHUNK):
        own = slice(int(indptr[first]), int(indptr[end]))
        if not rows_ascend(indptr[first : end + 1] - indptr[first], indices[own]):
            return f"features do not ascend within documents {first:,} to {end - 1:,}"
    return None


def runs(indptr: NDArray[Any], entries: int) -> list[tuple[int, int]]:
    """Runs of documents, with about so many entries each at most, a document at least.

    >>> runs(np.array([0, 2, 4, 9, 10]), 4)
    [(0, 2), (2, 3), (3, 4)]
    """
    found, first, n_docs = [], 0, len(indptr) - 1
    while first < n_docs:
        end = int(np.searchsorted(indptr, indptr[first] + entries, side="right")) - 1
        end = min(max(end, first + 1), n_docs, first + _DOCUMENTS)
        found.append((first, end))
        first = end
    return found
