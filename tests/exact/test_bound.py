"""The mean-field bound against the exact likelihood, by enumeration of every allocation.

For one document with loadings given, log p(w | Θ) is a sum over all ways to give its tokens to
components, of BJ06 (7) for GP and (11) for DM. A bound must lie below it, equal it for K = 1, and
not be absurdly low.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import digamma, gammaln, logsumexp

from dcomp.data import Counts
from dcomp.executors import LocalExecutor
from dcomp.inference.mean_field import Weights
from dcomp.inference.rest import fold_in
from dcomp.models import MODELS, Observations


def exact_log_likelihood(words, blocks, Theta, alpha, beta=None, exposure=None):
    """log p of the word sequence, Σ over assignments z of Π θ_{j,z} · E[Π score^c]."""
    K = Theta.shape[1]
    terms = []
    for z in itertools.product(range(K), repeat=len(words)):
        c = np.bincount(z, minlength=K)
        log_theta = np.log(Theta[words, list(z)]).sum()
        if beta is None:  # Dirichlet moment, (11)
            log_moment = gammaln(alpha.sum()) - gammaln(alpha.sum() + c.sum())
            log_moment += (gammaln(alpha + c) - gammaln(alpha)).sum()
        else:  # gamma moment with exposure, (7)
            total = exposure.sum()
            log_moment = (
                gammaln(alpha + c)
                - gammaln(alpha)
                + alpha * np.log(beta)
                - (alpha + c) * np.log(beta + total)
            ).sum()
        terms.append(log_theta + log_moment)
    value = logsumexp(terms)
    if beta is not None:
        for g, e in enumerate(exposure):
            tokens = int((blocks[words] == g).sum())
            value += tokens * np.log(e) - gammaln(tokens + 1)
    return value


@pytest.mark.parametrize("key", ["DM", "GP"])
@pytest.mark.parametrize("K", [1, 2, 3])
@pytest.mark.parametrize("n_blocks", [1, 2])
def test_bound_lies_below_the_exact_likelihood(key, K, n_blocks):
    rng = np.random.default_rng(10 * K + n_blocks)
    blocks = np.arange(6) % n_blocks
    words = rng.integers(0, 6, size=7)
    counts = Counts.from_matrix(np.bincount(words, minlength=6)[None], blocks=blocks)
    alpha, beta = rng.gamma(1.0, 1.0, K) + 0.1, rng.gamma(1.0, 1.0, K) + 0.2
    exposure = None if key == "DM" else rng.gamma(2.0, 1.0, (1, n_blocks)) + 0.2
    options = {} if key == "DM" else {"beta": beta}
    model = MODELS[key].build(K, alpha=alpha, gamma=0.5, **options)
    observed = Observations.build(counts, exposure)

    n = rng.gamma(1.0, 5.0, (6, K))
    weights = Weights.build(model, counts.features, n, "mean", 1)
    Theta = weights.Theta[:, :K] * np.exp(weights.log_scale)[:, None]
    for g in range(n_blocks):
        np.testing.assert_allclose(Theta[blocks == g].sum(axis=0), 1)
    bound = fold_in(model, observed, weights, LocalExecutor(1), max_inner=5000, tol=1e-14).bound[0]
    extra = () if key == "DM" else (beta, exposure[0])
    exact = exact_log_likelihood(words, blocks, Theta, alpha, *extra)
    if K == 1:
        assert bound == pytest.approx(exact, abs=1e-9)
    else:
        assert exact - 3 < bound < exact


@pytest.mark.parametrize("key", ["DM", "GP"])
def test_bag_and_sequence_differ_by_the_combinatoric_term(key):
    # A document of one component has a closed form: Poisson(s) mixed, or a plain multinomial.
    W = np.array([[2, 0, 3]])
    observed = Observations.build(Counts.from_matrix(W))
    model = MODELS[key].build(2, alpha=1.0)
    scores, Theta = np.array([[0.4, 0.6]]), np.array([[0.2, 0.5], [0.3, 0.1], [0.5, 0.4]])
    mean = Theta @ scores[0]
    bag = model.log_likelihood(observed, scores, Theta, combinatoric=True)[0]
    sequence = model.log_likelihood(observed, scores, Theta)[0]
    assert bag - sequence == pytest.approx(np.log(10))  # 5! / (2! 3!)
    if key == "GP":
        expected = (W[0] * np.log(mean) - mean - gammaln(W[0] + 1.0)).sum()
        assert bag == pytest.approx(expected)
    else:
        assert sequence == pytest.approx((W[0] * np.log(mean)).sum())


def test_new_a_with_old_Z_is_no_bound():
    """Negative control: BJ06 figure 5 read literally mixes two updates and exceeds the truth."""
    Theta = np.array([[0.131, 0.415], [0.001, 0.172], [0.868, 0.413]])
    alpha, a = np.array([2.07, 0.42]), np.array([0.88, 11.5])
    words, w = np.array([0, 1, 1, 1, 1]), np.array([1.0, 4.0, 0.0])

    def bound(a, log_Z):
        e_log = digamma(a) - digamma(a.sum())
        return (
            gammaln(alpha.sum())
            - gammaln(a.sum())
            + (gammaln(a) - gammaln(alpha)).sum()
            + ((alpha - a) * e_log).sum()
            + w @ log_Z
        )

    weight = Theta * np.exp(digamma(a) - digamma(a.sum()))
    log_Z = np.log(weight.sum(axis=1))
    a_new = alpha + w @ (weight / weight.sum(axis=1, keepdims=True))
    exact = exact_log_likelihood(words, np.zeros(3, int), Theta, alpha)
    assert bound(a, log_Z) < exact
    assert bound(a_new, log_Z) > exact + 1
