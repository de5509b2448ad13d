"""The logistic normal as a model: densities, draws, the free shift, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import dcomp
from dcomp.data import FeatureSpace
from dcomp.models import LogisticNormal, LogisticNormalScores, Observations
from dcomp.models.logistic_normal import centred, centred_covariance, uncorrelated

SIGMA = np.array([[1.0, 0.6, 0.0], [0.6, 2.0, -0.5], [0.0, -0.5, 1.5]])
# An orthonormal basis of the vectors that sum to 0.
BASIS = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])


def test_density_is_the_normals_in_the_free_directions():
    scores = LogisticNormalScores.build(3, [0.5, -1.0, 2.0], SIGMA)
    m = np.random.default_rng(0).dirichlet([1.0, 2.0, 3.0], size=5)
    normal = multivariate_normal(BASIS @ [0.5, -1.0, 2.0], BASIS @ SIGMA @ BASIS.T)
    expected = normal.logpdf(np.log(m) @ BASIS.T)
    np.testing.assert_allclose(scores.log_density(m), expected, rtol=1e-10)


def test_log_joint_is_the_sum_of_its_parts():
    model = LogisticNormal.build(3, Sigma0=SIGMA, gamma=0.7)
    rng = np.random.default_rng(1)
    counts, m, Theta = model.simulate(FeatureSpace.build(5), [7, 4], rng)
    observed = Observations.build(counts)
    W = counts.to_scipy().toarray()
    words = (W * np.log(m @ Theta.T)).sum()
    from scipy.stats import dirichlet

    prior = sum(dirichlet.logpdf(theta / theta.sum(), np.full(5, 0.7)) for theta in Theta.T)
    expected = words + model.scores.log_density(m).sum() + prior
    assert model.log_joint(observed, m, Theta) == pytest.approx(expected, rel=1e-9)
    more = model.log_joint(observed, m, Theta, combinatoric=True) - expected
    assert more == pytest.approx(counts.log_combinatoric().sum(), rel=1e-9)


def test_draws_have_the_priors_moments():
    """5 standard errors for each of 3 + 6 numbers: a false alarm in 200,000 seeds; this is one."""
    scores = LogisticNormalScores.build(3, [0.5, -1.0, 2.0], SIGMA)
    n = 40_000
    eta = centred(np.log(scores.draw_prior(n, np.random.default_rng(2))))
    sd = np.sqrt(np.diag(scores.Sigma0))
    np.testing.assert_array_less(np.abs(eta.mean(axis=0) - scores.mu0), 5 * sd / np.sqrt(n))
    error = np.abs(np.cov(eta.T) - scores.Sigma0)
    np.testing.assert_array_less(error, 5 * np.sqrt(2 / n) * np.outer(sd, sd))


def test_simulated_words_follow_the_shares():
    model = LogisticNormal.build(2, mu0=[0.5, -0.5], Sigma0=1e-8)
    Theta = np.array([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5], [0.5, 0.5]])
    features = FeatureSpace.build(4, blocks=[0, 0, 1, 1])
    counts, m, _ = model.simulate(
        features, np.full((1, 2), 100_000), np.random.default_rng(3), Theta
    )
    np.testing.assert_allclose(m[0], np.exp([0.5, -0.5]) / np.exp([0.5, -0.5]).sum(), atol=1e-3)
    assert counts.block_totals.tolist() == [[100_000, 100_000]]
    share = counts.to_scipy().toarray()[0, 0] / 100_000
    assert share == pytest.approx(Theta[0] @ m[0], abs=5 * 0.5 / np.sqrt(100_000))


def test_the_free_shift_is_taken_out_once():
    scores = LogisticNormalScores.build(3, [1.0, 2.0, 3.0], SIGMA)
    assert scores.mu0.tolist() == [-1, 0, 1]
    np.testing.assert_allclose(scores.Sigma0.sum(axis=1), 0, atol=1e-12)
    again = LogisticNormalScores.build(3, scores.mu0, scores.Sigma0)
    assert again == scores  # bit for bit, or a file would not give back what it was given
    shifted = LogisticNormalScores.build(3, [11.0, 12.0, 13.0], SIGMA + 5.0)
    np.testing.assert_allclose(shifted.mu0, scores.mu0)
    np.testing.assert_allclose(shifted.Sigma0, scores.Sigma0, atol=1e-12)


def test_precision_is_the_inverse_among_centred_vectors():
    scores = LogisticNormalScores.build(3, 0.0, SIGMA)
    P, log_det = scores.precision()
    np.testing.assert_allclose(P @ np.ones(3), np.ones(3), atol=1e-10)
    np.testing.assert_allclose(P @ scores.Sigma0, np.eye(3) - 1 / 3, atol=1e-10)
    inside = BASIS @ scores.Sigma0 @ BASIS.T
    assert log_det == pytest.approx(-np.linalg.slogdet(inside)[1])


@pytest.mark.parametrize("K", [2, 3, 7])
def test_uncorrelated_keeps_the_variances(K):
    root = np.eye(K) + 0.1 * np.random.default_rng(K).normal(size=(K, K))
    Sigma = centred_covariance(root @ root.T)
    target = uncorrelated(Sigma)
    np.testing.assert_allclose(np.diag(target), np.diag(Sigma), rtol=1e-10)
    np.testing.assert_allclose(target.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(uncorrelated(target), target, atol=1e-12)


def test_correlation():
    value = LogisticNormalScores.build(4, Sigma0=2.0).correlation()
    np.testing.assert_allclose(value, np.where(np.eye(4) > 0, 1.0, -1 / 3), atol=1e-12)
    assert LogisticNormalScores.build(1).correlation().tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mu0": [1.0, 2.0]}, "mu0 must be a finite number or one per component"),
        ({"mu0": np.nan}, "mu0 must be a finite number"),
        ({"mu0": -1e308}, "mu0 must be a finite number .* none beyond 1e\\+150"),  # its sum is not
        ({"Sigma0": 1e308}, "Sigma0 must be a variance.* none beyond 1e\\+150"),
        ({"Sigma0": [1.0, 2.0]}, "Sigma0 must be a variance, one per component"),
        ({"Sigma0": np.arange(9.0).reshape(3, 3)}, "symmetric 3 × 3 matrix"),
        ({"Sigma0": -1.0}, "without negative variance in any direction; found -1"),
        ({"shrinkage": 1.5}, r"shrinkage must lie in \[0, 1\]"),
    ],
)
def test_what_cannot_be_a_prior(options, message):
    with pytest.raises(dcomp.InvalidParameter, match=message):
        LogisticNormalScores.build(3, **options)
