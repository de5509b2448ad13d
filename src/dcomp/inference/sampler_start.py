"""Where a sampler begins: at random, or from a mean-field fit; and how it may be cooled.

Neither changes what a chain converges to, only how soon. Chains whose spread is to be compared are
better begun at random, far from each other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.errors import InvalidParameter
from dcomp.executors import Executor, LocalExecutor
from dcomp.inference.mean_field import MeanField, Weights
from dcomp.models import ConditionalGammaScores, GammaPoisson, GammaScores, Model, Observations

STARTS = ("random", "mean-field")
PASSES = 40  # of mean field: its gentle phase and a little more
HEAT = 30.0  # by how much the priors are stronger at the first of the annealed sweeps


def check_start(start: str, anneal: int, burn_in: int) -> None:
    """An error unless a chain can begin like this."""
    if start not in STARTS:
        raise InvalidParameter(f"start must be one of {', '.join(STARTS)}; got {start!r}")
    if not 0 <= anneal <= burn_in:
        raise InvalidParameter(
            f"anneal must lie between 0 and burn_in = {burn_in}, because annealed sweeps are no "
            f"draws of the posterior; got {anneal}"
        )


@dataclass(frozen=True)
class MeanFieldStart:
    """A short mean-field fit, as a sampler takes it over."""

    model: Model  # with priors as mean field has learned them
    c: npt.NDArray[np.float32]  # (I, K): expected words of each document per component
    weights: Weights

    @classmethod
    def of(
        cls, model: Model, observed: Observations, seed: int, executor: Executor | None
    ) -> MeanFieldStart:
        """CGP has no mean field; it begins where GP with its α and β arrives."""
        executor = executor or LocalExecutor(1)
        algorithm = MeanField()
        state = algorithm.init(_fixed_gamma(_without_zeros(model)), observed, seed)
        for _ in range(PASSES):
            state, _ = algorithm.step(observed, state, executor)
        weights = Weights.build(
            state.model, observed.counts.features, state.n, algorithm.loadings, executor.n_threads
        )
        learned: Any = state.model.scores
        changes = {name: getattr(learned, name) for name in learned.learned}
        return cls(model.with_scores(**changes), state.c, weights)


def _without_zeros(model: Model) -> Model:
    scores: Any = model.scores
    if not isinstance(scores, ConditionalGammaScores):
        return model
    plain = GammaScores(scores.alpha, scores.beta, scores.learn_alpha, scores.learn_beta)
    return GammaPoisson(plain, model.loadings)


def _fixed_gamma(model: Model) -> Model:
    return model.with_loadings(replace(model.loadings, learned=False))


def heated(model: Model, sweep: int, anneal: int) -> Model:
    """The model that an annealed sweep draws with: priors HEAT times as strong at first, falling
    to their own strength by the end of `anneal` sweeps.

    Strong priors make components alike, so that tokens move freely; the components part slowly as
    the priors give way. Means stay: β grows with α, and zeros become as rare.

    >>> from dcomp.models import DirichletMultinomial
    >>> model = DirichletMultinomial.build(2, alpha=0.1)
    >>> float(heated(model, 1, 10).scores.alpha[0].round(3)), heated(model, 11, 10) == model
    (3.0, True)
    """
    if sweep > anneal:
        return model
    heat = HEAT ** (1 - (sweep - 1) / anneal)
    scores: Any = model.scores
    stronger = [name for name in ("alpha", "beta", "a1", "a2", "b", "psi") if hasattr(scores, name)]
    changes = {name: getattr(scores, name) * heat for name in stronger}
    if hasattr(scores, "rho"):
        changes["rho"] = scores.rho / heat
    loadings = replace(model.loadings, gamma=model.loadings.gamma * heat)
    return model.with_scores(**changes).with_loadings(loadings)
