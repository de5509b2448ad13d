"""NMF by name: both losses, B18's example, and what a tired user types."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import dcomp
from dcomp import datasets
from dcomp.errors import InvalidCounts, InvalidParameter, UnsupportedCombination
from dcomp.inference.least_squares import factorise
from dcomp.models.equivalence import probabilities

# B18 table 1; its R code starts from abs(round(rnorm(12, sd = 2))) with seed 3.
W = np.array(
    [
        [4, 6, 0, 2, 2],
        [0, 0, 4, 8, 12],
        [6, 9, 1, 5, 6],
        [2, 3, 3, 7, 10],
        [0, 0, 3, 6, 9],
        [2, 6, 1, 4, 5],
    ]
)
START = np.array([[2, 0], [1, 2], [1, 2], [2, 3], [0, 1], [0, 2]])


def test_b18_a1_to_its_printed_digits():
    found = factorise(W, 2, "signed", start=START, max_iter=1000, tol=0)
    np.testing.assert_array_equal(
        found.Z.round(2),
        [[3.13, 0.05], [-1.55, 3.58], [4.31, 0.97], [0.41, 2.71], [-1.16, 2.68], [2.26, 1.03]],
    )
    np.testing.assert_array_equal(
        found.B.round(2), [[1.18, 1.96, -0.02, 0.6, 0.58], [0.5, 0.85, 1.11, 2.5, 3.6]]
    )
    # Its minimum is the truncated singular value decomposition.
    singular = np.linalg.svd(W, compute_uv=False)
    assert 2 * found.loss == pytest.approx((singular[2:] ** 2).sum(), rel=1e-9)
    assert found.history[-1].residual < 1e-6


def test_b18_a2_to_its_printed_digits():
    found = factorise(W, 2, "projected", start=START, max_iter=1001, tol=0)
    np.testing.assert_array_equal(
        found.Z.round(2),
        [[1.6, 0], [0, 5.83], [2.4, 1.45], [0.79, 4.37], [0, 4.38], [1.37, 1.6]],
    )
    np.testing.assert_array_equal(
        found.B.round(2), [[2.33, 3.85, 0, 1.26, 1.25], [0, 0.01, 0.69, 1.37, 2.06]]
    )
    # "No optimiser" (MODELS §8): coordinate descent goes on from there, and finds a better one.
    better = factorise(W, 2, start=found.Z, max_iter=2000, tol=0)
    assert better.loss <= found.loss
    assert better.history[-1].residual < 1e-8


def test_coordinate_descent_never_raises_the_squared_loss():
    X = np.random.default_rng(0).gamma(0.5, 2.0, (40, 25))
    found = factorise(X, 4, max_iter=300, tol=0)
    path = np.array([row.objective for row in found.history])
    assert (np.diff(path) >= -1e-9 * abs(path[-1])).all()
    assert found.history[-1].residual < 1e-3 * found.history[0].residual
    assert found.loss == pytest.approx(0.5 * ((X - found.Z @ found.B) ** 2).sum())
    assert found.Z.min() >= 0
    assert found.B.min() >= 0


def test_a_projected_sweep_that_is_worse_is_not_kept():
    X = np.random.default_rng(3).gamma(0.3, 2.0, (30, 20))
    found = factorise(X, 6, "projected", max_iter=100, tol=0)
    path = np.array([row.objective for row in found.history])
    assert (np.diff(path) < 0).any()  # it does happen here
    assert -found.loss == path.max()
    assert found.loss == pytest.approx(0.5 * ((X - found.Z @ found.B) ** 2).sum())


def test_rank_that_is_lost_is_no_failure():
    X = np.outer([1.0, 2, 0, 3], [1.0, 0, 2])
    for solver in ("projected", "coordinate-descent", "signed"):
        found = factorise(X, 3, solver, max_iter=50)
        assert np.isfinite(found.Z).all()
        assert found.loss < 1e-6
    empty = factorise(np.zeros((3, 4)), 2, "projected", max_iter=5)
    assert empty.loss == 0
    assert np.isfinite(empty.Z).all()


@pytest.mark.parametrize("loss", ["kullback-leibler", "squared"])
@pytest.mark.parametrize("solver", ["auto", "multiplicative", "projected"])
def test_scores_times_components_is_the_table(loss, solver):
    if (solver == "multiplicative") != (loss == "kullback-leibler") and solver != "auto":
        with pytest.raises(InvalidParameter, match=f"for loss='{loss}'; got '{solver}'"):
            dcomp.NMF(2, loss=loss, solver=solver, verbose=0).fit(W)
        return
    model = dcomp.NMF(2, loss=loss, solver=solver, max_iter=4000, tol=1e-7, verbose=0)
    L = model.fit_transform(W)
    assert np.abs(L @ model.components_ - W).max() < 1.4
    np.testing.assert_allclose(model.components_.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(model.transform(sparse.csr_array(W)), L, atol=1e-4)
    y = L @ model.components_
    with np.errstate(divide="ignore", invalid="ignore"):
        kl = np.where(W > 0, W * np.log(W / y), 0) - W + y
    expected = 0.5 * ((W - y) ** 2).sum() if loss == "squared" else kl.sum()
    assert model.loss_ == pytest.approx(expected, rel=0.01)
    assert len(model.history_) == model.n_iter_
    assert np.isfinite(model.history_["residual"]).all()
    # Documents 1, 3 and 6 are about education, 2, 4 and 5 about health.
    shares = probabilities(L, model.components_)[0]
    education = shares[0].argmax()
    assert (shares[:, education] > 0.4).tolist() == [True, False, True, False, False, True]


def test_fractions_and_negatives():
    X = W + 0.5
    with pytest.raises(InvalidCounts, match=r"fractional=True takes corrected counts"):
        dcomp.NMF(2, verbose=0).fit(X)
    model = dcomp.NMF(2, fractional=True, tol=1e-6, verbose=0)
    Y = model.fit_transform(X) @ model.components_
    assert model.loss_ == pytest.approx((X * np.log(X / Y) - X + Y).sum(), rel=5e-3)
    assert dcomp.NMF(2, loss="squared", verbose=0).fit(X).loss_ < 20
    with pytest.raises(InvalidCounts, match=r"Negative values.*at least 0; found -1"):
        dcomp.NMF(2, loss="squared", verbose=0).fit(W - 1)
    with pytest.raises(InvalidParameter, match="loss must be one of"):
        dcomp.NMF(2, loss="frobenius", verbose=0).fit(W)
    squared = dcomp.NMF(2, loss="squared", verbose=0).fit(W)
    for name in ("score", "perplexity", "completion"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
            getattr(squared, name)(W)
    with pytest.raises(UnsupportedCombination, match="are for loss='kullback-leibler'"):
        squared.transform(W, method="sampling")
    with pytest.raises(InvalidParameter, match="in shape"):
        factorise(W, 2, start=START.T)


def test_squared_loss_options_do_something():
    X = np.random.default_rng(1).gamma(0.5, 2.0, (30, 20))
    options = {"loss": "squared", "max_iter": 15, "tol": 0, "verbose": 0}
    one = dcomp.NMF(5, **options).fit(X)
    many = dcomp.NMF(5, n_chains=6, **options).fit(X)
    assert many.loss_ < one.loss_
    again = dcomp.NMF(5, warm_start=True, **options).fit(X)
    assert again.fit(X).loss_ < one.loss_
    stopped = dcomp.NMF(5, callbacks=[lambda row: row.sweep == 3], **options).fit(X)
    assert stopped.n_iter_ == 3
    assert not np.array_equal(
        dcomp.NMF(5, random_state=1, **options).fit(X).components_, one.components_
    )
    named = dcomp.NMF(2, loss="squared", verbose=0).fit(
        dcomp.Counts.from_matrix(W, feature_names=list("abcde"))
    )
    assert set(named.top_features(1).names) == {("b",), ("e",)}


def test_completion_with_nothing_to_go_by():
    """Without priors a document of no words has no scores; its prediction is finite even so."""
    X = np.vstack([W, np.eye(5, dtype=int)])
    model = dcomp.NMF(2, verbose=0).fit(X)
    assert np.isfinite(model.score(X))
    assert np.isfinite(model.transform(np.zeros((1, 5), int))).all()


def test_the_no_prior_normalised_fit():
    """C04 3.1: scores over each document's length are its shares; loadings do not change."""
    X = np.random.default_rng(5).poisson(np.outer(np.arange(1, 41), np.linspace(0.2, 2, 12)))
    X = X[X.sum(axis=1) > 0]
    plain = dcomp.NMF(3, verbose=0, tol=1e-7, max_iter=4000).fit(X)
    shares = dcomp.NMF(3, exposure="total", verbose=0, tol=1e-7, max_iter=4000).fit(X)
    np.testing.assert_allclose(shares.components_, plain.components_, atol=1e-6)
    assert shares.loss_ == pytest.approx(plain.loss_, rel=1e-6)
    lengths = X.sum(axis=1, keepdims=True)
    # Of a table of rank one three scores are hardly told apart; what they explain is.
    np.testing.assert_allclose(
        (shares.fit_.scores * lengths) @ plain.components_,
        plain.fit_.scores @ plain.components_,
        rtol=1e-3,
        atol=1e-3,
    )
    np.testing.assert_allclose(shares.transform(X).sum(axis=1), 1, atol=1e-3)
    with pytest.raises(InvalidParameter, match="exposure must be positive where scores have no"):
        dcomp.NMF(2, exposure="total", verbose=0).fit(np.vstack([X, 0 * X[:1]]))
    with pytest.raises(UnsupportedCombination, match="exposure= is for loss='kullback-leibler'"):
        dcomp.NMF(2, loss="squared", exposure="total", verbose=0).fit(X)


@pytest.mark.parametrize("options", [{}, {"loss": "squared"}])
def test_factors_of_any_sign(options):
    """B18 A.1: alternating solves (2.3), (2.4) as they are."""
    model = dcomp.NMF(2, solver="signed", tol=1e-12, max_iter=2000, verbose=0, **options).fit(W)
    Y = model.transform(W) @ model.components_
    printed = [[3.7184, 6.1773, -0.0071, 2.00, 2.00], [-0.0390, 0.0050, 4.0048, 8.02, 11.99]]
    np.testing.assert_allclose(Y[:2], printed, atol=0.03)  # B18 rounds its factors first
    U, S, Vt = np.linalg.svd(W)
    np.testing.assert_allclose(Y, (U[:, :2] * S[:2]) @ Vt[:2], atol=1e-4)
    assert model.loss_ == pytest.approx(0.5 * (S[2:] ** 2).sum(), rel=1e-6)
    new = np.array([[1.0, -2.0, 0.5, 0.0, 3.0]])
    expected = np.linalg.lstsq(model.components_.T.astype(float), new[0], rcond=None)[0]
    np.testing.assert_allclose(model.transform(new)[0], expected, rtol=1e-4)
    both = np.random.default_rng(0).normal(size=(20, 6))
    assert dcomp.NMF(6, solver="signed", verbose=0).fit(both).loss_ < 1e-9
    with pytest.raises(AttributeError, match="no attribute 'score'"):
        model.score(W)
    assert not model.__sklearn_tags__().input_tags.positive_only
    with pytest.raises(InvalidParameter, match="solver must be auto, coordinate-descent"):
        dcomp.NMF(2, solver="projected", verbose=0).fit(W)


TABLES = {
    "tumours": lambda: datasets.mutations(100, seed=0).counts.to_scipy().toarray().astype(float),
    "log tumours": lambda: np.log1p(datasets.mutations(100, seed=0).counts.to_scipy().toarray()),
    "votes": lambda: datasets.votes(60, 100).counts.to_scipy().toarray().astype(float),
    "text": lambda: datasets.text(100, 500).counts.to_scipy().astype(float),
}


@pytest.mark.parametrize("solver", ["coordinate-descent", "signed"])
@pytest.mark.parametrize("table", TABLES)
def test_at_rest_ten_times_the_sweeps_gain_little_whatever_the_scale(table, solver):
    """tol is in nats per document of the likelihood with the residual's own variance: the loss
    falls by less than 2 tol / J of itself. Tables in other units take the same sweeps."""
    W = TABLES[table]()
    found = factorise(W, 6, solver, max_iter=2000)
    assert found.reason == "converged"
    longer = factorise(W, 6, solver, max_iter=10 * len(found.history), tol=0)
    left = 0.5 * W.shape[1] * np.log(found.loss / longer.loss)
    assert left < 0.05
    scaled = factorise(1024.0 * W, 6, solver, start=_start(W, solver) * 32.0, max_iter=2000)
    as_it_is = factorise(W, 6, solver, start=_start(W, solver), max_iter=2000)
    assert len(scaled.history) == len(as_it_is.history)
    assert scaled.loss == pytest.approx(1024.0**2 * as_it_is.loss, rel=1e-9)


def _start(W, solver):
    rng = np.random.default_rng(3)
    shape = (W.shape[0], 6)
    return rng.standard_normal(shape) if solver == "signed" else rng.random(shape)


def test_least_squares_that_does_not_come_to_rest_says_so():
    """Projected solves wander about on this table, and a lower loss may come at any time."""
    W = TABLES["votes"]()
    with pytest.warns(dcomp.ConvergenceWarning, match=r"max_iter = 20 before .*tol = 0.05 nats"):
        dcomp.NMF(6, loss="squared", max_iter=20, verbose=0).fit(W)
    wandering = factorise(TABLES["log tumours"](), 10, "projected", max_iter=300)
    losses = np.array([-row.objective for row in wandering.history])
    assert (np.diff(losses[-100:]) > 0).any()
    assert wandering.reason == "limit"
