"""A fit of the logistic normal: what it gives, what it refuses, and its file."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax
from support.sealed import npy, rewrite

import dcomp
from dcomp.inference import Laplace
from dcomp.models import LogisticNormal, LogisticNormalScores
from dcomp.reference.laplace import complete_curvature


@pytest.fixture(scope="module")
def model(planted):
    return dcomp.CTM(3, gamma=0.1, verbose=0, max_iter=40).fit(planted[0])


@pytest.fixture(scope="module")
def fitted(model):
    return model.fit_


def test_scores_are_at_the_mode(fitted, planted):
    np.testing.assert_allclose(fitted.scores, softmax(fitted.state.carried.eta, axis=1), rtol=1e-6)
    np.testing.assert_allclose(fitted.scores.sum(axis=1), 1, rtol=1e-5)
    new = fitted.transform(planted[0])
    assert (np.abs(new - fitted.scores).max(axis=1) < 0.05).mean() > 0.95
    np.testing.assert_allclose(fitted.expected_counts.sum(axis=1), planted[0].doc_totals, rtol=1e-4)


def test_an_empty_document_has_the_priors_score(fitted, planted):
    assert planted[0].doc_totals[17] == 0
    expected = softmax(fitted.model.scores.mu0)
    np.testing.assert_allclose(fitted.transform(planted[0])[17], expected, rtol=1e-5)


def test_fold_in_has_variances(fitted, planted):
    folded = fitted.fold_in(planted[0])
    assert folded.eta.shape == folded.variance.shape == (300, 3)
    np.testing.assert_allclose(folded.eta.sum(axis=1), 0, atol=1e-8)
    prior = np.diag(fitted.model.scores.Sigma0)
    np.testing.assert_allclose(folded.variance[17], prior, rtol=1e-6)
    assert (folded.variance[0] < prior).all()  # words tell


def test_word_table_adds_up(fitted, planted):
    table = fitted.word_table(planted[0], 5)
    row = planted[0].rows([5])
    np.testing.assert_allclose(table.table.sum(axis=1), row.data, rtol=1e-9)
    np.testing.assert_allclose(table.total, fitted.fold_in(row).c[0], rtol=1e-3, atol=1e-3)


def test_no_bound_and_no_draws_are_promised(fitted, planted):
    with pytest.raises(
        dcomp.UnsupportedCombination, match=r"model LN: Laplace.s method gives no bound"
    ):
        fitted.bound(planted[0])
    with pytest.raises(dcomp.UnsupportedCombination, match="model LN: it has no sampler"):
        fitted.sample_scores(planted[0])
    with pytest.raises(dcomp.UnsupportedCombination, match="model LN: it has no sampler"):
        fitted.transform(planted[0], method="sampling")
    with pytest.raises(dcomp.UnsupportedCombination, match="unit 'words'"):
        fitted.negligible_scores(unit="normalised")
    assert 0 < fitted.negligible_scores().share < 1
    assert fitted.has_fixed_point
    assert not fitted.has_bound


def test_correlations_and_their_graph(model):
    value = model.correlation_
    assert np.array_equal(np.diag(value), np.ones(3))
    np.testing.assert_allclose(value, value.T)
    edges = model.correlation_graph(0.0)
    assert len(edges) == 3
    assert [abs(e.correlation) for e in edges] == sorted(abs(e.correlation) for e in edges)[::-1]
    assert all(value[e.first, e.second] == e.correlation for e in edges)
    middle = abs(edges[1].correlation)
    assert model.correlation_graph(middle) == edges[:2]
    with pytest.raises(dcomp.InvalidParameter, match=r"threshold must lie in \[0, 1\]"):
        model.correlation_graph(2)


def test_shrinkage_draws_correlations_in(planted):
    free, half, none = (
        dcomp.CTM(5, shrinkage=s, start="seeded", max_iter=30, tol=0, verbose=0)
        .fit(planted[0])
        .fit_.model.scores
        for s in (0.0, 0.5, 1.0)
    )
    from dcomp.models.logistic_normal import uncorrelated

    def size(scores):
        return np.abs(scores.Sigma0 - uncorrelated(scores.Sigma0)).max()

    assert size(none) < 1e-4 < size(half) < size(free)  # a limit of Σ0 leaves a trace
    with pytest.raises(dcomp.InvalidParameter, match="shrinkage must be 'auto' or a number"):
        dcomp.CTM(2, shrinkage=True, verbose=0).fit(planted[0])


def test_loadings_can_be_held(planted):
    held = dcomp.CTM(3, learn_loadings=False, max_iter=5, tol=0, verbose=0).fit(planted[0]).fit_
    longer = dcomp.CTM(3, learn_loadings=False, max_iter=9, tol=0, verbose=0).fit(planted[0]).fit_
    assert np.array_equal(held.Theta, longer.Theta)
    assert not np.array_equal(held.model.scores.Sigma0, longer.model.scores.Sigma0)


def test_priors_can_be_given(planted):
    given = LogisticNormal.build(3, mu0=[1, 0, -1], Sigma0=[1, 2, 3], gamma=0.1)
    found = dcomp.fit(planted[0], given, Laplace(start="seeded"), max_iter=5, tol=0)
    assert found.model == given


# The sampler of the start visits every token, the rest does not mind how many there are.
@pytest.mark.parametrize(("start", "many"), [("collapsed-gibbs", 70_000), ("seeded", 1_000_000)])
def test_extremes_leave_no_nan(start, many):
    W = np.zeros((6, 4), dtype=int)
    W[0, 0], W[1, 1], W[2] = 1, many, [1, 0, 0, 1]
    for K in (1, 2, 9):
        fit = dcomp.CTM(K, start=start, verbose=0, max_iter=20, tol=0).fit(W).fit_
        for array in (fit.Theta, fit.scores, fit.model.scores.Sigma0, fit.history["objective"]):
            assert np.isfinite(array).all()
        assert np.isfinite(fit.transform(W)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": "random"}, "start must be one of auto, collapsed-gibbs, mean-field, seeded"),
        ({"loadings": "median"}, "loadings must be one of mean, map, vb"),
        ({"dtype": "float16"}, "dtype must be float32 or float64"),
        ({"max_inner": 0}, "max_inner must be at least 1"),
        ({"inner_tol": -1.0}, "inner_tol must be at least 0"),
    ],
)
def test_bad_options_of_the_algorithm(options, message):
    with pytest.raises(dcomp.InvalidParameter, match=message):
        Laplace(**options)


def test_map_needs_gamma_of_one(planted):
    with pytest.raises(dcomp.InvalidParameter, match="loadings='map' needs gamma >= 1"):
        dcomp.CTM(2, loadings="map", verbose=0).fit(planted[0])


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("carried/eta", None),
        ("carried/eta", np.zeros((2, 3))),
        ("model/Sigma0", None),
        ("model/Sigma0", -np.eye(3)),
    ],
)
def test_a_damaged_file_is_refused(fitted, tmp_path, name, array):
    path = tmp_path / "a.dcomp"
    dcomp.save(fitted, path)

    def change(members):
        del members[f"{name}.npy"]
        if array is not None:
            members[f"{name}.npy"] = npy(array)

    rewrite(path, change)
    with pytest.raises(dcomp.InvalidFile):
        dcomp.load(path)


def test_every_document_has_a_whole_covariance():
    """The inverse of the reference's curvature, less the free shift; its diagonal is fold_in's."""
    W = np.random.default_rng(4).poisson(2.0, (12, 8))
    model = dcomp.CTM(3, verbose=0).fit(W)
    found, folded = model.covariance(W), model.fit_.fold_in(dcomp.Counts.from_matrix(W))
    P, _ = model.fit_.model.scores.precision()
    for i in range(len(W)):
        expected = np.linalg.inv(complete_curvature(folded.eta[i], W[i].sum(), P)) - 1 / 3
        np.testing.assert_allclose(found[i], expected, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(np.diag(found[i]), folded.variance[i], rtol=1e-5)


def test_a_given_mean_and_covariance_are_held():
    W = np.random.default_rng(5).poisson(2.0, (12, 8))
    Sigma0 = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    both = dcomp.CTM(3, mu0=[2.0, 1.0, 0.0], Sigma0=Sigma0, verbose=0).fit(W).fit_.model.scores
    assert both == LogisticNormalScores.build(3, [2.0, 1.0, 0.0], Sigma0, worth=both.worth)
    assert both.learned == ()
    one = dcomp.CTM(3, Sigma0=0.5, verbose=0).fit(W).fit_.model.scores
    assert one.learned == ("mu0",)
    assert np.abs(one.mu0).max() > 0
    with pytest.raises(dcomp.UnsupportedCombination, match="shrinkage= is of a learned Sigma0"):
        dcomp.CTM(3, Sigma0=0.5, shrinkage="auto", verbose=0).fit(W)
    with pytest.raises(dcomp.InvalidParameter, match="mu0 must be a finite number or one per"):
        dcomp.CTM(3, mu0=[1.0, 2.0], verbose=0).fit(W)
