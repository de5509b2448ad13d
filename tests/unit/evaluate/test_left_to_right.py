"""left_to_right of a fit: what it equals, how its errors behave, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import dcomp
from dcomp.data import train_test
from dcomp.evaluate import completion, left_to_right
from dcomp.reference.left_to_right import exact_log_likelihood


@pytest.fixture(scope="module")
def split(planted):
    return train_test(planted[0], 0.3, seed=2)


@pytest.mark.parametrize("model", ["DM", "GP", "CGP"])
def test_it_is_the_exact_likelihood_given_the_lengths(split, model):
    train, test = split
    test = test.rows(np.arange(12))
    fitted = dcomp.DCA(3, model=model, gamma=0.5, max_iter=40, tol=0, verbose=0).fit(train).fit_
    score = left_to_right(fitted, test, particles=200)
    exact = exact_log_likelihood(fitted.model, fitted.observe(test), fitted.Theta.astype(float))
    np.testing.assert_allclose(score.log_marginal, exact, atol=1.0)
    np.testing.assert_allclose(score.log_marginal.sum(), exact.sum(), atol=3.0)
    tokens = test.doc_totals.sum()
    assert score.n_tokens == tokens
    assert score.log_likelihood == pytest.approx(score.per_document.sum() / tokens)
    if model == "DM":
        assert not score.log_totals.any()
    else:
        assert (score.log_totals < 0).all()


def test_one_component_is_the_unigram_model(split):
    train, test = split
    fitted = dcomp.DCA(1, gamma=0.5, alpha=1.0, verbose=0).fit(train).fit_
    unigram = np.log((train.feature_totals + 0.5) / (train.n_tokens + 15))
    score = left_to_right(fitted, test, particles=1)
    expected = (test.feature_totals * unigram).sum() / test.n_tokens
    assert score.log_likelihood == pytest.approx(expected, rel=1e-5)
    assert score.monte_carlo_error < 1e-6


def test_models_can_be_compared(split):
    train, test = split
    dm = left_to_right(dcomp.LDA(3, verbose=0).fit(train).fit_, test)
    gp = left_to_right(dcomp.GaP(3, verbose=0).fit(train).fit_, test)
    assert abs(dm.log_likelihood - gp.log_likelihood) < 0.02


def test_it_ranks_as_completion_does(split):
    train, test = split
    fits = [dcomp.LDA(K, verbose=0).fit(train).fit_ for K in (1, 2, 3)]
    whole = [left_to_right(fitted, test).log_likelihood for fitted in fits]
    half = [completion(fitted, test).log_likelihood for fitted in fits]
    assert whole[2] > whole[1] > whole[0]
    assert np.argsort(whole).tolist() == np.argsort(half).tolist()


def test_the_monte_carlo_error_is_that_of_other_seeds(split):
    train, test = split
    fitted = dcomp.LDA(3, verbose=0).fit(train).fit_
    scores = [left_to_right(fitted, test, particles=4, seed=seed) for seed in range(20)]
    values = np.array([score.log_likelihood for score in scores])
    errors = np.array([score.monte_carlo_error for score in scores])
    assert errors.mean() == pytest.approx(values.std(ddof=1), rel=0.5)
    better = left_to_right(fitted, test, particles=64)
    assert better.monte_carlo_error < errors.mean() / 2
    # The log of an unbiased estimate is too low, by about what is said.
    biases = np.array([score.bias for score in scores])
    assert (biases <= 0).all()
    truth = left_to_right(fitted, test, particles=300)
    assert abs(truth.bias) < abs(biases.mean()) / 10
    assert biases.mean() == pytest.approx(values.mean() - truth.log_likelihood, rel=0.5)


def test_same_seed_same_score(split):
    fitted = dcomp.GaP(3, verbose=0).fit(split[0]).fit_
    one = left_to_right(fitted, split[1], n_jobs=1)
    for jobs in (2, 7):
        again = left_to_right(fitted, split[1], n_jobs=jobs)
        assert again.per_document.tolist() == one.per_document.tolist()
    other = left_to_right(fitted, split[1], seed=1)
    assert other.log_likelihood != one.log_likelihood


def test_empty_documents_and_exposure():
    rng = np.random.default_rng(0)
    X = rng.poisson(2.0, (20, 6))
    X[3] = 0
    fitted = dcomp.GaP(2, exposure="total", verbose=0).fit(X).fit_
    score = left_to_right(fitted, X)
    assert np.isfinite(score.log_marginal).all()
    assert score.per_document[3] == pytest.approx(0)
    assert score.n_docs == 19
    assert "Monte Carlo error" in str(score)


def test_what_it_refuses(split):
    fitted = dcomp.LDA(2, verbose=0).fit(split[0]).fit_
    with pytest.raises(dcomp.InvalidCounts, match="needs documents with tokens"):
        left_to_right(fitted, np.zeros((2, 30), int))
    with pytest.raises(dcomp.InvalidParameter, match="particles must be a whole number"):
        left_to_right(fitted, split[1], particles=0)
    correlated = dcomp.CTM(2, tol=100.0, verbose=0).fit(split[0]).fit_
    with pytest.raises(dcomp.UnsupportedCombination, match="left_to_right needs a score prior"):
        left_to_right(correlated, split[1])


def test_a_tree_has_the_exact_likelihood(split):
    test = split[1].rows(np.arange(12))
    fitted = dcomp.TreeDCA(2, 2, max_iter=20, verbose=0).fit(split[0]).fit_
    score = left_to_right(fitted, test, particles=100)
    exact = exact_log_likelihood(fitted.model, fitted.observe(test), fitted.Theta.astype(float))
    np.testing.assert_allclose(score.per_document, exact, atol=1.0)
    assert not score.log_totals.any()
    again = left_to_right(fitted, test, particles=100, n_jobs=2)
    assert again.per_document.tolist() == score.per_document.tolist()


def test_a_fit_without_priors_is_refused():
    X = np.random.default_rng(0).poisson(2.0, (20, 6))
    fitted = dcomp.NMF(2, verbose=0).fit(X).fit_
    with pytest.raises(dcomp.UnsupportedCombination, match="needs a prior of the scores"):
        dcomp.evaluate.left_to_right(fitted, X)
    with pytest.raises(dcomp.InvalidParameter, match="beta must be positive, got 0"):
        dcomp.evaluate.evidence(X, 2, model="GP", alpha=1.0, beta=0.0)
