"""Where work runs: a task is mapped over the parts of a corpus and its statistics are added up.

A task is a pure function `(part, local, shared, n_threads) -> (local, stats)`. The part is a run of
documents with the number of its first; `local` is what those documents have left so far, which
stays where they are; `shared` is small and goes to every worker; the statistics alone come back.
Threads change how long a task takes, never what it gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, Self, TypeVar


class Additive(Protocol):
    """Anything that adds: the only thing that crosses a thread, process or machine."""

    def __add__(self, other: Self, /) -> Self: ...


Part = TypeVar("Part")
Before = TypeVar("Before")
After = TypeVar("After")
Shared = TypeVar("Shared")
Stats = TypeVar("Stats", bound=Additive | None)

Task = Callable[[Part, Before, Shared, int], tuple[After, Stats]]


class Executor(Protocol):
    """Knows where work runs, not what it computes."""

    @property
    def n_threads(self) -> int:
        """Threads that a kernel may use here, where the parts' statistics come together."""
        ...

    def map_reduce(
        self,
        task: Task[Part, Before, Shared, After, Stats],
        parts: Sequence[Part],
        locals_: Sequence[Before],
        shared: Shared,
        on_part: Callable[[], None] | None = None,
    ) -> tuple[Sequence[After], Stats]:
        """What the task leaves in each part, and `pairwise_sum` of its statistics over the parts.
        `on_part` is called here whenever a part is done.

        What is left belongs to the executor: it may be a mere name of something on a worker. It is
        given back to `map_reduce` with the same parts, or asked for by `gather`.
        """
        ...

    def gather(self, locals_: Sequence[After]) -> list[After]:
        """What tasks left in the parts, brought here."""
        ...

    def side_by_side(self) -> Executor:
        """The same workers for parts that cannot use more than a thread each: chains of a
        selection, say. They run at the same time."""
        ...


def pairwise_sum(stats: Iterable[Stats], put: Callable[[Stats], Stats] | None = None) -> Stats:
    """The sum by one tree over the numbers of the parts, whatever the order they are ready in: the
    same parts give the same bits everywhere. None where a task has nothing to say.

    The sums of runs of 1, 2, 4, … parts wait for their neighbours, so that of many parts only a few
    sums are held at a time; `put` says where, if not as they are.

    >>> pairwise_sum(["a", "b", "c", "d", "e"])
    'abcde'
    """
    waiting: list[tuple[int, Any]] = []  # how many parts, and their sum
    for one in stats:
        size, total = 1, one
        while waiting and waiting[-1][0] == size and total is not None:
            total = waiting.pop()[1] + total
            size *= 2
        waiting.append((size, total if put is None or total is None else put(total)))
    _, total = waiting.pop()
    while waiting and total is not None:
        total = waiting.pop()[1] + total
    return total
