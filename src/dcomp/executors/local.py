"""This machine: parts one after the other, each on all the threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dcomp.errors import InvalidParameter
from dcomp.executors.base import Part, Shared, Stats


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True)
class LocalExecutor:
    """Threads of this process. The number of them changes the time, never the answer.

    >>> LocalExecutor.from_jobs(2).n_threads
    2
    """

    n_threads: int

    @classmethod
    def from_jobs(cls, n_jobs: int | None) -> LocalExecutor:
        """scikit-learn's `n_jobs`: None or -1 for every core, -2 for all but one, and so on."""
        if n_jobs is None:
            return cls(available_cores())
        if isinstance(n_jobs, bool) or int(n_jobs) != n_jobs or n_jobs == 0:
            raise InvalidParameter(f"n_jobs must be None or a non-zero whole number; got {n_jobs}")
        if n_jobs > 0:
            return cls(int(n_jobs))
        return cls(max(1, available_cores() + 1 + int(n_jobs)))

    def map_reduce(
        self,
        task: Callable[[Part, Shared, int], Stats],
        parts: Sequence[Part],
        shared: Shared,
    ) -> Stats:
        """Σ over parts, in their order, of task(part, shared, n_threads)."""
        total = task(parts[0], shared, self.n_threads)
        for part in parts[1:]:
            total = total + task(part, shared, self.n_threads)
        return total
