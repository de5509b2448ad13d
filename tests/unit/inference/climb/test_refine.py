"""A move with both trees free to follow."""

from __future__ import annotations

import numpy as np
import pytest

from dcomp.inference.climb.forest import Proposal
from dcomp.inference.climb.refine import (
    _leaf_words,
    _lone_score,
    _merged,
    _pushed_down,
    _tops_shared,
    _whole,
    climb_tree,
    refine,
)


def test_a_refinement_takes_the_better_start_and_ends_above_plain_rounds(planted_leaves, forest_of):
    n = planted_leaves([3, 1], 0.3, J=200, seed=1)
    forest = forest_of(n)
    gain, tree = refine(forest, Proposal("join", 0, 1))
    forest.accept(Proposal("join", 0, 1), tree, gain)
    scores = []
    for u in (2, 3):
        move = Proposal("attach", u, 4)
        shape = _merged(forest, move)
        whole, cells = _whole(forest, shape)
        rest = _lone_score(forest, shape, cells)
        starts = [make(forest, move, shape) for make in (_tops_shared, _pushed_down)]
        scores.append([climb_tree(whole, W[:, cells])[1] + rest for W in starts])
        _, tree = refine(forest, move)
        assert tree.score == pytest.approx(max(scores[-1]), rel=1e-12)
        W = starts[0][:, cells]
        for _ in range(500):
            g = whole.weights(W)
            W = whole.place(g)
        assert tree.score > float(whole.score(g)[0]) + rest + 1
    best = np.argmax(scores, axis=1)
    assert set(best) == {0, 1}  # neither start is the better one everywhere


def test_merged_trees_keep_every_word(planted_leaves, forest_of):
    forest = forest_of(planted_leaves([2, 1], 0.5, J=50, N=200))
    shape = _merged(forest, Proposal("join", 0, 2))
    n = _leaf_words(forest, shape)
    np.testing.assert_array_equal(shape.W, n)
    assert n.sum() == 400
    assert shape.parent == (-1, 0, 0)
