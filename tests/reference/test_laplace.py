"""Laplace mean field: derivatives against finite differences, modes against an optimiser,
posteriors against quadrature, and the kernel against the plain version."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from dcomp import _core
from dcomp.data import Counts
from dcomp.executors import LocalExecutor
from dcomp.inference.laplace import (
    Laplace,
    LaplaceStats,
    Normal,
    _Climb,
    _climb,
    laplace_fold_in,
)
from dcomp.inference.mean_field import Weights
from dcomp.inference.state import Local
from dcomp.models import LogisticNormal, LogisticNormalScores, Observations
from dcomp.models.logistic_normal import centred, centred_covariance
from dcomp.reference import laplace as plain


def setting(seed, K=4, J=9, length=40):
    """A document, loadings and a prior with correlations."""
    rng = np.random.default_rng(seed)
    Theta = rng.dirichlet(np.full(J, 0.3), size=K).T + 1e-6
    Theta /= Theta.sum(axis=0)
    root = rng.normal(size=(K, K))
    scores = LogisticNormalScores.build(K, rng.normal(size=K), root @ root.T + 0.2 * np.eye(K))
    w = rng.multinomial(length, Theta @ rng.dirichlet(np.ones(K))).astype(float)
    return w, Theta, scores, rng


def differences(function, x, step=1e-5):
    columns = []
    for k in range(len(x)):
        move = np.zeros(len(x))
        move[k] = step
        columns.append((function(x + move) - function(x - move)) / (2 * step))
    return np.array(columns)


@pytest.mark.parametrize("seed", range(5))
def test_gradient_and_hessian_are_derivatives(seed):
    w, Theta, scores, rng = setting(seed)
    P, _ = scores.precision()
    eta = rng.normal(size=4)
    given = (w, Theta, scores.mu0, P)
    slope = differences(lambda x: plain.log_density(x, *given), eta)
    np.testing.assert_allclose(plain.gradient(eta, *given), slope, atol=1e-6)
    bend = differences(lambda x: plain.gradient(x, *given), eta)
    np.testing.assert_allclose(plain.observed_curvature(eta, w, Theta, P), -bend, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_complete_curvature_is_that_of_b18(seed):
    """B18 (7.8): c·(η − log Σ exp η) less the prior, with c held fixed."""
    w, Theta, scores, rng = setting(seed)
    P, _ = scores.precision()
    eta = rng.normal(size=4)
    c = w @ plain.responsibilities(eta, Theta)

    def gradient(x):
        return differences(
            lambda y: c @ (y - logsumexp(y)) - 0.5 * (y - scores.mu0) @ P @ (y - scores.mu0), x
        )

    np.testing.assert_allclose(
        gradient(eta), plain.gradient(eta, w, Theta, scores.mu0, P), atol=1e-6
    )
    bend = differences(gradient, eta, step=1e-4)
    expected = plain.complete_curvature(eta, w.sum(), P)
    np.testing.assert_allclose(expected, -bend, rtol=1e-4, atol=1e-4)
    assert np.linalg.eigvalsh(expected)[0] > 0


def test_responsibilities_are_normalised():
    _, Theta, _, rng = setting(0)
    np.testing.assert_allclose(plain.responsibilities(rng.normal(size=4), Theta).sum(axis=1), 1)


@pytest.mark.parametrize("seed", range(5))
def test_mode_is_that_of_an_optimiser(seed):
    """The function may have several maxima: the optimiser looks around ours, and from μ0."""
    w, Theta, scores, rng = setting(seed)
    P, _ = scores.precision()
    given = (w, Theta, scores.mu0, P)
    eta = plain.mode(*given, scores.mu0, tol=1e-14)
    np.testing.assert_allclose(plain.gradient(eta, *given), 0, atol=1e-6)
    assert abs(eta.sum()) < 1e-9
    near = minimize(
        lambda x: -plain.log_density(x, *given),
        eta + 0.1 * centred(rng.normal(size=4)),
        jac=lambda x: -plain.gradient(x, *given),
        options={"gtol": 1e-8},
    )
    np.testing.assert_allclose(eta, near.x, atol=1e-5)


def test_mode_is_the_fixed_point_of_b18s_alternation():
    w, Theta, scores, _ = setting(3)
    P, _ = scores.precision()
    eta = scores.mu0
    for _ in range(500):
        c = w @ plain.responsibilities(eta, Theta)
        for _ in range(30):  # Newton on (7.8), c fixed
            slope = c - w.sum() * softmax(eta) - P @ (eta - scores.mu0)
            eta = eta + np.linalg.solve(plain.complete_curvature(eta, w.sum(), P), slope)
    expected = plain.mode(w, Theta, scores.mu0, P, eta, tol=1e-14)
    np.testing.assert_allclose(eta, expected, atol=1e-6)


def grid_posterior(w, Theta, scores, half=9.0, n=241):
    """E[m] and log p(w | Θ) by summing over a grid of the two free directions of η (K = 3)."""
    axes = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
    x = np.linspace(-half, half, n)
    a, b = np.meshgrid(x, x)
    eta = scores.mu0 + a.ravel()[:, None] * axes[0] + b.ravel()[:, None] * axes[1]
    P, log_det = scores.precision()
    log_m = eta - logsumexp(eta, axis=1, keepdims=True)
    delta = eta - scores.mu0
    log_p = np.log(np.exp(log_m) @ Theta.T) @ w - 0.5 * np.einsum("gk,kl,gl->g", delta, P, delta)
    log_p += 0.5 * log_det - np.log(2 * np.pi)
    top = log_p.max()
    p = np.exp(log_p - top)
    return p @ np.exp(log_m) / p.sum(), top + np.log(p.sum() * (x[1] - x[0]) ** 2)


@pytest.mark.parametrize("seed", range(4))
def test_posterior_mean_against_quadrature(seed):
    """softmax(mode) is E[m] but for terms of the posterior's variance, which falls as 1/L: with
    ½ tr(∂²m Σ_d) ≤ ½ tr Σ_d and tr Σ_d about K/L where all components have words, 0.1 at 40 words
    is generous and 0.01 at 4,000 follows. Separated loadings keep the posterior near normal."""
    rng = np.random.default_rng(seed)
    Theta = np.full((6, 3), 0.02)
    for k in range(3):
        Theta[2 * k : 2 * k + 2, k] = 0.46
    Theta /= Theta.sum(axis=0)
    scores = LogisticNormalScores.build(3, [0.3, 0, -0.3], np.diag([1.0, 0.5, 1.5]))
    m = softmax(scores.mu0 + 0.5 * centred(rng.normal(size=3)))
    errors = {}
    for length in (40, 4000):
        w = np.round(length * Theta @ m)
        mean, log_evidence = grid_posterior(w, Theta, scores, half=4.0)
        found = plain.document(w, Theta, scores, scores.mu0)
        errors[length] = np.abs(softmax(found.eta) - mean).max()
        # The curvature with responsibilities held fixed is too large by what the words leave open
        # about z, here little: the value lies below log p(w), within half a nat per free direction.
        assert -1.0 < found.value - log_evidence < 0.2
    assert errors[40] < 0.1
    assert errors[4000] < 0.01
    assert errors[4000] < errors[40]


def test_an_empty_document_keeps_its_prior():
    scores = LogisticNormalScores.build(3, [1.0, 0, -1.0], [1.0, 2.0, 3.0])
    found = plain.document(np.zeros(4), np.full((4, 3), 0.25), scores, np.zeros(3))
    np.testing.assert_allclose(found.eta, scores.mu0, atol=1e-12)
    np.testing.assert_allclose(centred_covariance(found.Sigma), scores.Sigma0, atol=1e-12)
    assert found.value == pytest.approx(0, abs=1e-10)


def corpus(seed, K, J=12, n_docs=40):
    rng = np.random.default_rng(seed)
    W = rng.poisson(1.0, (n_docs, J))
    W[3] = 0  # empty
    W[5] = 0
    W[5, 2] = 1  # one word
    W[7, 4] = 100_000
    root = rng.normal(size=(K, K))
    model = LogisticNormal.build(
        K,
        mu0=rng.normal(size=K),
        Sigma0=root @ root.T + 0.1 * np.eye(K),
        gamma=0.3,
        learn_mu0=True,
        learn_Sigma0=True,
    )
    n = rng.gamma(0.5, 3.0, (J, K))
    return Counts.from_matrix(W), model, n


def plain_documents(counts, model, n, eta, **options):
    Theta = n + 0.3
    Theta /= Theta.sum(axis=0)
    W = counts.to_scipy().toarray().astype(float)
    return [
        plain.document(w, Theta, model.scores, x, **options) for w, x in zip(W, eta, strict=True)
    ]


def native(counts, model, n, eta, max_inner, tol, dtype="float64"):
    observed = Observations.build(counts)
    weights = Weights.build(model, counts.features, n.astype(dtype), "mean", 1)
    c = np.empty(eta.shape, dtype=dtype)
    how = _Climb(Normal.from_model(model), weights, max_inner, tol)
    after, stats = _climb(observed, Local(c, carried={"eta": eta}), how, 2)
    return after.carried["eta"], after.c, stats


@pytest.mark.parametrize("K", [1, 2, 5, 8, 17, 33])
@pytest.mark.parametrize(("max_inner", "tol"), [(1, 1e-9), (60, 1e-12)])
def test_kernel_is_the_plain_version(K, max_inner, tol):
    counts, model, n = corpus(K, K)
    eta = model.scores.mu0 + centred(np.random.default_rng(K).normal(size=(40, K)))
    eta_out, c, stats = native(counts, model, n, eta, max_inner, tol)
    documents = plain_documents(counts, model, n, eta, max_inner=max_inner, tol=tol)
    np.testing.assert_allclose(eta_out, [d.eta for d in documents], atol=1e-6)
    np.testing.assert_allclose(c, [d.c for d in documents], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(stats.n, sum(d.n for d in documents), rtol=1e-6, atol=1e-6)
    assert stats.value == pytest.approx(sum(d.value for d in documents), abs=1e-4, rel=1e-9)
    delta = [d.eta - model.scores.mu0 for d in documents]
    S = np.array([d.Sigma + np.outer(x, x) for d, x in zip(documents, delta, strict=True)])
    np.testing.assert_allclose(stats.S, S.sum(axis=0), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(stats.eta, eta_out.sum(axis=0), atol=1e-8)
    off = ~np.eye(K, dtype=bool)
    assert stats.squares == pytest.approx((S[:, off] ** 2).sum(), rel=1e-6, abs=1e-8)


def test_kernel_in_float32_is_close():
    counts, model, n = corpus(1, 6)
    eta = np.repeat(model.scores.mu0[None], 40, axis=0)
    wide, _, _ = native(counts, model, n, eta, 60, 1e-12)
    narrow, _, _ = native(counts, model, n, eta, 60, 1e-9, "float32")
    np.testing.assert_allclose(softmax(narrow, axis=1), softmax(wide, axis=1), atol=1e-3)


def test_fold_in_is_the_plain_version():
    counts, model, n = corpus(2, 5)
    weights = Weights.build(model, counts.features, n, "mean", 1)
    found = laplace_fold_in(model, Observations.build(counts), weights, LocalExecutor(2), tol=1e-7)
    start = np.repeat(model.scores.mu0[None], 40, axis=0)
    documents = plain_documents(counts, model, n, start, tol=1e-14)
    np.testing.assert_allclose(found.eta, [d.eta for d in documents], atol=1e-5)
    np.testing.assert_allclose(found.scores, softmax(found.eta, axis=1), atol=1e-12)
    np.testing.assert_allclose(found.bound, [d.value for d in documents], rtol=1e-7, atol=1e-6)
    variance = [np.diag(centred_covariance(d.Sigma)) for d in documents]
    np.testing.assert_allclose(found.variance, variance, rtol=1e-6, atol=1e-8)


def expected_log_normal(mu0, Sigma0, documents):
    """Σ_d E_q[log N(η; μ0, Σ0)], constants left out."""
    P, log_det = LogisticNormalScores.build(len(mu0), mu0, Sigma0).precision()
    return sum(
        0.5 * log_det - 0.5 * (d.eta - mu0) @ P @ (d.eta - mu0) - 0.5 * np.trace(P @ d.Sigma)
        for d in documents
    )


def learn(model, stats):
    """Priors as a sweep learns them."""
    return model.scores.learn_from_modes(stats.eta, stats.S, stats.squares, stats.n_docs)


def test_m_step_maximises():
    counts, model, n = corpus(4, 4)
    eta = np.repeat(model.scores.mu0[None], 40, axis=0)
    documents = plain_documents(counts, model, n, eta)
    mu0, Sigma0 = plain.m_step(documents, model.scores)
    best, rng = expected_log_normal(mu0, Sigma0, documents), np.random.default_rng(0)
    for _ in range(30):
        other = mu0 + 0.05 * centred(rng.normal(size=4))
        assert expected_log_normal(other, Sigma0, documents) < best
        root = np.eye(4) + 0.05 * rng.normal(size=(4, 4))
        assert (
            expected_log_normal(mu0, centred_covariance(root @ Sigma0 @ root.T), documents) < best
        )


@pytest.mark.parametrize("shrinkage", [0.0, 0.4, 1.0, None])
def test_learning_from_sums_is_the_m_step(shrinkage):
    counts, model, n = corpus(6, 5)
    model = model.with_scores(shrinkage=shrinkage)
    eta = np.repeat(model.scores.mu0[None], 40, axis=0)
    _, _, stats = native(counts, model, n, eta, 60, 1e-12)
    documents = plain_documents(counts, model, n, eta, max_inner=60, tol=1e-12)
    learned, capped = learn(model, stats)
    mu0, Sigma0 = plain.m_step(documents, model.scores)
    np.testing.assert_allclose(learned.mu0, mu0, atol=1e-6)
    np.testing.assert_allclose(learned.Sigma0, Sigma0, atol=1e-6)
    assert capped == ()


def test_only_what_is_learned_changes():
    counts, model, n = corpus(6, 5)
    eta = np.repeat(model.scores.mu0[None], 40, axis=0)
    _, _, stats = native(counts, model, n, eta, 5, 1e-9)
    fixed = model.with_scores(learn_mu0=False, learn_Sigma0=False)
    assert learn(fixed, stats)[0] == fixed.scores
    only_mean = learn(model.with_scores(learn_Sigma0=False), stats)[0]
    assert np.array_equal(only_mean.Sigma0, model.scores.Sigma0)
    assert not np.array_equal(only_mean.mu0, model.scores.mu0)
    only_spread = learn(model.with_scores(learn_mu0=False), stats)[0]
    assert np.array_equal(only_spread.mu0, model.scores.mu0)
    # About the old mean, which is kept: the spread must hold the distance to the documents' mean.
    expected = centred_covariance(stats.S / stats.n_docs)
    np.testing.assert_allclose(only_spread.Sigma0, expected, atol=1e-12)


def test_a_spread_without_bounds_is_held_and_reported():
    stats = LaplaceStats(
        np.zeros((2, 3)), np.zeros(3), 1e9 * centred_covariance(np.eye(3)), 0.0, 0.0, 10, 10, 0.0
    )
    model = LogisticNormal.build(3, learn_mu0=True, learn_Sigma0=True)
    learned, capped = learn(model, stats)
    assert capped == ("Sigma0",)
    assert np.linalg.eigvalsh(learned.Sigma0)[-1] == pytest.approx(1e4)


def test_kernel_checks_shapes():
    counts, model, n = corpus(1, 3)
    weights = Weights.build(model, counts.features, n, "mean", 1)
    normal, eta = Normal.from_model(model), np.zeros((40, 3))
    corpus_ = Observations.build(counts).corpus
    head = (corpus_, weights.Theta, weights.log_scale)
    prior = (normal.mu0, normal.P, normal.half_log_det)
    tail = (np.zeros((40, 3)), np.zeros((12, 3)), 1, 0.0, 1)
    with pytest.raises(ValueError, match=r"eta_in must have the shape \(40, 3\)"):
        _core.laplace(*head, *prior, eta[:5].copy(), eta.copy(), *tail)
    with pytest.raises(ValueError, match=r"P must have the shape \(3, 3\)"):
        _core.laplace(*head, normal.mu0, np.eye(2), 0.0, eta, eta.copy(), *tail)


@pytest.mark.parametrize("start", ["seeded", "mean-field", "collapsed-gibbs"])
@pytest.mark.parametrize("loadings", ["mean", "vb"])
def test_sweeps_settle(planted, start, loadings):
    """Nothing monotone is promised; on easy data the sweeps must still climb and come to rest."""
    counts, _ = planted
    model = LogisticNormal.build(3, gamma=0.1, learn_mu0=True, learn_Sigma0=True)
    algorithm, executor = Laplace(start=start, loadings=loadings), LocalExecutor(1)
    observed = Observations.build(counts)
    state = algorithm.init(model, observed, seed=0, executor=executor)
    values = []
    for _ in range(60):
        state, info = algorithm.step(observed, state, executor)
        values.append(info.objective)
    assert values[-1] > values[0]
    assert abs(values[-1] - values[-2]) < 1e-4 * abs(info.documents)
    np.testing.assert_allclose(state.n.sum(), counts.n_tokens, rtol=1e-5)
    np.testing.assert_allclose(state.c.sum(axis=1), counts.doc_totals, rtol=1e-4, atol=1e-3)
