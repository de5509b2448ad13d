"""Scores and loadings at their mode, by EM: C04 (9), (14) for GP; for DM B18 (5.6)–(5.8).

One sweep visits every document: some updates of its scores, C04's E-steps, and the statistics n
come from one native kernel; then Θ follows from n. With flat priors (α = 1) the update is that of
PLSA, and of non-negative matrix factorisation by multiplicative updates (BJ06 Lemma 2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.executors import Executor
from dcomp.inference.base import FloatingArray, Info, State
from dcomp.inference.hyper import BETA_CAP, BETA_FLOOR
from dcomp.inference.mean_field import Allocation, Weights, allocate, finite_objective
from dcomp.inference.start import seeded_state
from dcomp.models import Model, Observations
from dcomp.models.arrays import read_only


@dataclass(frozen=True)
class MapEM:
    """The mode of p(scores, Θ | w) by EM; every sweep raises it where β is given.

    loadings: "mean" θ ∝ n + γ, the mode under Dirichlet(γ + 1); "map" θ ∝ n + γ − 1, the mode under
    Dirichlet(γ), γ ≥ 1: at γ = 1 the maximum of the likelihood.
    max_inner, inner_tol: updates of one document per sweep (C04: 8 to 20), at most and until
    Σ|Δc| ≤ tol·L.

    >>> MapEM(max_inner=20).name
    'map'
    """

    loadings: str = "mean"
    max_inner: int = 10
    inner_tol: float = 1e-3
    dtype: str = "float32"

    name: ClassVar[str] = "map"
    objective_name: ClassVar[str] = "log posterior"
    samples: ClassVar[bool] = False
    mode: ClassVar[str] = "maximise"

    def __post_init__(self) -> None:
        if self.loadings not in ("mean", "map"):
            raise InvalidParameter(f"loadings must be mean or map; got {self.loadings!r}")
        if self.dtype not in ("float32", "float64"):
            raise InvalidParameter(f"dtype must be float32 or float64; got {self.dtype!r}")
        if self.max_inner < 1 or not self.inner_tol >= 0:
            raise InvalidParameter(
                "max_inner must be at least 1 and inner_tol at least 0; got "
                f"{self.max_inner} and {self.inner_tol}"
            )

    @property
    def min_sweeps(self) -> int:
        """Sweeps before the stopping rule is asked."""
        return 10

    def init(
        self, model: Model, observed: Observations, seed: int, executor: Executor | None = None
    ) -> State:
        """Even scores, loadings seeded by documents."""
        check_modes(model, self.loadings)
        return seeded_state(model, observed.counts, seed, self.dtype)

    def step(self, observed: Observations, state: State, executor: Executor) -> tuple[State, Info]:
        """One sweep: Θ from n, every document's scores, then the new n."""
        features = observed.counts.features
        weights = Weights.build(state.model, features, state.n, self.loadings, executor.n_threads)
        how = Allocation(state.model, weights, self.max_inner, self.inner_tol, self.mode)
        c, stats = allocate(observed, state.c, how, executor)
        objective = finite_objective(stats, weights, state.sweep + 1)
        model, capped = learn_rate(state.model, c, observed)
        info = Info(
            state.sweep + 1,
            objective,
            stats.bound,
            stats.n_updates / stats.n_docs,
            capped=capped,
        )
        new = replace(state, model=model, c=c, n=read_only(stats.n), sweep=state.sweep + 1)
        return new, info

    def finish(self, observed: Observations, state: State) -> State:
        """Nothing is left over."""
        return state


def check_modes(model: Model, loadings: str) -> None:
    """An error where a mode does not exist (MODELS §4, §7)."""
    scores: Any = model.scores
    if scores.alpha.min() < 1:
        raise InvalidParameter(
            "map needs alpha >= 1: below it the density of a score is infinite at zero, and a "
            f"whole document can vanish; got alpha = {scores.alpha.min():g} ('auto' is 1.1)"
        )
    if scores.learn_alpha:
        raise UnsupportedCombination(
            "map does not learn alpha, because the mode of a score says too little about its "
            "spread; give a number of at least 1"
        )
    if model.loadings.learned:
        raise UnsupportedCombination(
            "gamma='auto' is learned by gibbs and collapsed-gibbs, not map"
        )
    if loadings == "map" and model.loadings.gamma.min() < 1:
        raise InvalidParameter(
            "loadings='map' needs gamma >= 1, below which the objective is unbounded; "
            f"got gamma = {model.loadings.gamma.min():g} (use loadings='mean')"
        )


def learn_rate(
    model: Model, c: FloatingArray, observed: Observations
) -> tuple[Model, tuple[str, ...]]:
    """β = α / mean E[l], E[l] = (α + c) / (β + e): from the mean of the scores given c, because the
    joint mode of scores and their scale does not exist (MODELS §7)."""
    scores: Any = model.scores
    if not getattr(scores, "learn_beta", False):
        return model, ()
    rate = scores.beta + observed.total_exposure[:, None]
    mean = ((scores.alpha + c) / rate).mean(axis=0)
    beta = np.clip(scores.alpha / mean, BETA_FLOOR, BETA_CAP)
    at_limit = np.any((beta <= BETA_FLOOR) | (beta >= BETA_CAP))
    return model.with_scores(beta=beta), ("beta",) if at_limit else ()
