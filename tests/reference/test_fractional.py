"""Counts that are not whole: the kernels do what the NumPy references do, number by number."""

from __future__ import annotations

import numpy as np
import pytest

from dcomp import _core
from dcomp.data import Counts
from dcomp.executors import LocalExecutor
from dcomp.inference import MapEM, MeanField
from dcomp.inference.laplace import laplace_fold_in
from dcomp.inference.maximum_likelihood import normalised_columns
from dcomp.inference.mean_field import Weights
from dcomp.inference.rest import fold_in
from dcomp.inference.state import State
from dcomp.models import DirichletMultinomial, GammaPoisson, LogisticNormal, Observations
from dcomp.reference import kl_nmf, laplace, map_em, mean_field

# Several widths of a vector, with lanes to spare and without.
WIDTHS = [2, 3, 8, 16, 21]


def problem(K, seed=0, n_docs=17, n_features=13):
    """Dosages of a sort: most are far from whole, some are tiny, some large."""
    rng = np.random.default_rng(seed)
    W = rng.gamma(0.5, 3.0, (n_docs, n_features)) * (rng.random((n_docs, n_features)) < 0.7)
    W[0], W[1] = 0, 1e-3 * W[1]
    W[2, 0] = 12345.678
    observed = Observations.build(Counts.from_matrix(W, fractional=True))
    return W, observed, rng.gamma(1.0, 2.0, (n_docs, K)), rng.gamma(1.0, 3.0, (n_features, K))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("key", ["DM", "GP"])
@pytest.mark.parametrize("K", WIDTHS)
def test_mean_field(dtype, key, K):
    W, observed, c, n = problem(K)
    alpha, beta = np.linspace(0.05, 1, K), np.linspace(0.2, 2, K)
    model = (
        DirichletMultinomial.build(K, alpha=alpha, gamma=0.3)
        if key == "DM"
        else GammaPoisson.build(K, alpha=alpha, beta=beta, gamma=0.3)
    )
    rates = () if key == "DM" else (beta, observed.total_exposure)
    algorithm = MeanField(max_inner=3, inner_tol=0, gentle_sweeps=0, dtype=dtype)
    state = State.whole(model, c.astype(dtype), n.astype(dtype), 0)
    new, info = algorithm.step(observed, state, LocalExecutor(2))
    theta = mean_field.loadings(n, np.full(len(n), 0.3), observed.counts.features.blocks, "mean")
    expected = mean_field.sweep(W, c, theta, alpha, *rates, inner=3)
    tolerance = {"float64": 1e-10, "float32": 5e-5}[dtype]
    np.testing.assert_allclose(new.c, expected.c, atol=tolerance, rtol=tolerance)
    np.testing.assert_allclose(new.n, expected.n, atol=tolerance, rtol=tolerance)
    constant = model.log_constant(observed, combinatoric=False).sum()
    objective = expected.bound.sum() + constant + theta.log_prior
    assert info.objective == pytest.approx(objective, rel=tolerance)


@pytest.mark.parametrize("K", WIDTHS)
def test_a_document_from_a_cold_start(K):
    """The kernel by columns, which `transform` takes, ends at a fixed point of the reference."""
    W, observed, _, n = problem(K)
    model = DirichletMultinomial.build(K, alpha=0.7, gamma=0.3)
    weights = Weights.build(model, observed.counts.features, n, "mean", 1)
    folded = fold_in(model, observed, weights, LocalExecutor(1), max_inner=5000, tol=1e-13)
    theta = mean_field.loadings(n, np.full(len(n), 0.3), observed.counts.features.blocks, "mean")
    again = mean_field.sweep(W, folded.c, theta, model.scores.alpha, inner=1)
    np.testing.assert_allclose(again.c, folded.c, rtol=1e-6, atol=1e-4)
    np.testing.assert_allclose(folded.c.sum(axis=1), W.sum(axis=1), rtol=1e-9)
    np.testing.assert_allclose(folded.bound, again.bound, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("K", [3, 17])
def test_map(K):
    W, observed, c, n = problem(K)
    alpha = np.linspace(1.0, 1.6, K)
    model = DirichletMultinomial.build(K, alpha=alpha, gamma=1.5)
    algorithm = MapEM(dtype="float64", max_inner=1, inner_tol=0, loadings="map")
    state, _ = algorithm.step(observed, State.whole(model, c, n, 0), LocalExecutor(1))
    Theta = map_em.loadings(n, np.full(len(n), 1.5), observed.counts.features.blocks)
    expected_c, expected_n = map_em.allocate(W, map_em.dirichlet_scores(c, alpha), Theta)
    np.testing.assert_allclose(state.c, expected_c, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(state.n, expected_n, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("update", "rounds"), [("multiplicative", 1), ("coordinates", 3)])
def test_factorisation(update, rounds):
    W, observed, x, F = problem(3)
    F = F / F.sum(axis=0)
    out = np.empty_like(x)
    before, *_ = _core.factor(
        observed.corpus, normalised_columns(F), x, out, update, rounds, 0.0, 1
    )
    rows = [
        kl_nmf.multiplicative(w, row, F)
        if update == "multiplicative"
        else kl_nmf.coordinate_descent(w, row, F, rounds)
        for w, row in zip(W, x, strict=True)
    ]
    np.testing.assert_allclose(out, rows, rtol=1e-8, atol=1e-12)
    losses = [row.sum() - kl_nmf.row_loss(w, row, F) for w, row in zip(W, x, strict=True)]
    assert before == pytest.approx(sum(losses), rel=1e-12)


def test_laplace():
    W, observed, _, n = problem(4)
    model = LogisticNormal.build(4)
    weights = Weights.build(model, observed.counts.features, n, "mean", 1)
    folded = laplace_fold_in(model, observed, weights, LocalExecutor(1), max_inner=200, tol=1e-12)
    Theta = n + model.loadings.per_feature(len(n))[:, None]
    Theta = Theta / Theta.sum(axis=0)
    P, _ = model.scores.precision()
    for w, eta in zip(W, folded.eta, strict=True):
        slope = laplace.gradient(eta, w, Theta, model.scores.mu0, P)
        np.testing.assert_allclose(slope, 0, atol=1e-5 * (1 + w.sum()))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_held_out_words(dtype):
    W, observed, c, n = problem(5)
    model = DirichletMultinomial.build(5, gamma=0.3)
    weights = Weights.build(model, observed.counts.features, n.astype(dtype), "mean", 1)
    out = np.empty(len(W))
    scores = np.ascontiguousarray(c, dtype=dtype)
    _core.log_predictive(observed.corpus, weights.Theta, weights.log_scale, scores, out, 2)
    Theta = (n + 0.3) / (n + 0.3).sum(axis=0)
    m = c / c.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(out, (W * np.log(m @ Theta.T)).sum(axis=1), rtol=1e-5)
