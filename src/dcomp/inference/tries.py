"""Several short climbs from different starts, of which the best is carried on.

A start decides which optimum a climb ends in, and after some sweeps it shows. The first try is the
start that a fit without tries has; with `start="auto"` the others are in turn of the other kind and
of its own, with seeds of their own: neither kind is the better one on all tables
(docs/decisions/0025).

Tries belong to the beginning of a fit. What they leave is where the best of them began: its sweeps
are swept again, as the first ones of the fit, so that a fit with tries is a fit like any other,
with every sweep in its history, and is resumed like any other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dcomp.executors import Executor, LocalExecutor, is_of_this_process
from dcomp.inference.ascent import Ascent, is_cheap
from dcomp.inference.base import Algorithm
from dcomp.inference.path import SEEDED, SPECTRAL, Path
from dcomp.inference.spectral import is_spectral
from dcomp.inference.state import State
from dcomp.inference.stopping import Rule
from dcomp.models import Model, Observations

USUAL = 6  # tries, where they are cheap
SWEEPS = 20  # of each try
_NEVER = Rule(0.0)  # so that which start is best does not depend on when the fit is to stop


def tries_of(algorithm: Algorithm, model: Model, observed: Observations) -> int:
    """How many tries a fit has: as it was told, or 6 where table and components are small; of
    components in a tree one, because they are not all there yet."""
    told: Any = algorithm
    if told.n_tries != "auto":
        return int(told.n_tries)
    K = model.n_components
    differ = K > 1 and model.scores.nodes is None
    return USUAL if differ and is_cheap(observed, K) else 1


def begin(
    model: Model, algorithm: Algorithm, observed: Observations, seed: int, executor: Executor
) -> State:
    """Where the best try began; the answer does not depend on the executor."""
    n_tries = tries_of(algorithm, model, observed) if algorithm.is_plain else 1
    if n_tries == 1:
        return algorithm.init(model, observed, seed, executor)
    tries = _Tries(model, algorithm, observed, seed)
    best = int(np.argmax(tries.objectives(n_tries, executor)))  # of equals the first
    return tries.start(best, executor)


@dataclass(frozen=True)
class _Tries:
    """The tries of one fit, by their numbers."""

    model: Model
    algorithm: Algorithm
    observed: Observations
    seed: int

    def objectives(self, n_tries: int, executor: Executor) -> list[float]:
        """Where each try ends, side by side where threads are at hand: only that comes back."""
        if executor.n_threads > 1 and is_of_this_process(executor):
            beside = executor.side_by_side()
            found, _ = beside.map_reduce(_try, range(n_tries), [None] * n_tries, self)
            return beside.gather(found)
        return [self.objective(number, executor) for number in range(n_tries)]

    def objective(self, number: int, executor: Executor) -> float:
        """Where one ends."""
        ascent = Ascent(self.algorithm, _NEVER)
        state, objective = self.start(number, executor), -np.inf
        for _ in range(SWEEPS):
            state, info = ascent.step(self.observed, state, executor)
            objective = info.objective
        return objective

    def start(self, number: int, executor: Executor) -> State:
        """Where one begins. Its seed is that of the start alone; all else goes by the fit's."""
        algorithm: Any = self.algorithm
        if number == 0:
            return self.algorithm.init(self.model, self.observed, self.seed, executor)
        kind = self._kind(number)
        own_seed = int(np.random.SeedSequence(self.seed, spawn_key=(number,)).generate_state(1)[0])
        begun: State = replace(algorithm, start=kind).init(
            self.model, self.observed, own_seed, executor
        )
        spectral = is_spectral(kind, self.model, self.observed)
        path = Path(start=SPECTRAL if spectral else SEEDED)
        return replace(begun, shared=replace(begun.shared, seed=self.seed, carried=path))

    def _kind(self, number: int) -> str:
        """Of a start: what was told, or both kinds in turn."""
        told: Any = self.algorithm
        if told.start != "auto":
            return str(told.start)
        usual = is_spectral("auto", self.model, self.observed)
        return "spectral" if usual == (number % 2 == 0) else "seeded"


def _try(number: int, local: None, tries: _Tries, n_threads: int) -> tuple[float, None]:
    return tries.objective(number, LocalExecutor(n_threads)), None
