"""Intervals of scores: they cover what they say, where intervals with Θ held fixed do not."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import dcomp
from dcomp import evaluate
from dcomp.data import FeatureSpace
from dcomp.errors import UnsupportedCombination
from dcomp.evaluate.align import Alignment, similarity
from dcomp.evaluate.dispersion import dispersion
from dcomp.evaluate.intervals import learning_gamma
from dcomp.inference import MeanField
from dcomp.models import MODELS

PRIORS = {"DM": {"alpha": 0.6}, "GP": {"alpha": 0.6, "beta": 0.03}}
SIZE = {"DM": 60, "GP": 1.0}


def simulated(key, seed, n_docs=40, fitted_with=0.3):
    """Counts of three components, the truth in the order of a mean-field fit, and the fit."""
    rng = np.random.default_rng(seed)
    model = MODELS[key].build(3, gamma=0.3, **PRIORS[key])
    size = np.full((n_docs, 1), SIZE[key])
    counts, scores, Theta = model.simulate(FeatureSpace.build(25), size, rng)
    model = MODELS[key].build(3, gamma=fitted_with, **PRIORS[key])
    fit = dcomp.fit(counts, model, MeanField(), max_iter=300, tol=1e-6, seed=seed, warn=False)
    like = similarity(fit.Theta.astype(float), Theta, counts.features.blocks)
    return counts, scores[:, Alignment.from_similarity(like).permutation], fit


def covered(truth, low, high):
    return float(((low <= truth) & (truth <= high)).mean())


@pytest.mark.parametrize("key", PRIORS)
def test_ninety_per_cent_is_ninety_per_cent(key):
    """Of 1,200 scores in ten corpora. `benchmarks/intervals.py` has more of them."""
    whole, fixed = [], []
    for seed in range(10):
        counts, truth, fit = simulated(key, seed)
        found = evaluate.intervals(fit, counts, n_draws=60, seed=seed)
        whole.append(covered(truth, found.low, found.high))
        drawn = fit.sample_scores(counts, n_draws=300, keep_draws=True, seed=seed).draws
        fixed.append(covered(truth, *np.quantile(drawn, [0.05, 0.95], axis=0)))
    assert 0.87 <= np.mean(whole) <= 0.93
    assert np.mean(fixed) < np.mean(whole) - 0.005


def test_a_prior_of_loadings_that_does_not_suit_is_learned_along():
    """γ = 0.01 where 0.3 made the table: held at that, intervals hold half of the shares."""
    held = []
    for seed in range(4):
        counts, truth, fit = simulated("DM", seed, fitted_with=0.01)
        found = evaluate.intervals(fit, counts, n_draws=60, seed=seed)
        held.append(covered(truth, found.low, found.high))
    assert np.mean(held) >= 0.82


def test_kept_draws_of_another_gamma_than_they_look_like():
    """Said where intervals are too narrow for it, and only there."""
    counts, _, _ = simulated("DM", 0)
    how = {"algorithm": "collapsed-gibbs", "max_iter": 80, "n_draws": 30, "verbose": 0}
    told = dcomp.LDA(3, gamma=0.005, **how).fit(counts)
    with pytest.warns(dcomp.DataWarning, match=r"gamma = 0.005, and their loadings look like 0\."):
        evaluate.intervals(told, counts)
    for gamma in (0.3, "auto"):
        fit = dcomp.LDA(3, gamma=gamma, **how).fit(counts)
        with warnings.catch_warnings():
            warnings.simplefilter("error", dcomp.DataWarning)
            evaluate.intervals(fit, counts)


def test_counts_that_vary_more_than_the_model_has_it_are_said_to():
    """Each word three times: three times the variance, and shares no better known than by a third
    of the words. Of counts that are as the model has them nothing is said."""
    counts, _, fit = simulated("DM", 0)
    bursty = dcomp.Counts.from_matrix(3 * counts.to_scipy().toarray())
    with pytest.warns(dcomp.DataWarning, match=r"counts vary [23]\.\d times as much"):
        found = evaluate.intervals(dcomp.LDA(3, verbose=0).fit(bursty), bursty, n_draws=20)
    assert 2.3 < found.dispersion < 3.7
    assert "too narrow, and not to be quoted" in str(found)
    with warnings.catch_warnings():
        warnings.simplefilter("error", dcomp.DataWarning)
        plain = evaluate.intervals(fit, counts, n_draws=20)
    assert 0.8 < plain.dispersion < 1.3
    assert "too narrow" not in str(plain)


def test_dispersion_is_within_blocks_and_of_cells_that_expect_a_word():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(2), 80)
    Theta = np.concatenate([rng.dirichlet(np.full(6, 2.0), 2).T for _ in range(5)])  # (30, 2)
    parts = [rng.multinomial(40, Theta[6 * g : 6 * g + 6] @ m) for m in shares for g in range(5)]
    X = np.array(parts).reshape(80, 30)
    blocks = np.repeat(np.arange(5), 6)
    once, twice = (dcomp.Counts.from_matrix(t * X, blocks=blocks) for t in (1, 2))
    assert dispersion(once, shares, Theta) == pytest.approx(1, abs=0.1)
    assert dispersion(twice, shares, Theta) == pytest.approx(2, abs=0.2)
    rare = dcomp.Counts.from_matrix((X > 12).astype(int), blocks=blocks)
    assert np.isnan(dispersion(rare, shares, Theta))


def test_maximum_likelihood_has_no_such_intervals():
    """Chains need priors that it has not: theirs held a quarter of the planted ancestries."""
    counts, _, _ = simulated("DM", 0)
    fit = dcomp.DCA(3, algorithm="ml", verbose=0).fit(counts)
    with pytest.raises(UnsupportedCombination, match="a fit by ml has no priors"):
        evaluate.intervals(fit, counts)


def test_a_prior_for_every_feature_is_kept():
    gamma = np.full(25, 0.3)
    gamma[0] = 2.0
    counts, _, _ = simulated("DM", 0)
    fit = dcomp.LDA(3, gamma=gamma, verbose=0).fit(counts).fit_
    assert learning_gamma(fit) is fit.model
    assert learning_gamma(dcomp.LDA(3, verbose=0).fit(counts).fit_).loadings.learned


@pytest.fixture(scope="module")
def planted_fit():
    rng = np.random.default_rng(2)
    Theta = rng.dirichlet(np.full(30, 0.2), 3).T
    M = rng.dirichlet(np.full(3, 0.5), 60)
    X = np.array([rng.multinomial(80, Theta @ m) for m in M])
    ids = [f"d{i}" for i in range(60)]
    counts = dcomp.Counts.from_matrix(X, doc_ids=ids)
    how = {"algorithm": "collapsed-gibbs", "max_iter": 300, "n_draws": 60, "n_chains": 4}
    return counts, dcomp.LDA(3, alpha=0.5, **how, verbose=0).fit(counts)


def test_chains_are_aligned(planted_fit):
    """Chains from random starts number their components otherwise; the intervals do not see it."""
    counts, model = planted_fit
    draws = model.fit_.draws
    order = evaluate.align_chains(model.fit_).permutations
    assert any(list(row) != [0, 1, 2] for row in order)
    found = evaluate.intervals(model, counts)
    assert (found.n_chains, found.n_draws) == (4, 60)
    assert found.settled > 0.9
    assert found.stability.min() > 0.95
    # The fit shows one of the chains, the intervals all of them.
    np.testing.assert_allclose(found.mean, model.fit_.scores, atol=0.06)
    assert draws.scores.reshape(240, 60, 3).std(axis=0).mean() > 1.5 * found.sd.mean()
    assert (found.low <= found.mean).all()
    assert (found.mean <= found.high).all()


def test_groups_keep_what_their_documents_share(planted_fit):
    counts, model = planted_fit
    groups = ["a"] * 20 + [7] * 40
    found = evaluate.intervals(model, counts, groups=groups)
    of = found.groups
    assert (of.names, of.kind) == (("a", "7"), "group")
    np.testing.assert_allclose(of.mean[0], found.mean[:20].mean(axis=0), atol=1e-5)
    # Surer than a document, but not as sure as if nothing were shared.
    alone = np.sqrt((found.sd[20:] ** 2).sum(axis=0)) / 40
    assert (of.sd[1] < found.sd[20:].mean(axis=0)).all()
    assert (of.sd[1] > alone).all()
    assert found.row("d3") == found.row(3) == 3
    with pytest.raises(dcomp.InvalidParameter, match="label per document, 60; got 2"):
        evaluate.intervals(model, counts, groups=["a", "b"])
    with pytest.raises(dcomp.InvalidParameter, match="there is no group 'c'"):
        of.row("c")


def test_new_documents_and_those_that_were_fitted_agree(planted_fit):
    """The same words without the fit's own draws of their scores: by sampling with each Θ."""
    counts, model = planted_fit
    own = evaluate.intervals(model, counts)
    copies = dcomp.Counts.from_matrix(counts.to_scipy().toarray()[:10])
    new = evaluate.intervals(model, copies)
    np.testing.assert_allclose(new.mean, own.mean[:10], atol=0.05)
    np.testing.assert_allclose(new.sd, own.sd[:10], rtol=0.35, atol=0.01)


def test_a_fit_without_draws_needs_its_table():
    counts, _, fit = simulated("GP", 3)
    new = counts.rows(slice(0, 4))
    with pytest.raises(dcomp.InvalidParameter, match="give those as train="):
        evaluate.intervals(fit, new)
    how = {"n_draws": 20, "burn_in": 20}
    found = evaluate.intervals(fit, new, train=counts, shares=True, **how)
    assert found.shares
    assert found.mean.shape == (4, 3)
    np.testing.assert_allclose(found.mean.sum(axis=1), 1, atol=1e-5)
    again = evaluate.intervals(fit, new, train=counts, shares=True, n_jobs=1, **how)
    np.testing.assert_array_equal(found.low, again.low)


def test_exact_zeros_have_an_interval_that_begins_there():
    rng = np.random.default_rng(1)
    X = rng.poisson(np.repeat([[9.0, 8, 0.1, 0.1], [0.1, 0.1, 9, 9]], 15, axis=0))
    model = dcomp.DCA(2, model="CGP", max_iter=60, n_chains=1, verbose=0).fit(X)
    found = evaluate.intervals(model, X, n_draws=40)
    assert (found.low == 0).any()
    assert (found.mean[found.low > 0] > 5).all()


def test_what_is_shown(planted_fit):
    counts, model = planted_fit
    found = evaluate.intervals(model, counts)
    said = str(found)
    assert max(map(len, said.splitlines())) <= 80
    assert "90 % intervals of shares, 4 chains of 60 draws" in said
    assert "and so on for 60 documents" in said
    frame = found.to_frame()
    assert frame.loc[("d5", 2), "high"] == found.high[5, 2]
    assert list(frame.columns) == ["mean", "sd", "low", "high", "rhat", "quotable"]


def test_next_to_nothing_is_shown_as_0(planted_fit):
    counts, model = planted_fit
    found = evaluate.intervals(model, counts)
    mean, low = found.mean.copy(), found.low.copy()
    mean[0, 0], low[0, 0] = 2e-6, 1.18e-38
    said = str(replace(found, mean=mean, low=low)).splitlines()[3].split()
    assert (said[2], said[4]) == ("2e-06", "0")
    small = [1e-9 * x for x in (found.mean, found.sd, found.low, found.high)]  # all of them are
    scaled = replace(found, **dict(zip(("mean", "sd", "low", "high"), small, strict=True)))
    assert float(str(scaled).splitlines()[3].split()[2]) > 0


def test_what_cannot_be(planted_fit):
    counts, model = planted_fit
    with pytest.raises(dcomp.InvalidParameter, match="level must lie between 0 and 1; got 90"):
        evaluate.intervals(model, counts, level=90)
    with pytest.raises(dcomp.InvalidParameter, match="this LDA is not fitted yet"):
        evaluate.intervals(dcomp.LDA(2), counts)
    some = dcomp.LDA(2, algorithm="gibbs", n_draws=9, draws_of="scores", max_iter=20, verbose=0)
    with pytest.raises(dcomp.InvalidParameter, match="no loadings are among the kept draws"):
        evaluate.intervals(some.fit(counts), counts)


ESTIMATORS = {
    "completion": lambda f, X: evaluate.completion(f, X),
    "left_to_right": lambda f, X: evaluate.left_to_right(f, X, particles=2),
    "coherence": lambda f, X: evaluate.coherence(f, X),
    "exclusivity": lambda f, X: evaluate.exclusivity(f),
    "diagnostics": lambda f, X: evaluate.diagnostics(f),
    "independence": lambda f, X: evaluate.independence(f),
    "outliers": lambda f, X: evaluate.outliers(f, X, n_splits=1),
    "predictive_check": lambda f, X: evaluate.predictive_check(f, X, n_simulations=2),
    "score_posterior": lambda f, X: evaluate.score_posterior(f, X, n_draws=10),
    "align": lambda f, X: evaluate.align(f, f),
    "align_chains": lambda f, X: evaluate.align_chains(f),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_stands_for_its_fit(planted_fit, name):
    counts, model = planted_fit
    assert ESTIMATORS[name](model, counts) is not None
    with pytest.raises(dcomp.InvalidParameter, match="this LDA is not fitted yet"):
        ESTIMATORS[name](dcomp.LDA(2), counts)


@pytest.mark.parametrize(("K", "length"), [(12, 100), (25, 100), (20, 50)])
def test_components_that_a_document_has_no_word_of_take_no_freedom(K, length):
    """K for each document made 1.9 of 12 planted components, and nothing at all of 25."""
    rng = np.random.default_rng(0)
    Theta = rng.dirichlet(np.full(500, 0.05), K)
    X = np.array([rng.multinomial(length, m @ Theta) for m in rng.dirichlet([0.1] * K, 200)])
    fit = dcomp.LDA(K, random_state=0).fit(X).fit_
    value = dispersion(dcomp.Counts.from_matrix(X), np.asarray(fit.scores), np.asarray(fit.Theta))
    assert value == pytest.approx(1, abs=0.2)
