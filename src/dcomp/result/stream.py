"""Documents that come one batch after the other: `partial_fit`, by steps of stochastic mean field.

A fit that comes of it is of the last batch: its documents, their scores, its fingerprint. Its
loadings and priors speak for all documents so far, `n` for as many as there were.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import digamma

from dcomp import registry, validation
from dcomp.data import Counts, FeatureSpace
from dcomp.errors import InvalidCounts, InvalidParameter, UnsupportedCombination
from dcomp.executors import Executor, resolve_executor
from dcomp.inference import Algorithm, MeanField, State, StochasticMeanField
from dcomp.inference.batches import FEW, USUAL
from dcomp.inference.run import COMPLETE
from dcomp.inference.stochastic_mean_field import Steps, steps_of
from dcomp.inference.stopping import change_of
from dcomp.models import Model, Observations
from dcomp.models.arrays import read_only
from dcomp.result.fit import Fit
from dcomp.result.provenance import Provenance
from dcomp.result.trace import Trace


def first_batch(
    counts: Counts,
    model: Model,
    algorithm: Algorithm,
    *,
    exposure: Any = None,
    seed: int = 0,
    n_jobs: int | None = None,
    executor: Executor | None = None,
) -> Fit:
    """A stream's beginning: components seeded by documents of its first batch, and its steps."""
    steps = _by_steps(algorithm)
    registry.check(model, steps)
    if exposure is None:
        exposure = validation.usual_exposure(counts, model)
    observed = validation.resolve_observations(counts, model, exposure)
    validation.tell_suspicions(observed, model)
    where = resolve_executor(n_jobs, executor)
    state = steps.init(model, observed, seed, where)
    rule = exposure if isinstance(exposure, str) else None
    return _stepped(observed, state, steps, where, rule, Trace(()))


def next_batch(
    fit: Fit,
    counts: Counts,
    *,
    exposure: Any = None,
    n_jobs: int | None = None,
    executor: Executor | None = None,
) -> Fit:
    """The stream goes on: features are matched by name, and those that are new are added."""
    steps = _by_steps(fit.algorithm)
    features = enlarged(fit.features, counts.features)
    state = with_features(fit, features)
    aligned, _ = counts.aligned_to(features)
    rule = fit.exposure_rule if exposure is None else exposure
    if rule is None and fit.exposure is not None:
        raise InvalidParameter("the first batch had exposures of its own: so must this one")
    observed = validation.resolve_observations(aligned, state.model, rule)
    before = steps_of(state.shared)
    n_docs = before.n_docs + aligned.n_docs
    n = state.n * state.n.dtype.type(n_docs / before.n_docs)
    shared = replace(state.shared, n=read_only(n), carried=replace(before, n_docs=n_docs))
    state = replace(state, shared=shared, firsts=aligned.firsts)
    state = replace(state, locals=[replace(state.locals[0])] * len(observed.parts))
    where = resolve_executor(n_jobs, executor)
    word = rule if isinstance(rule, str) else None
    return _stepped(observed, state, steps, where, word, fit.history)


def as_stream(fit: Fit) -> Fit:
    """A fit by mean field as if steps had led there, many enough that the next ones are small; any
    other as it is. At its end ψ(α) − ψ(Σα), or ψ(α) − log β, is the mean of E[log score]."""
    if not isinstance(fit.algorithm, MeanField):
        return fit
    prior = {parameter.name: parameter.value for parameter in fit.model.scores.parameters()}
    alpha, n_docs = prior["alpha"], len(fit.state.c)
    rate = np.log(prior["beta"]) if "beta" in prior else digamma(alpha.sum())
    mean = fit.scores.mean(axis=0, dtype=np.float64)
    steps = Steps(digamma(alpha) - rate, mean, max(FEW, n_docs // USUAL), float(n_docs))
    algorithm = StochasticMeanField(fit.algorithm.loadings, dtype=fit.algorithm.dtype)
    state = fit.state.changed(sweep=0, carried=steps)
    return replace(fit, algorithm=algorithm, state=state, history=Trace(()))


def _by_steps(algorithm: Algorithm) -> StochasticMeanField:
    """The algorithm, if it can go on with other documents."""
    if not isinstance(algorithm, StochasticMeanField):
        raise UnsupportedCombination(
            f"partial_fit goes on by stochastic-mean-field, and this fit is by {algorithm.name}: "
            "`update` adds documents to any fit"
        )
    if algorithm.held_out:
        raise InvalidParameter(
            f"held_out = {algorithm.held_out:g} is of a whole corpus; a batch is held out by "
            "asking for its score before it is given to partial_fit"
        )
    return algorithm


def _stepped(
    observed: Observations,
    state: State,
    steps: StochasticMeanField,
    executor: Executor,
    exposure_rule: str | None,
    history: Trace,
) -> Fit:
    """The fit after the steps of one batch."""
    counts = observed.counts
    state, info = steps.step(observed, state, executor)
    if len(history):
        info = replace(info, change=change_of(history.rows[-1], info, counts.n_docs))
    return Fit(
        steps.finish(observed, state, executor),
        algorithm=steps,
        history=Trace((*history.rows, info)),
        reason=COMPLETE,
        features=counts.features,
        doc_ids=counts.doc_ids,
        exposure=observed.exposure,
        exposure_rule=exposure_rule,
        seed=state.seed,
        provenance=Provenance.from_counts(counts),
    )


def enlarged(features: FeatureSpace, other: FeatureSpace) -> FeatureSpace:
    """The features, and behind them those of the other that are new; features without names must
    be the same.

    >>> enlarged(FeatureSpace.build(2, ["b", "a"]), FeatureSpace.build(2, ["c", "a"])).names
    ('b', 'a', 'c')
    """
    if features == other:
        return features
    place = other.positions_in(features)
    new = np.flatnonzero(place < 0)
    if not len(new):
        return features
    names = (*(features.names or ()), *((other.names or ())[j] for j in new.tolist()))
    if features.n_blocks == other.n_blocks == 1:
        return replace(features, names=names, blocks=np.zeros(len(names), np.int32))
    if features.block_ids is None or other.block_ids is None:
        raise InvalidCounts("new features must be in blocks where the others are")
    ids = (*features.block_ids, *(other.block_ids[j] for j in new.tolist()))
    return FeatureSpace.build(len(names), names, ids)


def with_features(fit: Fit, features: FeatureSpace) -> State:
    """The fit's state with new features, of which no words were seen."""
    state, more = fit.state, features.n_features - fit.features.n_features
    if not more:
        return state
    loadings = state.model.loadings
    if loadings.gamma.ndim or loadings.fixed is not None:
        raise UnsupportedCombination(
            f"{more} features are new, and the prior of the loadings has no number for them: the "
            "vocabulary can grow where gamma is one number for all, without seed_words= or fixed="
        )
    n = np.pad(state.n, ((0, more), (0, 0)))
    return replace(state, shared=replace(state.shared, n=read_only(n)))
