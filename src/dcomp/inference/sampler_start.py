"""Where a sampler begins: at random, or from a mean-field fit; and how it may be cooled.

Neither changes what a chain converges to, only how soon. Chains whose spread is to be compared are
better begun at random, far from each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dcomp.errors import InvalidParameter
from dcomp.executors import Executor
from dcomp.inference.mean_field import MeanField, Weights
from dcomp.inference.state import Local
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray
from dcomp.models.prior import learned_values

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
    locals: Sequence[Local]  # with the expected words c of each document per component
    weights: Weights

    @classmethod
    def fitted(
        cls, model: Model, observed: Observations, seed: int, executor: Executor
    ) -> MeanFieldStart:
        """A model with exact zeros has no mean field; it begins where the one without arrives."""
        algorithm = MeanField()
        state = algorithm.init(_fixed_gamma(model.without_zeros()), observed, seed, executor)
        for _ in range(PASSES):
            state, _ = algorithm.step(observed, state, executor)
        weights = Weights.build(
            state.model, observed.counts.features, state.n, algorithm.loadings, executor.n_threads
        )
        return cls(model.with_scores(**learned_values(state.model.scores)), state.locals, weights)


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
    changes = {p.name: _at_heat(p.value, heat, p.heat) for p in model.scores.parameters()}
    loadings = replace(model.loadings, gamma=model.loadings.gamma * heat)
    return model.with_scores(**changes).with_loadings(loadings)


def _at_heat(value: FloatArray, heat: float, power: int) -> FloatArray:
    """What annealing makes of a parameter, given in which direction it is stronger."""
    if power == 0:
        return value
    return value * heat if power > 0 else value / heat
