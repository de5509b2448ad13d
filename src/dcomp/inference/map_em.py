"""Scores and loadings at their mode, by EM: C04 (9), (14) for GP; for DM B18 (5.6)–(5.8).

One sweep visits every document: some updates of its scores, C04's E-steps, and the statistics n
come from one native kernel; then Θ follows from n. With flat priors (α = 1) the update is that of
PLSA, and of non-negative matrix factorisation by multiplicative updates (BJ06 Lemma 2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.executors import Executor, LocalExecutor
from dcomp.inference.base import Climber, Info
from dcomp.inference.m_steps import M_STEPS, repeated_m_steps
from dcomp.inference.mean_field import (
    Allocation,
    Weights,
    allocate,
    finite_objective,
    with_learned,
)
from dcomp.inference.options import LOADINGS, MAX_INNER, N_TRIES, START
from dcomp.inference.path import Path
from dcomp.inference.spectral import check_climb_start, check_tries, climb_state
from dcomp.inference.state import Carried, State
from dcomp.models import Model, Observations
from dcomp.models.arrays import read_only
from dcomp.models.options import Option


@dataclass(frozen=True)
class MapEM(Climber):
    """The mode of p(scores, Θ | w) by EM; every sweep raises it where β is given.

    loadings: "mean" θ ∝ n + γ, the mode under Dirichlet(γ + 1); "map" θ ∝ n + γ − 1, the mode under
    Dirichlet(γ), γ ≥ 1: at γ = 1 the maximum of the likelihood.
    max_inner, inner_tol: updates of one document per sweep (C04: 8 to 20), at most and until
    Σ|Δc| ≤ tol·L.
    start, n_tries: as in MeanField.
    m_steps: steps for Θ per sweep with the scores held (C04 3.5), one of which costs no pass.

    >>> MapEM(max_inner=20).name
    'map'
    """

    loadings: str = "mean"
    max_inner: int = 10
    inner_tol: float = 1e-3
    dtype: str = "float32"
    start: str = "auto"
    n_tries: int | str = "auto"
    m_steps: int = 1

    name: ClassVar[str] = "map"
    objective_name: ClassVar[str] = "log posterior"
    mode: ClassVar[str] = "maximise"
    estimates: ClassVar[str] = "mode"
    options: ClassVar[tuple[Option, ...]] = (LOADINGS, MAX_INNER, START, N_TRIES, M_STEPS)
    is_plain: ClassVar[bool] = True
    must_carry: ClassVar[bool] = False  # a fit of few sweeps carries nothing yet

    def __post_init__(self) -> None:
        check_climb_start(self.start)
        check_tries(self.n_tries)
        if self.loadings not in ("mean", "map"):
            raise InvalidParameter(f"loadings must be mean or map; got {self.loadings!r}")
        if self.dtype not in ("float32", "float64"):
            raise InvalidParameter(f"dtype must be float32 or float64; got {self.dtype!r}")
        if self.max_inner < 1 or not self.inner_tol >= 0:
            raise InvalidParameter(
                "max_inner must be at least 1 and inner_tol at least 0; got "
                f"{self.max_inner} and {self.inner_tol}"
            )

        if self.m_steps < 1:
            raise InvalidParameter(f"m_steps must be at least 1; got {self.m_steps}")

    @property
    def min_sweeps(self) -> int:
        """Sweeps before the stopping rule is asked."""
        return 10

    def init(
        self, model: Model, observed: Observations, seed: int, executor: Executor | None = None
    ) -> State:
        """Even scores, loadings seeded by documents."""
        check_modes(model, self.loadings)
        executor = executor or LocalExecutor(1)
        return climb_state(self.start, model, observed, seed, self.dtype, executor)

    def step(self, observed: Observations, state: State, executor: Executor) -> tuple[State, Info]:
        """One sweep: Θ from n, every document's scores, then the new n."""
        features = observed.counts.features
        weights = Weights.build(state.model, features, state.n, self.loadings, executor.n_threads)
        how = Allocation(state.model, weights, self.max_inner, self.inner_tol, self.mode)
        after, stats = executor.map_reduce(allocate, observed.parts, state.locals, how)
        objective = finite_objective(stats, weights, state.sweep + 1)
        prior: Any = state.model.scores
        learned, capped = prior.learn_at_mode(stats.seen)
        model = with_learned(state.model, learned)
        info = Info(
            state.sweep + 1,
            objective,
            stats.bound,
            stats.n_updates / stats.n_docs,
            shares=stats.shares,
            capped=capped,
        )
        more = (after, stats.n, self.loadings, self.m_steps - 1)
        n = repeated_m_steps(model, observed, *more, executor)
        shared = replace(state.shared, model=model, n=read_only(n), sweep=state.sweep + 1)
        return replace(state, shared=shared, locals=after), info

    def settling(self) -> Self:
        """Itself with documents that come to rest in every sweep."""
        return replace(self, max_inner=max(self.max_inner, 50), inner_tol=1e-4)

    def judging(self) -> Self:
        """Itself: the objective of a sweep is of the loadings that it begins with."""
        return self

    def carried_type(self, model: Model) -> type[Carried]:
        """Where its climb stands."""
        return Path

    @property
    def treatment(self) -> str:
        """As `loadings` says."""
        return self.loadings


def check_modes(model: Model, loadings: str) -> None:
    """An error where a mode does not exist (MODELS §4, §7)."""
    scores: Any = model.scores
    scores.check_mode()
    if model.loadings.learned:
        raise UnsupportedCombination(
            "gamma='auto' is learned by gibbs and collapsed-gibbs, not map"
        )
    if loadings == "map" and model.loadings.gamma.min() < 1:
        raise InvalidParameter(
            "loadings='map' needs gamma >= 1, below which the objective is unbounded; "
            f"got gamma = {model.loadings.gamma.min():g} (use loadings='mean')"
        )


def check_flat(model: Model, algorithm: str) -> None:
    """An error unless the model has no priors, which maximum likelihood has no use for."""
    scores: Any = model.scores
    wanted = {**scores.flat_values, "gamma": 1.0}
    given = {p.name: p.value for p in scores.parameters()} | {"gamma": model.loadings.gamma}
    for name, flat in wanted.items():
        if np.any(given[name] != flat):
            *most, last = (f"{key}={value:g}" for key, value in wanted.items())
            raise InvalidParameter(
                f"{algorithm} is maximum likelihood and has no priors: give {', '.join(most)} and "
                f"{last}, or use map; got {name} = {np.ravel(given[name])[0]:g}"
            )
