"""A score prior with a parameter name of its own, from one header: cpp/.../priors/made_up.hpp.

EX: l_k ~ Exponential(τ_k), w_j ~ Poisson(e (Θl)_j), so that l_k given c is Gamma(1 + c_k, τ_k + e).
It is compiled on demand:

    pip install --no-build-isolation -e . -C cmake.define.DCOMP_MADE_UP_PRIOR=ON
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import digamma, gammaln

from dcomp import _core

TAU = np.array([0.3, 1.0, 2.5])
EXPOSURE = np.array([0.5, 1.0, 2.0, 4.0])
W = np.array([[3, 0, 1, 2], [0, 5, 0, 1], [2, 2, 2, 2], [0, 0, 0, 0]])


def prior(exposure=EXPOSURE):
    return _core.ScorePrior("EX", {"tau": TAU}, exposure)


def corpus():
    documents, features = np.nonzero(W)
    indptr = np.searchsorted(documents, np.arange(len(W) + 1)).astype(np.int64)
    data = W[documents, features].astype(np.int32)
    return _core.Corpus(indptr, features.astype(np.int32), data, W.shape[1])


def weights(Theta):
    lanes = _core.lanes()
    out = np.zeros((len(Theta), -(-3 // lanes) * lanes), np.float32)
    out[:, :3] = Theta
    return out


def test_it_is_compiled_in_the_modes_that_it_has():
    modes = {mode for key, mode in _core.compiled() if key == "EX"}
    assert modes == {"expect", "sample", "collapse"}
    with pytest.raises(ValueError, match="model EX must have the parameters tau; got alpha"):
        _core.ScorePrior("EX", {"alpha": TAU})


def test_mean_field():
    Theta = np.random.default_rng(0).dirichlet(np.ones(4), 3).T.astype(np.float32)
    c, c_new, bound = np.zeros((4, 3), np.float32), np.empty((4, 3), np.float32), np.empty(4)
    sums = _core.fold_in(
        corpus(), weights(Theta), np.zeros(4), prior(), c, c_new, bound, 500, 1e-7, 1
    )
    # One more update of the fixed point, in NumPy.
    rate = TAU + EXPOSURE[:, None]
    a = 1 + c_new
    share = Theta[None] * np.exp(digamma(a) - np.log(rate))[:, None, :]
    Z = share.sum(axis=2)
    np.testing.assert_allclose((W / Z)[:, None, :] @ share, c_new[:, None, :], atol=1e-4)
    e_log = digamma(a) - np.log(rate)
    parts = np.log(TAU) + gammaln(a) - a * np.log(rate) + (1 - a) * e_log
    np.testing.assert_allclose(bound, parts.sum(axis=1) + (W * np.log(Z)).sum(axis=1), atol=1e-4)
    np.testing.assert_allclose(sums[3], (a / rate).sum(axis=0), rtol=1e-5)


def test_moments_and_weights():
    c = np.array([[3, 0, 2], [0, 0, 0], [1, 1, 6], [0, 9, 0]], np.int32)
    rate = TAU + EXPOSURE[:, None]
    exact = (gammaln(1 + c) + np.log(TAU) - (1 + c) * np.log(rate)).sum()
    assert _core.log_score_moments(c, prior(), 2) == pytest.approx(exact)
    a0, a, F = prior().weights(4)
    assert (a == 1).all()
    assert (a0 == 1).all()
    np.testing.assert_allclose(F, 1 / rate, rtol=1e-6)


def test_direct_sampling():
    c = np.tile(np.array([[3, 0, 2]], np.int32), (20_000, 1))
    out = np.empty(c.shape, np.float32)
    _core.draw_scores(c, prior(None), out, 1, 1, 2)
    np.testing.assert_allclose(out.mean(axis=0), (1 + c[0]) / (TAU + 1), rtol=0.03)
    one = np.zeros((4, 3), np.int32)
    c_new, n = np.empty_like(one), np.zeros((4, 3), np.int32)
    Theta = weights(np.full((4, 3), 0.25))
    _core.sample(corpus(), Theta, np.zeros(4), prior(), one, c_new, n, None, 1, 1, 1)
    assert (c_new.sum(axis=1) == W.sum(axis=1)).all()
    assert (n.sum(axis=1) == W.sum(axis=0)).all()


def test_collapsed_sampling_draws_from_its_posterior():
    """Two tokens of one document, of one feature each: all nine assignments, by enumeration."""
    tokens = _core.Corpus(
        np.array([0, 2], np.int64), np.array([0, 1], np.int32), np.array([1, 1], np.int32), 2
    )
    own = _core.ScorePrior("EX", {"tau": TAU}, np.array([0.7]))
    gamma = np.array([0.5, 1.5])
    sampler = _core.CollapsedSampler(tokens, np.zeros(2, np.int32), 1, own, 1, False)
    z = np.zeros(2, np.uint16)
    log_p, hits = np.empty((3, 3)), np.zeros((3, 3))
    for first in range(3):
        for second in range(3):
            z[:] = first, second
            sampler.count(z)
            log_p[first, second] = sampler.log_moments(gamma, own, 1)
    n_sweeps = 30_000
    for sweep in range(n_sweeps):
        sampler.sweep(z, gamma, own, 1, sweep, 1)
        hits[tuple(z)] += 1
    p = np.exp(log_p - log_p.max())
    np.testing.assert_allclose(hits / n_sweeps, p / p.sum(), atol=0.01)
