"""Where work runs: a task is mapped over parts of the corpus and its statistics are added up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, Self, TypeVar


class Additive(Protocol):
    """Anything that adds: the only thing that crosses a thread, process or machine."""

    def __add__(self, other: Self, /) -> Self: ...


Part = TypeVar("Part")
Shared = TypeVar("Shared")
Stats = TypeVar("Stats", bound=Additive)


class Executor(Protocol):
    """Knows where work runs, not what it computes."""

    @property
    def n_threads(self) -> int:
        """Threads that a kernel may use."""
        ...

    def map_reduce(
        self,
        task: Callable[[Part, Shared, int], Stats],
        parts: Sequence[Part],
        shared: Shared,
    ) -> Stats:
        """Σ over parts, in their order, of task(part, shared, n_threads)."""
        ...
