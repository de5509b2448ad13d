"""A correlation that was planted is found again.

600 documents of 150 words from 8 components with few words in common; components 0 and 1 come
together (0.8), 2 and 3 avoid each other (−0.8). The standard error of a correlation from 600
documents is below 0.04, and Laplace's method draws it in by some 0.1 more where counts are small:
errors of 0.10 to 0.17 were seen, and 0.25 leaves room for other machines. Seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import dcomp
from dcomp.data import FeatureSpace
from dcomp.models import LogisticNormal

K, TOLERANCE = 8, 0.25


def planted_corpus(R, seed):
    model = LogisticNormal.build(K, Sigma0=1.5**2 * R)
    Theta = np.full((10 * K, K), 0.001)
    for k in range(K):
        Theta[10 * k : 10 * k + 10, k] = 0.1
    Theta /= Theta.sum(axis=0)
    rng = np.random.default_rng(seed)
    counts, _, _ = model.simulate(FeatureSpace.build(10 * K), np.full(600, 150), rng, Theta)
    return counts, Theta, model.scores.correlation()


def found_correlation(counts, Theta, seed, **options):
    model = dcomp.CTM(K, random_state=seed, verbose=0, **options).fit(counts)
    _, truth = linear_sum_assignment(-(model.components_ @ Theta))
    order = np.argsort(truth)
    return model.correlation_[np.ix_(order, order)]


@pytest.mark.parametrize("shrinkage", [0.0, "auto"])
@pytest.mark.parametrize("seed", range(2))
def test_planted_correlations_are_found(seed, shrinkage):
    R = np.eye(K)
    R[0, 1] = R[1, 0] = 0.8
    R[2, 3] = R[3, 2] = -0.8
    counts, Theta, expected = planted_corpus(R, seed)
    found = found_correlation(counts, Theta, seed, shrinkage=shrinkage)
    assert found[0, 1] > 0.4
    assert found[2, 3] < -0.4
    assert np.abs(found - expected).max() < TOLERANCE


def test_none_is_found_where_none_was_planted():
    counts, Theta, expected = planted_corpus(np.eye(K), seed=5)
    found = found_correlation(counts, Theta, seed=5)
    np.testing.assert_allclose(expected[0, 1:], -1 / (K - 1), atol=1e-9)
    assert np.abs(found - expected).max() < TOLERANCE
