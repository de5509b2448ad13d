"""Where a sampler begins: at random, or from a mean-field fit; and how it may be cooled.

None of it changes what a chain converges to, only how soon. Tokens move one at a time, so that long
documents move slowly: where a table is dense and its documents are long, a chain from a random
start is far from its mode after hundreds of sweeps, and begins from mean field unless it is told
otherwise (docs/decisions/0009). Chains whose spread is to be compared begin far from each other:
the first where the spectrum says, the others each from documents that its own seed draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from dcomp.errors import InvalidParameter
from dcomp.executors import Executor
from dcomp.inference.ascent import Ascent
from dcomp.inference.base import Sampler
from dcomp.inference.mean_field import MeanField, Weights
from dcomp.inference.spectral import is_dense
from dcomp.inference.start import even_c, prior_shares
from dcomp.inference.state import Local
from dcomp.inference.stopping import Rule
from dcomp.models import Model, Observations
from dcomp.models.arrays import LARGEST, SMALLEST, FloatArray
from dcomp.models.prior import learned_values

STARTS = ("auto", "random", "mean-field", "seeded")
LONG = 100  # words per document, from which on a chain from a random start settles late
PASSES = 40  # of mean field: its gentle phase and a little more
PASSES_OF_DENSE = 150  # of tables where the climb is slow, and so is the chain that takes over
HEAT = 30.0  # by how much the priors are stronger at the first of the annealed sweeps

_Sampler = TypeVar("_Sampler", bound=Sampler)


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
        cls, start: str, model: Model, observed: Observations, seed: int, executor: Executor
    ) -> MeanFieldStart:
        """A model with exact zeros has no mean field; it begins where the one without arrives."""
        algorithm = MeanField(start="seeded" if start == "seeded" else "auto")
        state = algorithm.init(_fixed_gamma(model.without_zeros()), observed, seed, executor)
        ascent = Ascent(algorithm, Rule(0.0))
        for _ in range(PASSES_OF_DENSE if is_dense(observed.counts) else PASSES):
            state, _ = ascent.step(observed, state, executor)
        weights = Weights.build(
            state.model, observed.counts.features, state.n, algorithm.loadings, executor.n_threads
        )
        locals_ = [replace(local, carried={}) for local in state.locals]
        return cls(_taken_over(model, state.model), locals_, weights)

    @classmethod
    def known(cls, model: Model, observed: Observations) -> MeanFieldStart:
        """Without a fit, from what is known beforehand: features where the prior of the loadings
        has them, documents evenly among the components that they may use."""
        weights = Weights.of_loadings(prior_shares(model, observed.counts.n_features))
        K = model.n_components
        locals_ = [Local(even_c(part.counts, K, np.float32)) for part in observed.parts]
        return cls(model, locals_, weights)


def begins_by_mean_field(start: str, anneal: int, model: Model, observed: Observations) -> bool:
    """Whether a chain does: where it is told to, or a random start would hold it up for long."""
    if start != "auto":
        return start != "random"
    counts = observed.counts
    is_long = counts.n_tokens >= LONG * counts.n_docs
    return is_long and is_dense(counts) and anneal == 0 and model.scores.nodes is None


def begun_apart(sampler: _Sampler, model: Model, observed: Observations) -> _Sampler:
    """A sampler as chains after the first run it: where mean field leads and nobody has said from
    where, it begins from documents that the seed draws, and may lead elsewhere."""
    own: Any = sampler
    if own.start != "auto" or not begins_by_mean_field("auto", own.anneal, model, observed):
        return sampler
    seeded: _Sampler = replace(own, start="seeded")
    return seeded


def _taken_over(model: Model, fitted: Model) -> Model:
    """The model with what mean field has learned of its priors, if that is not more even than what
    the model begins with. Of short documents mean field may learn that all are alike, and a chain
    would never leave priors of thousands. Without zeros, shapes have to be small where scores are
    0: a model that has zeros begins with its own."""
    scores: Any = model.scores
    if scores.slots.zeros:
        return model
    learned = learned_values(fitted.scores)
    if "alpha" in learned and learned["alpha"].sum() > scores.alpha.sum():
        return model
    return model.with_scores(**learned)


def is_known(model: Model, observed: Observations) -> bool:
    """Whether something is known of components or documents that a start at random would forget: a
    token of a component that its document may not use would keep it there."""
    return model.loadings.is_own or observed.allowed is not None


def _fixed_gamma(model: Model) -> Model:
    return model.with_loadings(replace(model.loadings, learned=False))


def heated(model: Model, sweep: int, anneal: int, heat: float = HEAT) -> Model:
    """The model that an annealed sweep draws with: priors `heat` times as strong at first, falling
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
    heat **= 1 - (sweep - 1) / anneal
    changes = {p.name: _at_heat(p.value, heat, p.heat) for p in model.scores.parameters()}
    loadings = replace(model.loadings, gamma=_at_heat(model.loadings.gamma, heat, 1))
    return model.with_scores(**changes).with_loadings(loadings)


def _at_heat(value: FloatArray, heat: float, power: int) -> FloatArray:
    """What annealing makes of a parameter, given in which direction it is stronger; as far as such
    a number may go."""
    if power == 0:
        return value
    strong = value * heat if power > 0 else value / heat
    return np.where(value > 0, np.clip(strong, SMALLEST, LARGEST), value)
