"""The chains of a fit: one after the other, each on all threads, or side by side.

Chains share nothing, so side by side is the better use of threads wherever a sweep by itself hardly
uses them: on small tables. On large ones a sweep uses them all, and several states at once would
take memory that nobody foresaw. The answer is the same either way, bit for bit.

A callback may look at one chain after the other and may stop each: with callbacks chains are run
one after the other, but for callbacks that are told which chain they are of (`OfChain`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from threading import Event, Lock
from typing import Protocol, runtime_checkable

from dcomp.errors import held_warnings, warn
from dcomp.executors import Executor, LocalExecutor, is_of_this_process
from dcomp.inference import Info, Run
from dcomp.inference.run import INTERRUPTED, Callback
from dcomp.result.ending import Ending

MOST_CELLS = 20_000_000  # entries of the table times components, beyond which a sweep scales


@runtime_checkable
class OfChain(Protocol):
    """A callback that can follow several chains at a time."""

    def __call__(self, info: Info, /) -> bool | None: ...

    def of_chain(self, number: int) -> Callback:
        """The callback of one chain; chains call theirs from threads of their own."""
        ...


@dataclass(frozen=True)
class Chain:
    """One chain that was run."""

    seed: int
    run: Run
    ending: Ending | None = None

    @property
    def value(self) -> float:
        """Where it ended, as one number to compare chains by."""
        return chain_value(self.run.history)

    def interrupted(self) -> Chain:
        """With that for its reason."""
        return replace(self, run=replace(self.run, reason=INTERRUPTED))


One = Callable[[int, Executor, Sequence[Callback]], Chain]  # of a seed, where, and looked at by


def chain_value(history: Sequence[Info]) -> float:
    """Where a chain ended, as one number to compare chains by (`Info.chain_value`)."""
    return type(history[0]).chain_value(history)


def run_chains(
    seeds: Sequence[int],
    one: One,
    executor: Executor,
    callbacks: Sequence[Callback],
    n_cells: int,
) -> list[Chain]:
    """All chains, in the order of their seeds; where an interrupt came, those with a whole sweep.

    Of those that are done only the best has its state: a chain that has fallen behind leaves its
    history and its draws. An interrupt is the reason of them all.
    """
    if len(seeds) > 1 and runs_side_by_side(executor, callbacks, n_cells):
        return _SideBySide(seeds, one, callbacks).run(executor.n_threads)
    return _one_by_one(seeds, one, executor, callbacks)


def runs_side_by_side(executor: Executor, callbacks: Sequence[Callback], n_cells: int) -> bool:
    """Whether several chains are run at a time: by threads of this process, on a small table, and
    with nobody watching who expects one chain after the other.

    >>> runs_side_by_side(LocalExecutor(2), [], 1000), runs_side_by_side(LocalExecutor(1), [], 1000)
    (True, False)
    """
    has_threads = executor.n_threads > 1 and is_of_this_process(executor)
    return has_threads and n_cells <= MOST_CELLS and all(isinstance(c, OfChain) for c in callbacks)


def _of_chain(callbacks: Sequence[Callback], number: int) -> list[Callback]:
    return [c.of_chain(number) if isinstance(c, OfChain) else c for c in callbacks]


def _one_by_one(
    seeds: Sequence[int], one: One, executor: Executor, callbacks: Sequence[Callback]
) -> list[Chain]:
    """Each on all threads."""
    done: list[Chain] = []
    for number, seed in enumerate(seeds):
        own = _of_chain(callbacks, number) if len(seeds) > 1 else callbacks
        try:
            done.append(one(seed, executor, own))
        except KeyboardInterrupt:  # before this chain's first sweep was whole
            if not done:
                raise
            return [chain.interrupted() for chain in done]
        done = _with_one_state(done)
        if done[-1].run.reason == INTERRUPTED:
            return [chain.interrupted() for chain in done]
    return done


def _with_one_state(done: Sequence[Chain]) -> list[Chain]:
    """The chains with the best one's state, but for their own draws."""
    best = max(done, key=lambda chain: chain.value).run.state  # of equals the first

    def in_place(chain: Chain) -> Chain:
        state = best.changed(draws=chain.run.state.draws)
        return replace(chain, run=replace(chain.run, state=state))

    return [in_place(chain) for chain in done]


class _SideBySide:
    """Chains on threads of their own, which share out the threads that there are."""

    def __init__(self, seeds: Sequence[int], one: One, callbacks: Sequence[Callback]) -> None:
        self._seeds, self._one, self._callbacks = seeds, one, callbacks
        self._lock, self._may_begin = Lock(), Event()
        self._done: dict[int, Chain] = {}
        self._last = math.inf  # the last chain that goes on: those after it stop after a sweep

    def run(self, n_threads: int) -> list[Chain]:
        """All of them; what they have to warn of is said here, chain by chain."""
        numbers = range(len(self._seeds))
        at_once = min(n_threads, len(numbers))
        where = LocalExecutor(n_threads // at_once)
        with ThreadPoolExecutor(at_once, thread_name_prefix="chain") as pool:
            work: list[Future[list[Warning]]] = []
            try:
                # None begins before all are there: an interrupt in between stops them all.
                work += (pool.submit(self._chain, number, where) for number in numbers)
                self._may_begin.set()
                wait(work)
            except KeyboardInterrupt:
                self._last = -1
                self._may_begin.set()
                wait(work)  # each comes to the end of its sweep
        return self._gathered(work)

    def _gathered(self, work: Sequence[Future[list[Warning]]]) -> list[Chain]:
        interrupts: list[BaseException] = []
        for future in work:
            error = future.exception()
            if isinstance(error, KeyboardInterrupt):
                interrupts.append(error)
            elif error is not None:
                raise error
        if interrupts and not self._done:
            raise interrupts[0]
        said = [warning for f in work if f.exception() is None for warning in f.result()]
        for text, kind in dict.fromkeys((str(warning), type(warning)) for warning in said):
            warn(text, kind, stacklevel=5)
        chains = [self._done[number] for number in sorted(self._done)]
        if interrupts or any(chain.run.reason == INTERRUPTED for chain in chains):
            return [chain.interrupted() for chain in chains]
        return chains

    def _chain(self, number: int, where: Executor) -> list[Warning]:
        """Run one, keep it, and give back what it would warn of."""

        def go_on(info: Info | None = None) -> None:
            if number > self._last:
                raise KeyboardInterrupt

        self._may_begin.wait()
        try:
            go_on()
            own = [*_of_chain(self._callbacks, number), go_on]
            with held_warnings() as held:
                chain = self._one(self._seeds[number], where, own)
            if chain.run.reason == INTERRUPTED and number <= self._last:
                self._last = -1
            self._keep(number, chain)
        except KeyboardInterrupt:
            if number <= self._last:  # it was not told to stop: this comes from outside
                self._last = -1
            raise
        except BaseException:
            # Earlier chains go on: which error is raised does not depend on who was quicker.
            self._last = min(self._last, number)
            raise
        return held

    def _keep(self, number: int, chain: Chain) -> None:
        with self._lock:
            self._done[number] = chain
            numbers = sorted(self._done)
            chains = _with_one_state([self._done[n] for n in numbers])
            self._done = dict(zip(numbers, chains, strict=True))
