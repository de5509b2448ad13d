"""Alignment: what was shuffled is found again, by a similarity that is what it says."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

import dcomp
from dcomp.evaluate import Alignment, align, align_chains
from dcomp.evaluate.align import ChainAlignment
from dcomp.inference import Draw


@pytest.fixture(scope="module")
def components():
    return np.random.default_rng(0).dirichlet([0.3] * 12, size=5)


def test_a_shuffle_is_undone(components):
    order = np.array([3, 0, 4, 2, 1])
    found = align(components, components[order])
    assert np.array_equal(order[found.permutation], np.arange(5))
    np.testing.assert_allclose(found.apply(components[order], axis=0), components)
    np.testing.assert_allclose(found.similarity, 1)
    assert found.mean == pytest.approx(1)
    assert found.agreement == pytest.approx(1)
    assert found.unmatched == ([], [])
    scores = np.arange(10.0).reshape(2, 5)
    assert found.apply(scores[:, order]).tolist() == scores.tolist()


def test_it_is_the_best_of_all_matchings(components):
    rng = np.random.default_rng(1)
    found = align(components, rng.dirichlet([0.3] * 12, size=5))
    best = max(sum(found.matrix[k, p[k]] for k in range(5)) for p in permutations(range(5)))
    assert found.similarity.sum() == pytest.approx(best)
    at_random = [np.mean([found.matrix[k, p[k]] for k in range(5)]) for p in permutations(range(5))]
    assert found.chance == pytest.approx(np.mean(at_random))


def test_similarity_by_hand():
    found = align([[0.25, 0.75, 0.0]], [[0.25, 0.25, 0.5]])
    assert found.similarity[0] == pytest.approx(0.25 + np.sqrt(0.75 * 0.25))
    weights = align([[1, 3, 0]], [[2, 2, 4]])  # need not be normalised
    assert weights.similarity[0] == pytest.approx(found.similarity[0])
    hellinger = np.square(np.sqrt([0.25, 0.75, 0]) - np.sqrt([0.25, 0.25, 0.5])).sum() / 2
    assert 1 - found.similarity[0] == pytest.approx(hellinger)


def test_blocks_weigh_the_same():
    """Ten features that agree do not outweigh two that do not."""
    first = np.r_[np.full(10, 0.1), 1, 0]
    second = np.r_[np.full(10, 0.1), 0, 1]
    blocks = ["words"] * 10 + ["class"] * 2
    assert align([first], [second], blocks=blocks).similarity[0] == pytest.approx(0.5)


def test_other_numbers_of_components(components):
    finer = np.concatenate([components[[2, 0]], components[[1]] * 0.9 + 0.1 / 12])
    found = align(components, finer)
    assert found.permutation.tolist() == [1, 2, 0, -1, -1]
    assert found.unmatched == ([3, 4], [])
    assert found.belongs[:3].tolist() == [1, 2, 0]
    assert found.similarity[3] == 0
    with pytest.raises(dcomp.InvalidParameter, match="align the other way round"):
        found.apply(finer, axis=0)
    back = align(finer, components)
    assert back.permutation.tolist() == [2, 0, 1]
    assert back.unmatched == ([], [3, 4])
    np.testing.assert_allclose(back.apply(components, axis=0), components[[2, 0, 1, 3, 4]])
    np.testing.assert_allclose(back.matrix, found.matrix.T)
    assert np.array_equal(back.belongs, found.belongs)


def test_fits_and_draws(planted):
    counts, Theta = planted
    first, second = (dcomp.LDA(3, verbose=0, random_state=s).fit(counts).fit_ for s in (0, 1))
    truth = align(Theta.T, first)
    assert truth.similarity.min() > 0.97
    assert align(first, second).mean > 0.99
    draw = Draw(1, {}, Theta=second.Theta)
    assert np.array_equal(align(first, draw).permutation, align(first, second).permutation)
    with pytest.raises(dcomp.InvalidParameter, match="draw with loadings; it has none"):
        align(first, replace(draw, Theta=None))
    fewer = dcomp.LDA(2, verbose=0).fit(counts.columns(slice(0, 20))).fit_
    with pytest.raises(
        dcomp.InvalidParameter, match="of the two fits the first has 30 and the second 20"
    ):
        align(first, fewer)


def test_fits_of_other_features_say_what_differs():
    X = [[3, 1, 0], [0, 1, 4]]
    plain = dcomp.LDA(2, verbose=0).fit(X).fit_
    counts = dcomp.Counts.from_matrix(X, feature_names=["a", "b", "c"])
    named = dcomp.LDA(2, verbose=0).fit(counts).fit_
    with pytest.raises(dcomp.InvalidParameter, match="first has names of features and the second"):
        align(named, plain)
    other = dcomp.LDA(2, verbose=0).fit(counts.with_features(["a", "c", "b"])).fit_
    with pytest.raises(dcomp.InvalidParameter, match="at number 1 'b' in the first and 'c' in"):
        align(named, other)


def test_the_blocks_of_a_fit_are_those_of_its_features(planted):
    counts = planted[0].with_blocks(["a"] * 10 + ["b"] * 20)
    fit = dcomp.LDA(3, verbose=0).fit(counts).fit_
    np.testing.assert_allclose(align(fit, fit).similarity, 1, rtol=1e-5)
    other = np.random.default_rng(0).random((2, 30))
    expected = align(fit.components, other, blocks=counts.features.blocks)
    for found in (align(fit, other), align(other, fit)):
        np.testing.assert_allclose(np.sort(found.matrix, None), np.sort(expected.matrix, None))
    plain = align(fit.components, other)
    assert np.abs(plain.matrix - expected.matrix).max() > 0.01


def test_words():
    text = str(Alignment.from_similarity(np.array([[0.2], [0.9]])))
    assert text == "mean similarity 0.900 (at random 0.550); 0: – (0.00), 1: 0 (0.90)"


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ([[1.0, 2.0]], "reference has 3, other 2"),
        ([1.0, 2.0, 3.0], r"components \(K, J\); got shape \(3,\)"),
        ([[1.0, -2.0, 0.0]], "other must have non-negative, finite loadings"),
        ([[1.0, np.inf, 0.0]], "other must have non-negative, finite loadings"),
        ([[1.0, np.nan, 0.0]], "other must have non-negative, finite loadings"),
    ],
)
def test_what_is_refused(other, message):
    with pytest.raises(dcomp.InvalidParameter, match=message):
        align([[0.2, 0.3, 0.5]], other)
    with pytest.raises(dcomp.InvalidParameter, match="blocks must be one per feature"):
        align([[1.0, 2.0]], [[1.0, 2.0]], blocks=[0])
    with pytest.raises(dcomp.InvalidParameter, match="must have the 2 components of other"):
        Alignment.from_similarity(np.eye(2)).apply(np.zeros(3))


@pytest.fixture(scope="module")
def sampled(planted):
    sampler = dcomp.LDA(
        3, algorithm="collapsed-gibbs", max_iter=60, n_draws=8, n_chains=3, verbose=0
    )
    return sampler.fit(planted[0]).fit_


def test_chains_of_a_fit(sampled):
    chains = align_chains(sampled)
    draws = sampled.draws
    assert chains.permutations[draws.best].tolist() == [0, 1, 2]
    np.testing.assert_allclose(chains.similarity[draws.best], 1)
    assert chains.mean > 0.98 > chains.chance
    Theta = chains.apply(draws.Theta)
    for c in range(3):
        assert np.abs(Theta[c].mean(axis=0) - Theta[draws.best].mean(axis=0)).max() < 0.03
        assert np.array_equal(Theta[c], draws.Theta[c][..., chains.permutations[c]])
    assert np.array_equal(
        chains.apply(draws.alpha, axis=2)[1], draws.alpha[1][:, chains.permutations[1]]
    )
    last = draws.alpha[:, -1]  # (chain, component): either way to name the axis
    assert np.array_equal(chains.apply(last, axis=1)[1], last[1][chains.permutations[1]])
    assert np.array_equal(chains.apply(last), chains.apply(last, axis=1))
    for wrong in ((draws.Theta[0], -1), (last[:2], -1), (last, 0), (last, -2)):
        with pytest.raises(dcomp.InvalidParameter, match="first axis must be the 3 chains"):
            chains.apply(*wrong)
    assert "3 chains" in str(chains)


def test_the_reference_says_nothing_of_stability():
    """A chain is always like itself: only the others count, for similarity and for chance."""
    first, last = np.array([[0.8, 0.3], [0.1, 0.6]]), np.array([[0.1, 0.4], [0.2, 0.1]])
    chains = ChainAlignment(tuple(map(Alignment.from_similarity, (first, np.eye(2), last))), best=1)
    assert chains.permutations.tolist() == [[0, 1], [0, 1], [1, 0]]
    np.testing.assert_allclose(chains.stability, [(0.8 + 0.4) / 2, (0.6 + 0.2) / 2])
    assert chains.mean == pytest.approx(0.5)
    assert chains.chance == pytest.approx((first.mean() + last.mean()) / 2)


def test_chains_that_cannot_be_aligned(planted):
    options = {"algorithm": "collapsed-gibbs", "max_iter": 20, "verbose": 0, "n_draws": 2}
    one = dcomp.LDA(2, **options).fit(planted[0]).fit_
    with pytest.raises(dcomp.InvalidParameter, match="there must be 2"):
        align_chains(one)
    assert len(align_chains(dcomp.LDA(2, **options, n_chains=2).fit(planted[0]).fit_).chains) == 2
    scores = dcomp.LDA(2, **options, n_chains=2, draws_of=("scores",)).fit(planted[0]).fit_
    with pytest.raises(dcomp.InvalidParameter, match="no loadings are among"):
        align_chains(scores)
    with pytest.raises(dcomp.InvalidParameter, match="no draws were kept"):
        align_chains(dcomp.LDA(2, verbose=0).fit(planted[0]).fit_)
