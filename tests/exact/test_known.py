"""What is known beforehand (MODELS §11) against full enumeration: components with priors of their
own, given loadings, documents that may not use all components, and these together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.enumerated import ALARM, W, invariance, make, token_sweep

from dcomp.executors import LocalExecutor
from dcomp.inference import Gibbs, gibbs
from dcomp.inference.state import State
from dcomp.models import DirichletLoadings
from dcomp.models.allowed import Allowed
from dcomp.reference import gibbs as reference


@pytest.fixture(autouse=True)
def _short_documents_switch_too(monkeypatch):
    monkeypatch.setattr(gibbs, "SWITCH_FROM", 0)


OWN = np.array([[0.4, 2.5, 0.2], [1.1, 0.3, 0.9]])  # (K, J)
GIVEN = {
    "plain": np.array([[0.2, 0.5, 0.3]]),
    "exposure": np.array([[0.2, 0.5, 0.3]]),
    "blocks": np.array([[1.0, 0.3, 0.7]]),  # features 1 and 2 are one block
}
LOADINGS = {
    "own": lambda layout: DirichletLoadings(OWN),
    "fixed": lambda layout: DirichletLoadings([0.4, 0.7, 1.1], fixed=GIVEN[layout], fixed_at=[1]),
    "both": lambda layout: DirichletLoadings(OWN, fixed=GIVEN[layout], fixed_at=[0]),
}
CASES = [("DM", "plain"), ("DM", "blocks"), ("GP", "exposure"), ("CGP", "blocks")]


def known(key, layout, which):
    model, observed = make(key, layout)
    return model.with_loadings(LOADINGS[which](layout)), observed


def direct_sweep(model, observed):
    algorithm = Gibbs(burn_in=10**6)

    def sweep(z, c, n, seed):
        state = State.whole(model, c.astype(np.int32), n.astype(np.int32), 0, seed)
        state, _ = algorithm.step(observed, state, LocalExecutor(1))
        state = algorithm.finish(observed, state, LocalExecutor(1))
        return state.c, state.n

    return sweep


@pytest.mark.parametrize("which", LOADINGS)
@pytest.mark.parametrize(("key", "layout"), CASES)
def test_samplers_keep_the_posterior_with_known_loadings(key, layout, which):
    model, observed = known(key, layout, which)
    assert invariance(model, observed, token_sweep(model, observed), 6_000) > ALARM
    assert invariance(model, observed, direct_sweep(model, observed), 6_000) > ALARM


def test_a_tree_keeps_the_posterior_with_known_loadings():
    model, observed = make("TM", "plain")
    rows = np.vstack([OWN, OWN[:, ::-1]])
    loadings = DirichletLoadings(rows, fixed=GIVEN["plain"], fixed_at=[2])
    model = model.with_loadings(loadings)
    assert invariance(model, observed, token_sweep(model, observed), 6_000) > ALARM


@pytest.mark.parametrize("step", [reference.direct_sweep, reference.collapsed_sweep])
def test_the_reference_keeps_the_posterior_with_known_loadings(step):
    model, observed = known("DM", "blocks", "both")

    def sweep(z, c, n, seed):
        moved = step(model, observed, z, np.random.default_rng(seed))
        tokens = reference.Tokens.from_counts(observed.counts)
        return reference.tables(tokens, moved, observed.counts, model.n_components)

    assert invariance(model, observed, sweep, 3_000) > ALARM


def test_a_sampler_that_forgets_what_is_known_is_found_out():
    model, observed = known("DM", "plain", "both")
    forgets = model.with_loadings(DirichletLoadings([0.4, 0.7, 1.1]))

    def sweep(z, c, n, seed):
        return token_sweep(forgets, observed)(z, c, n, seed)

    assert invariance(model, observed, sweep, 2_000) < 1e-10


def test_the_log_joint_of_a_sampler_counts_given_loadings_as_they_are():
    from dcomp.reference.enumeration import Posterior

    model, observed = known("DM", "blocks", "both")
    posterior = Posterior(model, observed)
    sampler = token_sweep(model, observed)  # only to have its tokens in order
    assert sampler is not None
    from dcomp import _core
    from dcomp.models.base import moment_scores

    features = observed.counts.features
    gamma = model.loadings.columns(features.n_features, 2)
    values = []
    for c, n in posterior.tables[:40]:
        c, n = c.astype(np.int32), n.astype(np.int32)
        words = _core.log_loading_moments(n, gamma, features.blocks, features.n_blocks, 1)
        values.append(words + _core.log_score_moments(c, moment_scores(model).native(), 1))
    assert np.allclose(values, posterior.log_joint[:40], rtol=0, atol=1e-9)
    assert W.sum() == observed.counts.n_tokens


MAY = np.array([[True, False], [True, True], [False, True]])


@pytest.mark.parametrize("which", ["plain", "both"])
@pytest.mark.parametrize(("key", "layout"), CASES)
def test_samplers_keep_the_posterior_where_documents_may_not_use_all(key, layout, which):
    model, observed = make(key, layout)
    if which == "both":
        model = model.with_loadings(LOADINGS["both"](layout))
    observed = replace(observed, allowed=Allowed.from_mask(MAY))
    assert invariance(model, observed, token_sweep(model, observed), 6_000) > ALARM
    assert invariance(model, observed, direct_sweep(model, observed), 6_000) > ALARM
