"""Predictive checks: silent on data from the model, loud on data that are not."""

from __future__ import annotations

import numpy as np
import pytest

import dcomp
from dcomp.evaluate import predictive_check


def fit_to(X, **options):
    options = {"verbose": 0, "max_iter": 100, "tol": 0, "gamma": 0.5} | options
    return dcomp.DCA(2, **options).fit(X).fit_


def test_statistics_of_the_observed_counts():
    X = np.array([[3, 0, 1], [0, 0, 0], [1, 1, 0]])
    check = predictive_check(fit_to(X, model="GP"), X, n_simulations=5)
    assert check["mean length"].observed == pytest.approx(2)
    assert check["spread of length"].observed == pytest.approx(np.std([4, 0, 2]))
    assert check["share of empty documents"].observed == pytest.approx(1 / 3)
    assert check["share of zeros"].observed == pytest.approx(5 / 9)
    assert check["distinct features"].observed == pytest.approx(4 / 3)
    assert check["largest count"].observed == 3
    expected = np.mean(X.var(axis=0) / X.mean(axis=0))
    assert check["variance / mean of features"].observed == pytest.approx(expected)


@pytest.mark.parametrize("blocks", [None, [0] * 10 + [1] * 10])
@pytest.mark.parametrize("model", ["DM", "GP", "CGP"])
def test_data_of_the_model_pass(model, blocks):
    """Ten numbers at most, each with a tail of 2 % or less in one case of fifty: fixed seeds."""
    rng = np.random.default_rng(5)
    options = {"alpha": 0.6} if model == "DM" else {"alpha": 0.6, "beta": 0.02}
    if model == "CGP":
        options["rho"] = 0.2
    build = dcomp.models.MODELS[model].build(2, gamma=0.5, **options)
    features = dcomp.data.FeatureSpace.build(20, blocks=blocks)
    size = np.full(200, 40) if model == "DM" else np.full(200, 1.0)
    X = build.simulate(features, size, rng)[0]
    check = predictive_check(fit_to(X, model=model, **options), X, n_simulations=100)
    assert min(row.tail for row in check.statistics) > 0.02
    assert ("mean length" in str(check)) == (model != "DM")


def test_lengths_that_are_no_mixture_of_poissons():
    """Every document has exactly 40 words: no gamma-Poisson model has lengths so even."""
    rng = np.random.default_rng(0)
    X = np.array([rng.multinomial(40, p) for p in rng.dirichlet(np.ones(10), size=100)])
    check = predictive_check(fit_to(X, model="GP"), X)
    assert check["spread of length"].is_outside
    assert check["spread of length"].tail < 0.03
    assert not check["mean length"].is_outside


def test_words_that_come_in_bursts():
    """Each document repeats few words: more zeros and larger counts than components explain."""
    rng = np.random.default_rng(0)
    X = np.array([rng.multinomial(40, p) for p in rng.dirichlet(np.full(30, 0.05), size=150)])
    check = predictive_check(fit_to(X), X)
    for name in ("share of zeros", "distinct features", "variance / mean of features"):
        assert check[name].is_outside, name
    assert check["share of zeros"].observed > check["share of zeros"].high


def test_seeds_and_errors():
    X = np.random.default_rng(0).poisson(1.0, (10, 5))
    fitted = fit_to(X)
    one, same = (predictive_check(fitted, X, n_simulations=10, seed=3) for _ in range(2))
    assert one.statistics == same.statistics
    assert one.statistics != predictive_check(fitted, X, n_simulations=10).statistics
    with pytest.raises(dcomp.InvalidParameter, match="n_simulations"):
        predictive_check(fitted, X, n_simulations=0)
    with pytest.raises(dcomp.InvalidCounts, match="needs documents with tokens"):
        predictive_check(fitted, np.zeros((2, 5), int))
