"""Stochastic mean field by kernels and by plain NumPy; and its steps, told apart from a sweep."""

from __future__ import annotations

import numpy as np
import pytest

import dcomp
from dcomp.executors import LocalExecutor
from dcomp.inference import MeanField, StochasticMeanField
from dcomp.inference.batches import Batches, Held
from dcomp.inference.stochastic_mean_field import steps_of
from dcomp.models import DirichletMultinomial, GammaPoisson, Observations
from dcomp.reference import stochastic_mean_field as reference

ONE = LocalExecutor(1)
BLOCKS = np.array([0] * 7 + [1] * 5, np.int32)


@pytest.fixture(scope="module")
def W():
    return np.random.default_rng(0).poisson(1.2, (40, 12))


@pytest.mark.parametrize("treatment", ["mean", "vb"])
@pytest.mark.parametrize("key", ["DM", "GP"])
def test_an_epoch_is_that_of_the_reference(W, key, treatment):
    """With blocks and exposures, priors learned on the way."""
    counts = dcomp.Counts.from_matrix(W, blocks=BLOCKS)
    exposure = np.random.default_rng(1).uniform(0.5, 2, len(W))
    alpha, gamma = np.array([0.3, 0.8, 0.5]), np.linspace(0.2, 0.9, 12)
    if key == "DM":
        model = DirichletMultinomial.build(3, alpha=alpha, gamma=gamma, learn_alpha=True)
        observed = Observations(counts)
    else:
        learn = {"learn_alpha": True, "learn_beta": True}
        model = GammaPoisson.build(3, alpha=alpha, beta=np.full(3, 0.1), gamma=gamma, **learn)
        observed = Observations.build(counts, exposure)
    how = {"loadings": treatment, "batch_size": 8, "max_inner": 6, "inner_tol": 0.0}
    algorithm = StochasticMeanField(**how, learn_after=2, dtype="float64")
    state = algorithm.init(model, observed, 3, ONE)
    now = reference.Moved(state.n, np.zeros(3), np.zeros(3))
    batches = Batches.of(8, 40, Held(0.0, 3))
    steps, priors = 0, model.scores
    for number in batches.order(0):
        rows = batches.at(number).rows(observed)
        if not len(rows):
            continue
        given = {} if key == "DM" else {"beta": priors.beta, "exposure": 2 * exposure[rows]}
        settings = {"n_docs": 40, "gamma": gamma, "blocks": BLOCKS, "treatment": treatment}
        now = reference.step(W[rows], now, steps, **settings, alpha=priors.alpha, **given, inner=6)
        if steps >= 2:
            priors, _ = priors.learn_from_moments(now.log_scores, now.mean_scores, 1)
        steps += 1
    after, info = algorithm.step(observed, state, ONE)
    assert info.steps == steps > 3
    np.testing.assert_allclose(after.n, now.n, rtol=1e-9)
    np.testing.assert_allclose(steps_of(after.shared).log_scores, now.log_scores, rtol=1e-9)
    np.testing.assert_allclose(after.model.scores.alpha, priors.alpha, rtol=1e-6)
    assert not np.allclose(after.model.scores.alpha, alpha)


def test_one_batch_and_a_whole_step_is_a_sweep_of_mean_field(W):
    """With s = 1 nothing is left of what was there: a plain sweep from even shares."""
    observed = Observations(dcomp.Counts.from_matrix(W))
    model = DirichletMultinomial.build(3, alpha=0.4, gamma=0.3)
    how = {"batch_size": len(W), "delay": 1.0, "max_inner": 5, "inner_tol": 0.0}
    stochastic = StochasticMeanField(**how, dtype="float64")
    plain = MeanField(max_inner=5, inner_tol=0.0, gentle_sweeps=0, start="seeded", dtype="float64")
    start = stochastic.init(model, observed, 1, ONE)
    after, info = stochastic.step(observed, start, ONE)
    swept, other = plain.step(observed, plain.init(model, observed, 1, ONE), ONE)
    np.testing.assert_allclose(after.n, swept.n, rtol=1e-12)
    assert info.documents == pytest.approx(other.documents)
