"""Document completion: right on a case that can be worked out, fair between models."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import dcomp
from dcomp.data import halves, train_test
from dcomp.evaluate import completion, heldout
from dcomp.evaluate.heldout import over_documents
from dcomp.models import GammaPoisson


@pytest.fixture(scope="module")
def split(planted):
    return train_test(planted[0], 0.3, seed=2)


def test_one_component_is_the_unigram_model(split):
    train, test = split
    model = dcomp.DCA(1, gamma=0.5, alpha=1.0, verbose=0).fit(train)
    unigram = np.log((train.feature_totals + 0.5) / (train.n_tokens + 15))
    _, second = halves(test, 0.5, seed=0)
    expected = (second.feature_totals * unigram).sum() / second.n_tokens
    assert model.score(test) == pytest.approx(expected, rel=1e-5)
    assert model.perplexity(test) == pytest.approx(np.exp(-expected), rel=1e-5)


@pytest.mark.parametrize(("loadings", "gamma"), [("mean", 0.5), ("vb", 0.5), ("map", 9.0)])
def test_by_hand_for_two_components(split, loadings, gamma):
    """With E[θ], or with the mode where the fit is one."""
    train, test = split
    fitted = dcomp.DCA(2, gamma=gamma, loadings=loadings, verbose=0).fit(train).fit_
    result = completion(fitted, test, seed=4)
    first, second = halves(test, 0.5, seed=4)
    p = fitted.transform(first).astype(float) @ fitted.Theta.T.astype(float)
    by_hand = (second.to_scipy().toarray() * np.log(p)).sum(axis=1)
    np.testing.assert_allclose(result.per_document, by_hand, rtol=1e-4, atol=1e-4)
    assert result.n_tokens == second.n_tokens


def test_the_right_number_of_components_wins(split):
    train, test = split
    scores = {K: dcomp.LDA(K, verbose=0).fit(train).score(test) for K in (1, 2, 3)}
    assert scores[3] > scores[2] > scores[1]


def test_gamma_poisson_is_comparable(split):
    train, test = split
    dm = dcomp.LDA(3, verbose=0).fit(train).completion(test)
    gp = dcomp.GaP(3, verbose=0).fit(train).completion(test)
    assert abs(dm.log_likelihood - gp.log_likelihood) < 0.02


@pytest.mark.parametrize("fraction", [0.5, 0.2])
def test_the_first_part_was_watched_for_its_share_of_the_exposure(split, fraction):
    """GP: of f of the tokens, seen during f·e, E[l_k] = (α + c_k) / (β_k + f e); components with
    unequal β have other shares at another exposure."""
    train, test = split
    beta = np.array([0.05, 0.5, 4.0])
    fitted = dcomp.fit(train, GammaPoisson.build(3, alpha=0.5, beta=0.05), max_iter=40, tol=0)
    fitted = replace(fitted, state=fitted.state.changed(model=fitted.model.with_scores(beta=beta)))
    e = np.linspace(0.5, 3.0, test.n_docs)
    result = completion(fitted, test, exposure=e, fraction=fraction, seed=4)
    first, second = halves(test, fraction, seed=4)

    def by_hand(exposure):
        c = fitted.fold_in(first, exposure=exposure).c.astype(float)
        mean = (0.5 + c) / (beta + exposure[:, None])
        p = mean / mean.sum(axis=1, keepdims=True) @ fitted.Theta.T.astype(float)
        return (second.to_scipy().toarray() * np.log(p)).sum(axis=1)

    np.testing.assert_allclose(result.per_document, by_hand(fraction * e), rtol=1e-4, atol=1e-4)
    assert np.abs(by_hand(e) - result.per_document).max() > 0.1  # the whole exposure would show


def test_standard_error_covers_other_splits(split):
    """±2 standard errors of one draw of test documents cover the mean over many."""
    train, _ = split
    fitted = dcomp.LDA(3, verbose=0).fit(train).fit_
    rng = np.random.default_rng(0)
    Theta = fitted.Theta.astype(float) / fitted.Theta.sum(axis=0)
    draws = []
    for _ in range(60):
        m = rng.dirichlet([0.3] * 3, size=40)
        W = np.array([rng.multinomial(50, p / p.sum()) for p in m @ Theta.T])
        draws.append(completion(fitted, W))
    values = np.array([d.log_likelihood for d in draws])
    errors = np.array([d.standard_error for d in draws])
    assert errors.mean() == pytest.approx(values.std(ddof=1), rel=0.35)
    assert (np.abs(values - values.mean()) < 2 * errors).mean() > 0.85


def test_same_seed_same_score(split):
    fitted = dcomp.LDA(3, verbose=0).fit(split[0]).fit_
    assert (
        completion(fitted, split[1]).log_likelihood
        == completion(fitted, split[1], n_jobs=7).log_likelihood
    )
    assert (
        completion(fitted, split[1], seed=1).log_likelihood
        != completion(fitted, split[1]).log_likelihood
    )


def test_nothing_to_predict(split):
    fitted = dcomp.LDA(2, verbose=0).fit(split[0]).fit_
    with pytest.raises(dcomp.InvalidCounts, match="needs tokens to predict"):
        completion(fitted, np.zeros((2, 30), int))
    for fraction in (-0.5, 0, 1, 1.5):
        with pytest.raises(dcomp.InvalidParameter, match="fraction must lie between 0 and 1"):
            completion(fitted, split[1], fraction=fraction)


def test_one_document_has_no_standard_error(split):
    result = completion(dcomp.LDA(2, verbose=0).fit(split[0]).fit_, split[1].rows([0]))
    assert np.isnan(result.standard_error)
    assert np.isfinite(result.log_likelihood)


def test_the_ratio_and_its_error_by_hand():
    """Σ log p / Σ tokens = −2.6; residuals from −2.6 a token are 1.2 and −1.2; the document without
    tokens is none of the two."""
    result = over_documents(np.array([-4.0, -9.0, 0.0]), np.array([2.0, 3.0, 0.0]))
    assert result.log_likelihood == pytest.approx(-2.6)
    assert result.standard_error == pytest.approx(np.sqrt(2 * (1.2**2 + 1.2**2)) / 5)
    assert (result.n_docs, result.n_tokens) == (2, 5)
    assert result.perplexity == pytest.approx(np.exp(2.6))
    assert result.perplexity_error == pytest.approx(np.exp(2.6) * result.standard_error)
    assert str(result).startswith("held-out perplexity 13.5 ± 6.5 (log-likelihood -2.6000 ± 0.4800")
    three = over_documents(np.array([-1.0, -2.0, -6.0]), np.ones(3))  # plain s / √n
    assert three.standard_error == pytest.approx(np.std([1, 2, 6], ddof=1) / np.sqrt(3))


def test_a_documents_score_does_not_depend_on_its_neighbours(planted):
    train, test = dcomp.data.train_test(planted[0], 0.3, seed=1)
    fit = dcomp.LDA(3, verbose=0).fit(train).fit_
    whole = dcomp.evaluate.completion(fit, test)
    chosen = [40, 3, 11]
    some = dcomp.evaluate.completion(fit, test.rows(chosen))
    assert np.array_equal(some.per_document, whole.per_document[chosen])


def test_documents_that_were_fitted_are_told_among_others():
    X = np.random.default_rng(3).poisson(2.0, (40, 12))
    ids = [f"d{i}" for i in range(40)]
    counts = dcomp.Counts.from_matrix(X, doc_ids=ids)
    fit = dcomp.LDA(2, verbose=0).fit(counts.rows(slice(0, 30))).fit_
    told = heldout.said_of_training
    assert told(fit, counts.rows(slice(0, 30))).startswith("the fit was made from these very")
    assert told(fit, counts) == (
        "30 of these 40 documents have the names and lengths of fitted ones: "
        "their score is not held-out"
    )
    assert told(fit, counts.rows(slice(30, 40))) is None
    longer = dcomp.Counts.from_matrix(X + 1, doc_ids=ids)
    assert told(fit, longer) is None  # other documents of the same names
    with pytest.warns(dcomp.DataWarning, match="30 of these 40 documents"):
        heldout.completion(fit, counts)


def test_a_document_that_decides_is_named():
    """One document of thirty with ten times the words, told far worse than all others."""
    tokens = np.r_[np.full(29, 10.0), 100.0]
    per_document = np.r_[np.full(29, -20.0), -900.0]
    names = tuple(f"post {i}" for i in range(30))
    score = heldout.over_documents(per_document, tokens, names)
    first = score.deciding(2)[0]
    assert (first.number, first.name) == (29, "post 29")
    assert first.without == pytest.approx(np.exp(2))
    assert score.without_each[0] == pytest.approx((-28 * 20 - 900) / 380)
    assert score.trimmed == pytest.approx(-2)  # the one document is cut off
    assert "without post 29 the perplexity is 7.389 and not 44.47" in str(score)
    even = heldout.over_documents(np.linspace(-21, -19, 30), np.full(30, 10.0))
    assert "without" not in str(even)
    assert even.deciding(1)[0].name in ("document 0", "document 29")


def test_votes_have_digits_enough():
    tokens = np.full(400, 300.0)
    score = heldout.over_documents(-0.25 * tokens + np.tile([0.1, -0.1], 200), tokens)
    assert str(score).startswith("held-out perplexity 1.284025 ± 0.000021 (")


@pytest.mark.parametrize(("estimator", "is_said"), [(dcomp.PLSA, True), (dcomp.LDA, False)])
def test_words_without_probability_are_said(estimator, is_said):
    """Maximum likelihood has no room for words that it has not met, and one of them decides."""
    rng = np.random.default_rng(7)
    Theta = rng.dirichlet(np.full(400, 0.05), 4)
    X = np.array([rng.multinomial(8, m @ Theta) for m in rng.dirichlet(np.full(4, 0.1), 300)])
    train, test = train_test(dcomp.as_counts(X), test_fraction=0.2, seed=0)
    fitted = estimator(4, verbose=0).fit(train)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        completion(fitted.fit_, test)
    assert any("all but impossible" in str(each.message) for each in said) == is_said
