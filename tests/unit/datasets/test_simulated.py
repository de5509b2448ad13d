"""Tables of every model have the truth that they say they were drawn from."""

from __future__ import annotations

import numpy as np
import pytest

import dcomp
from dcomp import datasets
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.models import MODELS, DirichletMultinomial, GammaPoisson


@pytest.mark.parametrize("key", MODELS)
def test_every_model_has_tables(key):
    table = datasets.simulate(key, 60, 40, length=50, seed=3)
    K = table.model.n_components
    assert table.model.key == key
    assert table.counts.shape == (60, 40)
    assert table.scores.shape == (60, K)
    assert table.components.shape == (K, 40)
    np.testing.assert_allclose(table.components.sum(axis=1), 1)
    assert (table.exposure is None) is not table.model.has_exposure
    assert not table.components.flags.writeable
    again = datasets.simulate(key, 60, 40, length=50, seed=3)
    assert again.counts == table.counts
    assert datasets.simulate(key, 60, 40, length=50, seed=4).counts != table.counts


@pytest.mark.parametrize("key", MODELS)
def test_words_follow_the_truth(key):
    """Pearson's statistic of words against what scores and components expect: not of others."""
    table = datasets.simulate(key, 400, 30, length=200, gamma=1.0, seed=5)
    W = table.counts.to_scipy().toarray()
    totals = 1.0 if table.model.has_exposure else table.counts.doc_totals[:, np.newaxis]

    def misfit(scores):
        mean = totals * scores @ table.components
        variance = mean if table.model.has_exposure else mean * (1 - mean / totals)
        usual = mean > 1
        return ((W - mean)[usual] ** 2 / variance[usual]).mean()

    assert misfit(table.scores) == pytest.approx(1, abs=0.1)
    assert misfit(np.roll(table.scores, 1, axis=1)) > 2


def test_lengths_are_those_that_were_asked_for():
    lengths = np.arange(50)
    assert datasets.simulate("DM", 50, 10, length=lengths).counts.doc_totals.tolist() == [*lengths]
    gp = datasets.simulate("GP", 4000, 20, length=80, n_components=4, alpha=2.0)
    assert gp.counts.doc_totals.mean() == pytest.approx(80, rel=0.03)
    watched = np.repeat([1.0, 3.0], 2000)
    rates = datasets.simulate("GP", 4000, 20, exposure=watched, n_components=4, alpha=2.0)
    totals = rates.counts.doc_totals
    assert totals[2000:].mean() / totals[:2000].mean() == pytest.approx(3, rel=0.05)
    np.testing.assert_array_equal(rates.exposure, watched)


def test_blocks_and_options_reach_the_model():
    blocks = ["title"] * 5 + ["body"] * 15
    table = datasets.simulate("lda", 30, 20, length=np.tile([3, 40], (30, 1)), blocks=blocks)
    assert table.counts.block_totals.tolist() == [[3, 40]] * 30
    np.testing.assert_allclose(table.components[:, :5].sum(axis=1), 1)
    zeros = datasets.simulate("CGP", 2000, 10, n_components=2, rho=[0.2, 0.7])
    np.testing.assert_allclose((zeros.scores == 0).mean(axis=0), [0.2, 0.7], atol=0.05)
    tree = datasets.simulate("TM", 10, 20, branching=3, depth=2)
    assert tree.model.n_components == 4
    made = datasets.simulate(DirichletMultinomial.build(3, alpha=0.4), 10, 20)
    assert made.model.scores.alpha.tolist() == [0.4] * 3


def test_a_fit_finds_the_truth():
    table = datasets.simulate("DM", 200, 40, length=100, n_components=3, alpha=0.2)
    fit = dcomp.LDA(3, verbose=0).fit(table.counts)
    shared = np.corrcoef(np.r_[fit.components_, table.components])[:3, 3:]
    assert (shared.max(axis=0) > 0.98).all()


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"n_docs": 0}, InvalidParameter, "n_docs must be a whole number"),
        ({"length": -1}, InvalidParameter, "length must be a whole number of at least 0"),
        ({"length": 1.5}, InvalidParameter, "length must be a whole number"),
        ({"length": [1, 2]}, InvalidParameter, "for each of 200 documents"),
        ({"length": float("nan")}, InvalidParameter, "length must be"),
        ({"exposure": 1}, UnsupportedCombination, "takes lengths as given"),
        ({"model": "GP", "length": [1] * 200}, UnsupportedCombination, "lengths are random"),
        ({"model": "GP", "length": 9, "beta": 1.0}, InvalidParameter, "length has no effect"),
        ({"model": "GP", "length": -9}, InvalidParameter, "length must be"),
        ({"model": "nmf"}, InvalidParameter, "a flat prior"),
        ({"rho": 0.3}, UnsupportedCombination, "rho has no meaning for model DM"),
        ({"model": GammaPoisson.build(2), "alpha": 1.0}, InvalidParameter, "has its priors"),
        ({"model": GammaPoisson.build(2), "length": 9}, InvalidParameter, "no effect"),
        ({"seed": -1}, InvalidParameter, "seed must be"),
    ],
)
def test_wrong_wishes_are_told(options, error, says):
    with pytest.raises(error, match=says):
        datasets.simulate(**options)
