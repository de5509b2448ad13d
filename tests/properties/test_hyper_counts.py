"""Priors learned from drawn counts: a step never lowers log p(c), and finds what was planted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dcomp.data import Counts
from dcomp.models import MODELS, Observations

LEARN = {
    "DM": {"learn_alpha": True},
    "GP": {"learn_alpha": True, "learn_beta": True},
    "CGP": {"learn_alpha": True, "learn_beta": True, "learn_rho": True},
}
SHARED = {key: options | {"learn_alpha": "shared"} for key, options in LEARN.items()}


def make(key, alpha, beta, rho, shared=False):
    options = {"alpha": alpha} | (SHARED if shared else LEARN)[key]
    options |= {"beta": beta} if key != "DM" else {}
    options |= {"rho": rho} if key == "CGP" else {}
    return MODELS[key].build(3, **options)


@settings(max_examples=60, deadline=None)
@given(
    key=st.sampled_from(sorted(LEARN)),
    shared=st.booleans(),
    c=hnp.arrays(np.int64, (6, 3), elements=st.sampled_from([0, 0, 0, 1, 2, 7, 300])),
    alpha=st.floats(1e-3, 4.5),
    beta=st.floats(1e-3, 50),
    rho=st.floats(0.01, 0.95),
    exposure=hnp.arrays(float, 6, elements=st.floats(0.1, 20)),
)
def test_a_step_never_lowers(key, shared, c, alpha, beta, rho, exposure):
    model = make(key, alpha, beta, rho, shared)
    counts = Counts.from_matrix(np.ones((6, 1), int))
    observed = Observations.build(counts, None if key == "DM" else exposure)
    before = model.scores.log_moment(c, observed.total_exposure).sum()
    new, _ = model.scores.learn_from_counts(model.scores.counts_seen(c, observed.total_exposure))
    after = new.log_moment(c, observed.total_exposure).sum()
    assert np.isfinite(after)
    assert not shared or np.ptp(new.alpha) == 0
    assert after >= before - 1e-8 * max(1.0, abs(before))


@pytest.mark.parametrize("key", LEARN)
def test_planted_priors_are_found(key):
    rng = np.random.default_rng(0)
    alpha, beta, rho = np.array([0.3, 0.8, 1.5]), np.array([0.02, 0.05, 0.1]), 0.4
    if key == "DM":
        c = np.array([rng.multinomial(80, m) for m in rng.dirichlet(alpha, 3000)])
    else:
        scores = rng.gamma(alpha, 1 / beta, (3000, 3))
        if key == "CGP":
            scores[rng.random(scores.shape) < rho] = 0
        c = rng.poisson(scores)
    observed = Observations.build(Counts.from_matrix(np.ones((3000, 1), int)))
    scores = make(key, 1.0, 0.2, 0.2).scores
    for _ in range(600):
        scores, _ = scores.learn_from_counts(scores.counts_seen(c, observed.total_exposure))
    np.testing.assert_allclose(scores.alpha, alpha, rtol=0.15)
    if key != "DM":
        np.testing.assert_allclose(scores.beta, beta, rtol=0.15)
    if key == "CGP":
        np.testing.assert_allclose(scores.rho, rho, atol=0.08)


def test_nothing_to_learn_changes_nothing():
    model = MODELS["GP"].build(3)
    observed = Observations.build(Counts.from_matrix(np.ones((2, 1), int)))
    scores = model.scores
    found = scores.learn_from_counts(
        scores.counts_seen(np.ones((2, 3), int), observed.total_exposure)
    )
    assert found == (scores, ())
