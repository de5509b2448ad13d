"""Fits of several K of one corpus that help each other: no K is to lose because its chain was
unlucky.

Each K has the best of its own starts. Then, up the ladder, every K is tried from the one below with
its components split, and down again from the one above with components joined; last, each from its
own with one split and two joined, as long as that is better (`neighbours`). What ended highest in
the algorithm's own objective is kept, or in what else was asked to compare by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from dcomp.data import Counts
from dcomp.evaluate.neighbours import Neighbours, Words
from dcomp.executors import Executor
from dcomp.inference import Algorithm
from dcomp.inference.given_start import can_begin_at, state_at
from dcomp.inference.run import uninterrupted
from dcomp.models import Model, Observations
from dcomp.result import Fit, fit
from dcomp.result.chains import chain_value
from dcomp.validation import usual_exposure

EXCHANGES = 2  # of each K, at most


@dataclass(frozen=True, eq=False)
class Rung:
    """What is known of one K."""

    words: Words
    value: float  # of the objective, or of what else fits are compared by, where the best ended
    others: tuple[float, ...] = ()  # where the other starts ended
    fit: Fit | None = None  # of the best, where it is at hand

    @classmethod
    def worth(cls, fitted: Fit, value: float) -> Rung:
        """One fit, worth so much."""
        return cls(words_of(fitted), value, (), fitted)

    @classmethod
    def from_fit(cls, fitted: Fit) -> Rung:
        """The best of a fit's own starts, and the others."""
        values = [chain_value(trace.rows) for trace in fitted.chains]
        value = chain_value(fitted.history.rows)
        others = sorted(values)[:-1] if len(values) > 1 else []
        return cls(words_of(fitted), value, tuple(others), fitted)

    def or_better(self, other: Rung) -> Rung:
        """Of two the one that ended higher, which knows of both; of equals the first."""
        best, rest = (other, self) if other.value > self.value else (self, other)
        return replace(best, others=(*self.others, *other.others, rest.value))

    @property
    def spread(self) -> float:
        """How far the second of all starts ended below the best; NaN where there is none."""
        return self.value - max(self.others) if self.others else float("nan")


def words_of(fitted: Fit) -> Words:
    """Where a fit has its words."""
    return Words(
        *(np.asarray(table, dtype=np.float64) for table in (fitted.state.c, fitted.state.n))
    )


@dataclass(frozen=True, eq=False)
class Ladder:
    """How the fits of one corpus are made."""

    counts: Counts
    model_of: Callable[[int], Model]  # of a K
    algorithm: Algorithm
    exposure: Any = None
    max_iter: int | None = None
    tol: float = 0.05
    seed: int = 0
    worth: Callable[[Fit], float] | None = None  # to compare fits by, where not by their objective

    @property
    def is_there(self) -> bool:
        """Whether fits can begin at each other's words."""
        return can_begin_at(self.model_of(1), self.algorithm)

    def climbed(self, rungs: Mapping[int, Rung], executor: Executor) -> dict[int, Rung]:
        """Up, down, and each by itself."""
        best = dict(sorted(rungs.items()))
        near = self.neighbours()
        ks = list(best)
        for below, K in pairwise(ks):
            self._try(best, K, near.at(best[below].words, K), executor)
        for K, above in reversed(list(pairwise(ks))):
            self._try(best, K, near.at(best[above].words, K), executor)
        for K in ks:
            for _ in range(EXCHANGES):
                words = near.exchanged(best[K].words)
                if words is None or not self._try(best, K, words, executor):
                    break
        return best

    def fitted(self, words: Words, executor: Executor) -> Fit:
        """A fit that begins there."""
        model = self.model_of(words.n_components)
        exposure = self.exposure
        if exposure is None:
            exposure = usual_exposure(self.counts, model)
        observed = Observations.build(self.counts, exposure)
        where = (words.c, words.n, self.seed, executor)
        begin = state_at(model, self.algorithm, observed, *where)
        how: Any = {"max_iter": self.max_iter, "tol": self.tol, "seed": self.seed, "warn": False}
        return uninterrupted(
            fit(
                self.counts,
                model,
                self.algorithm,
                exposure=exposure,
                begin=begin,
                executor=executor,
                **how,
            )
        )

    def _try(self, best: dict[int, Rung], K: int, words: Words, executor: Executor) -> bool:
        """Whether a fit from there is better than what there was."""
        before, fitted = best[K].value, self.fitted(words, executor)
        by_worth = None if self.worth is None else Rung.worth(fitted, self.worth(fitted))
        best[K] = best[K].or_better(by_worth or Rung.from_fit(fitted))
        return best[K].value > before

    def neighbours(self) -> Neighbours:
        """Splits and joins of these fits."""
        gamma = np.clip(self.model_of(1).loadings.per_feature(self.counts.n_features), 0.01, None)
        return Neighbours(self.counts, np.asarray(gamma, dtype=np.float64), self.seed)
