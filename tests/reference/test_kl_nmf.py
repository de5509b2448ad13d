"""KL-NMF: native against NumPy, the steps' promises, and its equivalences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

import dcomp
from dcomp import _core
from dcomp.data import Counts
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.executors import LocalExecutor
from dcomp.inference import MapEM, MaximumLikelihood
from dcomp.inference.maximum_likelihood import normalised_columns
from dcomp.inference.state import State
from dcomp.models import GammaPoisson, Observations
from dcomp.reference import kl_nmf as reference
from dcomp.result import fit

FLAT = {"alpha": 1.0, "beta": 0.0, "gamma": 1.0}


def problem(seed=0, n_docs=14, n_features=11, K=3):
    rng = np.random.default_rng(seed)
    W = rng.poisson(rng.gamma(0.4, 5.0, size=(n_docs, n_features)))
    W[0] = 0  # a document without words
    return W, rng.gamma(1.0, 2.0, (n_docs, K)), rng.gamma(1.0, 3.0, (n_features, K))


def native(W, F, x, update, rounds, dtype="float64", threads=1):
    corpus = Observations.build(Counts.from_matrix(W)).corpus
    out = np.empty_like(x, dtype=dtype)
    sums = _core.factor(
        corpus,
        normalised_columns(F.astype(dtype)),
        np.ascontiguousarray(x, dtype=dtype),
        out,
        update,
        rounds,
        0.0,
        threads,
    )
    return out, sums


@pytest.mark.parametrize("K", [1, 3, 19])
@pytest.mark.parametrize(("update", "rounds"), [("multiplicative", 1), ("coordinates", 3)])
def test_native_equals_numpy(update, rounds, K):
    W, x, F = problem(1, K=K)
    if K > 1:
        x[2, 0] = 0.0  # a coordinate at its limit
    F = F / F.sum(axis=0)
    out, (before, after, residual, _) = native(W, F, x, update, rounds)
    rows = [
        reference.multiplicative(w, row, F)
        if update == "multiplicative"
        else reference.coordinate_descent(w, row, F, rounds)
        for w, row in zip(W.astype(float), x, strict=True)
    ]
    np.testing.assert_allclose(out, rows, rtol=1e-9, atol=1e-12)
    fit_before = [row.sum() - reference.row_loss(w, row, F) for w, row in zip(W, x, strict=True)]
    assert before == pytest.approx(sum(fit_before), rel=1e-12)
    breaches = [reference.residual(w, row, F).max() for w, row in zip(W, x, strict=True)]
    assert residual == pytest.approx(max(breaches), rel=1e-10)
    if update == "coordinates":
        fit_after = [r.sum() - reference.row_loss(w, r, F) for w, r in zip(W, rows, strict=True)]
        assert after == pytest.approx(sum(fit_after), rel=1e-12)


def test_no_coordinate_step_passes_the_minimum():
    rng = np.random.default_rng(2)
    for _ in range(300):
        w, rest = rng.poisson(3.0, 6).astype(float), rng.gamma(0.5, 1.0, 6) + 1e-9
        column = rng.gamma(0.4, 1.0, 6) + 1e-9
        column /= column.sum()
        x = float(rng.gamma(0.5, 6.0))

        def loss(value, w=w, rest=rest, column=column):
            return value - w @ np.log(rest + value * column)

        best = optimize.minimize_scalar(loss, bounds=(0, 200), options={"xatol": 1e-10}).x
        new = reference.coordinate_step(w, rest + x * column, x, column)
        assert loss(new) <= loss(x) + 1e-12
        assert min(x, best) - 1e-5 <= new <= max(x, best) + 1e-5


def test_many_rounds_reach_the_minimum_of_a_row():
    W, x, F = problem(3, K=4)
    F = F / F.sum(axis=0)
    out, _ = native(W, F, x, "coordinates", 3000)
    for w, row in zip(W.astype(float), out, strict=True):
        assert reference.residual(w, row, F).max() < 1e-8
        # Nothing nearby is better.
        around = np.abs(row + np.random.default_rng(0).normal(0, 0.05, (50, len(row))))
        assert all(
            reference.row_loss(w, row, F) <= reference.row_loss(w, other, F) + 1e-10
            for other in around
        )


def test_columns_that_do_not_fit_together_come_in_groups():
    """A row with more numbers than the memory for gathered columns, against NumPy."""
    rng = np.random.default_rng(4)
    n, K = 70_000, 9  # 9 columns of 70,000 pass 2^19 numbers
    W = rng.integers(1, 4, (1, n))
    F = rng.gamma(1.0, 1.0, (n, K))
    F /= F.sum(axis=0)
    x = rng.gamma(1.0, 1e4, (1, K))
    out, _ = native(W, F, x, "coordinates", 2)
    expected = reference.coordinate_descent(W[0].astype(float), x[0], F, 2)
    np.testing.assert_allclose(out[0], expected, rtol=1e-9)


@pytest.mark.parametrize("solver", ["coordinate-descent", "multiplicative"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_no_sweep_lowers_the_likelihood(solver, dtype):
    W, *_ = problem(5, n_docs=60, n_features=40)
    model = GammaPoisson.build(5, **FLAT)
    path = fit(W, model, MaximumLikelihood(solver, dtype=dtype), max_iter=200, tol=0).history
    slack = 1e-14 if dtype == "float64" else 1e-7
    objective = path["objective"]
    assert (np.diff(objective) >= -slack * W.sum()).all()
    assert objective[-1] > objective[0] + 10
    if solver == "coordinate-descent":
        assert path["residual"][-1] < 0.01 * path["residual"].max()


def test_the_objective_is_the_log_likelihood():
    W, *_ = problem(6, n_docs=30, n_features=20)
    """At the maximum, where the words of components add up alike over documents and features."""
    algorithm = MaximumLikelihood(dtype="float64")
    fitted = fit(W, GammaPoisson.build(3, **FLAT), algorithm, max_iter=300, tol=0)
    y = fitted.scores @ fitted.Theta.T
    assert fitted.objective == pytest.approx((W * np.log(np.maximum(y, 1e-300)) - y).sum())


def test_multiplicative_is_lee_and_seung():
    W, c, n = problem(7)
    W, c = W[1:].astype(float), c[1:]
    observed = Observations.build(Counts.from_matrix(W))
    algorithm = MaximumLikelihood("multiplicative", dtype="float64")
    state, _ = algorithm.step(
        observed, State.whole(GammaPoisson.build(3, **FLAT), c, n, 0), LocalExecutor(1)
    )
    Theta = n / n.sum(axis=0)
    L = c * ((W / (c @ Theta.T)) @ Theta)
    np.testing.assert_allclose(state.c, L, rtol=1e-10)
    expected = Theta * ((W / (L @ Theta.T)).T @ L)
    np.testing.assert_allclose(state.n, expected, rtol=1e-10)


def test_kl_nmf_is_the_mode_of_a_flat_gamma_poisson():
    """MODELS §8: from one start EM at α = 1, β = 0, γ = 1 and both solvers climb to one height, and
    none of the others has anything to add where one has come to rest."""
    rng = np.random.default_rng(8)
    L, Theta = rng.gamma(0.5, 20.0, (40, 3)), rng.dirichlet(np.full(25, 0.1), 3).T
    W = rng.poisson(L @ Theta.T)
    W = W[W.sum(axis=1) > 0][:, W.sum(axis=0) > 0]
    model = GammaPoisson.build(3, **FLAT)
    ways = (
        MaximumLikelihood(dtype="float64"),
        MaximumLikelihood("multiplicative", dtype="float64"),
        MapEM(loadings="map", dtype="float64", max_inner=3, inner_tol=0),
    )
    fits = [fit(W, model, way, max_iter=3000, tol=0, n_jobs=1) for way in ways]
    means = [f.scores @ f.Theta.T for f in fits]
    heights = [(W * np.log(np.maximum(y, 1e-300)) - y).sum() for y in means]
    np.testing.assert_allclose(heights, heights[0], rtol=1e-6)
    for y in means[1:]:
        np.testing.assert_allclose(y, means[0], atol=0.02)
    assert fits[0].history["residual"][-1] < 1e-6
    # The fitted table has the margins of the data.
    np.testing.assert_allclose(means[0].sum(axis=0), W.sum(axis=0), rtol=1e-6)
    np.testing.assert_allclose(means[0].sum(axis=1), W.sum(axis=1), rtol=1e-6)


def test_plsa_and_nmf_are_one_fit_under_two_names():
    rng = np.random.default_rng(9)
    L, Theta = rng.gamma(0.6, 30.0, (30, 2)), rng.dirichlet(np.full(15, 0.2), 2).T
    W = rng.poisson(L @ Theta.T)
    W = W[W.sum(axis=1) > 0][:, W.sum(axis=0) > 0]
    nmf = dcomp.NMF(2, max_iter=3000, tol=1e-12, verbose=0).fit(W)
    plsa = dcomp.PLSA(2, max_iter=3000, tol=1e-8, verbose=0).fit(W)
    order = np.argsort(-(nmf.components_ @ plsa.components_.T), axis=1)[:, 0]
    m, lengths = dcomp.models.equivalence.multinomial_from_poisson(nmf.fit_.scores)
    np.testing.assert_allclose(lengths, W.sum(axis=1), rtol=1e-3)
    heights = [
        (W * np.log(np.maximum(shares @ Theta, 1e-300))).sum()
        for shares, Theta in ((m, nmf.components_), (plsa.fit_.scores, plsa.components_))
    ]
    assert heights[0] == pytest.approx(heights[1], rel=1e-5)
    np.testing.assert_allclose(nmf.components_, plsa.components_[order], atol=0.01)
    np.testing.assert_allclose(m, plsa.transform(W)[:, order], atol=0.05)


def test_exposure_only_rescales_the_scores():
    W, *_ = problem(10, n_docs=25, n_features=12)
    W = W[1:]
    model, e = GammaPoisson.build(3, **FLAT), np.linspace(0.5, 3, 24)
    plain, scaled = (
        fit(W, model, MaximumLikelihood(dtype="float64"), exposure=exposure, max_iter=30, tol=0)
        for exposure in (None, e)
    )
    np.testing.assert_allclose(scaled.scores * e[:, None], plain.scores)
    np.testing.assert_allclose(scaled.Theta, plain.Theta)


def test_what_it_asks_for():
    W, *_ = problem(11)
    with pytest.raises(InvalidParameter, match=r"no priors.*gamma=1.*got gamma = 0.3"):
        dcomp.DCA(2, model="GP", algorithm="ml", gamma=0.3, verbose=0).fit(W)
    with pytest.raises(InvalidParameter, match="got alpha = 2"):
        dcomp.DCA(2, model="GP", algorithm="ml", alpha=2, beta=1, gamma=1, verbose=0).fit(W)
    with pytest.raises(InvalidParameter, match=r"beta = 0 with alpha = 0.5"):
        GammaPoisson.build(2, alpha=0.5, beta=0.0)
    for algorithm in ("mean-field", "gibbs", "collapsed-gibbs"):
        with pytest.raises(UnsupportedCombination, match="beta = 0 is no prior"):
            dcomp.GaP(2, algorithm=algorithm, alpha=1.0, beta=0.0, verbose=0).fit(W)
    with pytest.raises(InvalidParameter, match="exposure must be positive"):
        fit(W, GammaPoisson.build(2, **FLAT), MaximumLikelihood(), exposure=np.r_[0.0, np.ones(13)])
    with pytest.raises(InvalidParameter, match="solver must be one of"):
        MaximumLikelihood("newton")
