"""This machine: parts one after the other, each on all the threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock

from dcomp import _core
from dcomp.errors import InvalidParameter
from dcomp.executors.base import After, Before, Executor, Part, Shared, Stats, Task, pairwise_sum


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

    def __post_init__(self) -> None:
        whole = isinstance(self.n_threads, int) and not isinstance(self.n_threads, bool)
        if not whole or self.n_threads < 1:
            raise InvalidParameter(
                f"an executor needs a whole number of threads, 1 or more; got {self.n_threads!r}"
            )

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
        task: Task[Part, Before, Shared, After, Stats],
        parts: Sequence[Part],
        locals_: Sequence[Before],
        shared: Shared,
        on_part: Callable[[], None] | None = None,
    ) -> tuple[list[After], Stats]:
        """What the task leaves in each part, and the sum of its statistics over the parts."""
        after: list[After] = []

        def one_by_one() -> Iterator[Stats]:
            for part, local in zip(parts, locals_, strict=True):
                left, stats = task(part, local, shared, self.n_threads)
                after.append(left)
                if on_part is not None:
                    on_part()
                yield stats

        total = pairwise_sum(one_by_one())
        return after, total

    def gather(self, locals_: Sequence[After]) -> list[After]:
        """They are here."""
        return list(locals_)

    def side_by_side(self) -> SideBySide:
        """The same threads, a part on each."""
        return SideBySide(self.n_threads)


def resolve_executor(n_jobs: int | None, executor: Executor | None = None) -> Executor:
    """The executor that was given, else this machine with `n_jobs` threads; not both.

    >>> resolve_executor(3).n_threads
    3
    """
    if executor is None:
        return LocalExecutor.from_jobs(n_jobs)
    asked = ("n_threads", "map_reduce", "gather", "side_by_side")
    missing = [name for name in asked if not hasattr(executor, name)]
    if missing or isinstance(executor, type):
        what = f"without {', '.join(missing)}" if missing else "a class, not one of it"
        raise InvalidParameter(
            f"executor must be a dcomp.executors.Executor; got {executor!r}, {what}"
        )
    if n_jobs is not None:
        raise InvalidParameter(f"give n_jobs or an executor, not both; got n_jobs={n_jobs}")
    return executor


def is_of_this_process(executor: Executor) -> bool:
    """Whether its threads can be shared out here. An executor of somebody else's may keep the parts
    elsewhere, and is given one thing after the other.

    >>> is_of_this_process(LocalExecutor(2))
    True
    """
    return type(executor) in (LocalExecutor, SideBySide)


@dataclass(frozen=True)
class SideBySide(LocalExecutor):
    """Threads of this process, each with a part of its own. An interrupt stops those that are under
    way at their next look around, which native calls have several times a second."""

    def map_reduce(
        self,
        task: Task[Part, Before, Shared, After, Stats],
        parts: Sequence[Part],
        locals_: Sequence[Before],
        shared: Shared,
        on_part: Callable[[], None] | None = None,
    ) -> tuple[list[After], Stats]:
        """What the task leaves in each part, and the sum of its statistics over the parts."""
        lock, stop = Lock(), _core.Stop()

        def one(part: Part, local: Before) -> tuple[After, Stats]:
            with stop:
                left = task(part, local, shared, 1)
            if on_part is not None:
                with lock:
                    on_part()
            return left

        with ThreadPoolExecutor(min(self.n_threads, len(parts))) as pool:
            work = [pool.submit(one, *both) for both in zip(parts, locals_, strict=True)]
            try:
                done = [ready.result() for ready in work]
            except BaseException:
                stop.request()
                pool.shutdown(wait=True, cancel_futures=True)
                raise
        return [left for left, _ in done], pairwise_sum(stats for _, stats in done)
