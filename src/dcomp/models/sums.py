"""What priors learn from, gathered part by part: sums over documents, and tallies of counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over documents by name; they add.

    >>> (Sums({"mean": np.ones(2)}) + Sums({"mean": np.ones(2)}))["mean"]
    array([2., 2.])
    """

    values: Mapping[Any, Any]

    def __getitem__(self, name: Any) -> Any:
        return self.values[name]

    def __add__(self, other: Sums) -> Sums:
        return Sums({name: value + other.values[name] for name, value in self.values.items()})


@dataclass(frozen=True, eq=False)
class Tally:
    """Which numbers there are, in order, and how often; they add.

    >>> total = Tally.build(np.array([3, 0, 3])) + Tally.build(np.array([1, 3]))
    >>> total.values.tolist(), total.times.tolist()
    ([0, 1, 3], [1, 1, 3])
    """

    values: npt.NDArray[Any]
    times: npt.NDArray[np.int64]

    @classmethod
    def build(cls, numbers: npt.NDArray[Any]) -> Tally:
        """Of one row of numbers."""
        return cls(*np.unique(numbers, return_counts=True))

    def __add__(self, other: Tally) -> Tally:
        values, place = np.unique(np.r_[self.values, other.values], return_inverse=True)
        times = np.zeros(len(values), dtype=np.int64)
        np.add.at(times, place, np.r_[self.times, other.times])
        return Tally(values, times)


@dataclass(frozen=True, eq=False)
class Tallies:
    """How often counts of a table (I, K) occur, in its columns and as sums of its rows: all that a
    Dirichlet learns from. They add, and are whole numbers: no cut changes them."""

    columns: tuple[Tally, ...]
    totals: Tally

    @classmethod
    def build(cls, c: npt.NDArray[Any]) -> Tallies:
        """Of a table."""
        return cls(tuple(Tally.build(column) for column in c.T), Tally.build(c.sum(axis=1)))

    def __add__(self, other: Tallies) -> Tallies:
        pairs = zip(self.columns, other.columns, strict=True)
        return Tallies(tuple(a + b for a, b in pairs), self.totals + other.totals)


@dataclass(frozen=True, eq=False)
class Both:
    """Two gatherings side by side, either of them None where nothing is learned from it."""

    first: Any
    second: Any

    def __add__(self, other: Both) -> Both:
        pairs = ((self.first, other.first), (self.second, other.second))
        return Both(*(None if a is None else a + b for a, b in pairs))
