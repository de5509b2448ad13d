"""Sums over renumberings against listing them all."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from dcomp.evaluate import labels
from dcomp.evaluate.labels import draw_labels, label_sum, labels_of
from dcomp.models import DirichletScores, Tree, TreeScores


def listed(A, group=None):
    group = itertools.permutations(range(len(A))) if group is None else group
    return {sigma: A[np.arange(len(A)), list(sigma)].sum() for sigma in group}


@pytest.mark.parametrize("scale", [0.1, 3.0, 40.0, 1000.0])
@pytest.mark.parametrize("K", [1, 2, 5, 6])
def test_a_sum_is_that_of_all_renumberings(K, scale):
    A = scale * np.random.default_rng(K).normal(size=(K, K)) - 500
    A[K // 2] = 0  # a component without words
    found = label_sum(A)
    assert found.low == found.high == pytest.approx(logsumexp(list(listed(A).values())), abs=1e-9)


def test_draws_have_their_probability():
    A = np.random.default_rng(0).normal(size=(3, 3))
    every = listed(A)
    p = np.exp(np.array(list(every.values())) - logsumexp(list(every.values())))
    rng = np.random.default_rng(1)
    for draw in (draw_labels, labels._draw_by_swaps):
        drawn = [tuple(draw(A, rng)) for _ in range(400)]
        share = np.array([drawn.count(sigma) for sigma in every]) / len(drawn)
        np.testing.assert_allclose(share, p, atol=4 * np.sqrt(0.25 / len(drawn)))


def test_many_that_are_alike_have_bounds(monkeypatch):
    A = np.random.default_rng(0).normal(size=(6, 6))
    exact = label_sum(A).low
    monkeypatch.setattr(labels, "MOST", 3)
    rough = label_sum(A)
    assert rough.low <= exact <= rough.high
    assert rough.low < rough.high
    assert sorted(draw_labels(A, np.random.default_rng(0))) == list(range(6))


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_sums_that_are_drawn_from_are_right_in_the_mean(monkeypatch, scale):
    """exp(low) and exp(−high), of a few draws each; and would notice a twentieth of a nat."""
    A = scale * np.random.default_rng(0).normal(size=(6, 6))
    exact = label_sum(A).low
    monkeypatch.setattr(labels, "MOST", 3)
    monkeypatch.setattr(labels, "_DRAWS", 4)
    rng = np.random.default_rng(1)
    found = [label_sum(A, rng) for _ in range(500)]
    for logs in (
        np.array([one.low for one in found]) - exact,
        exact - np.array([one.high for one in found]),
    ):
        ratio = np.exp(logs)
        error = ratio.std(ddof=1) / np.sqrt(len(ratio))
        assert abs(ratio.mean() - 1) < 4 * error
        assert error < 0.0125


def test_many_unequal_priors_have_a_sum_to_the_second_digit():
    """Learned α of 24 components: a bound from either side was 20 to 36 nats off."""
    rng = np.random.default_rng(2)
    alpha, present = rng.uniform(0.07, 0.17, 24), rng.poisson(30, 24)
    A = present[:, None] * np.log(alpha) - 3 * present.mean() * alpha
    drawn = [label_sum(A, np.random.default_rng(seed)) for seed in range(3)]
    ends = [end for one in drawn for end in (one.low, one.high)]
    assert max(ends) - min(ends) < 0.05
    bounds = label_sum(A)
    assert bounds.low + 5 < min(ends)
    assert max(ends) < bounds.high - 5


def test_far_and_equal_components():
    far = 1e5 * np.eye(40)
    assert label_sum(far).low == label_sum(far).high == 40e5
    assert label_sum(np.zeros((30, 30))).low == pytest.approx(gammaln(31))
    assert draw_labels(far[::-1], np.random.default_rng(0)).tolist() == list(range(39, -1, -1))


def test_a_tree_keeps_its_edges():
    """Two subtrees of two leaves each, and a leaf on its own: 2 · 2 · 2 renumberings."""
    scores = TreeScores.build(Tree.from_parents([-1, 0, 0, 1, 1, 2, 2, 0]))
    group = [
        (0, *top, *left, *right, 7)
        for top, pairs in (((1, 2), ((3, 4), (5, 6))), ((2, 1), ((5, 6), (3, 4))))
        for left in itertools.permutations(pairs[0])
        for right in itertools.permutations(pairs[1])
    ]
    A = 0.3 * np.random.default_rng(0).normal(size=(8, 8))
    every, of = listed(A, group), labels_of(scores)
    assert of.sum(A).low == pytest.approx(logsumexp(list(every.values())))
    rng = np.random.default_rng(2)
    assert {tuple(of.draw(A, rng)) for _ in range(300)} == set(group)
    uneven = scores.with_values(b=np.array([1, 0.5, 0.7, 0.5, 0.5, 0.5, 0.5, 0.3]))
    assert np.exp(labels_of(uneven).sum(np.zeros((8, 8))).low) == pytest.approx(4)
    assert not labels_of(DirichletScores.build(3, 0.1)).keeps_prior
