"""First gains of moves are bounds, and differences of whole scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dcomp.inference.climb.forest import Proposal
from dcomp.inference.climb.moves import first_gains, start_of
from dcomp.inference.climb.refine import refine
from dcomp.inference.climb.search import _climb, _climbed, _proposals
from dcomp.reference import structure_score as reference

GAMMA = 0.05


def test_first_gains_are_bounds_that_refinement_keeps(planted_leaves, forest_of):
    forest = forest_of(planted_leaves([3, 3, 1], 0.4, J=200, seed=8))
    _climb(forest, limit=8, least=0.01)  # one internal node, and what can go below it
    assert len(forest.tops()) < 6
    for kind in ("join", "attach"):
        moves = [move for move in _proposals(forest) if move.kind == kind]
        assert moves
        for move, first in first_gains(forest, moves):
            gain, tree = refine(forest, move)
            before = sum(part.score for part in forest.involved(move))
            assert tree.score - before >= first - 1e-6
            assert gain in (-np.inf, pytest.approx(tree.score - before))


def test_a_first_gain_is_a_difference_of_whole_scores(planted_leaves, forest_of):
    """The cells of a join, with everything else held, against the reference on all words."""
    n = planted_leaves([2], 0.4, J=80, N=800, seed=9).astype(float)
    forest = forest_of(n, blocks=np.arange(80) % 2)
    start = start_of(forest, [Proposal("join", 0, 1)])
    g = start.problems.weights(start.W)
    gain = float((start.problems.score(g) - start.before)[0])
    both = start.features[0]
    r = np.zeros((2, 3, 80))
    r[[0, 1], [0, 1]] = 1
    share = g[0] / (g[0] + g[1:])
    r[:, 2, both] = share
    r[[0, 1], [0, 1]] -= r[:, 2]
    gamma, blocks = np.full(80, GAMMA), np.arange(80) % 2
    phi = reference.best_phi([2, 2, -1], reference.words(n, r), 2)
    whole = reference.score(n, r, reference.stops([2, 2, -1], phi, 2), gamma, blocks)
    assert gain == pytest.approx(whole - forest.flat_score, rel=1e-9)


def test_a_first_gain_of_an_attachment_is_one_too(planted_leaves, forest_of):
    n = planted_leaves([3], 0.4, J=80, N=800, seed=10).astype(float)
    forest = forest_of(n)
    gain, tree = refine(forest, Proposal("join", 0, 1))
    forest.accept(Proposal("join", 0, 1), tree, gain)
    start = start_of(forest, [Proposal("attach", 2, 3)])
    g = start.problems.weights(start.W)
    found = float((start.problems.score(g) - start.before)[0])
    held = _climbed(forest)
    r = np.zeros((3, 4, 80))
    for c in range(2):
        r[c, list(held.path(c))] = held.responsibilities(c)
    r[2, 3, start.features[0]] = g[0] / g.sum(axis=0)
    r[2, 2] = 1 - r[2, 3]
    gamma, blocks, parents = np.full(80, GAMMA), np.zeros(80, dtype=int), [3, 3, 3, -1]
    phi = reference.best_phi(parents, reference.words(n, r), 3)
    whole = reference.score(n, r, reference.stops(parents, phi, 3), gamma, blocks)
    assert found == pytest.approx(whole - forest.score, rel=1e-8)


def test_nodes_below_a_node_where_all_words_stop(planted_leaves, forest_of):
    """Equal leaves: every node but the top is empty, and what goes below one finds it so."""
    forest = forest_of(np.repeat(planted_leaves([1], 0.0, J=50, N=500), 5, axis=1))
    moves = [Proposal("join", 0, 1), Proposal("join", 2, 3), Proposal("attach", 5, 6)]
    for move in moves:
        gain, tree = refine(forest, move)
        assert gain > 1
        forest.accept(move, tree, gain)
    tree = forest.trees[6]
    below = tree.nodes.index(5)
    assert tree.N[below] + tree.M[below] < 1e-9
    W, N, M = (np.where(x < 1e-9, 0.0, x) for x in (tree.W, tree.N, tree.M))
    forest.trees[6] = replace(tree, W=W, N=N, M=M)  # as after a jump of every feature
    move = Proposal("attach", 4, 5)
    [(_, first)] = first_gains(forest, [move])
    gain, refined = refine(forest, move)
    assert np.isfinite([first, refined.score]).all()
    assert gain == -np.inf  # node 5 has nothing to share: node 6 has
    [(_, first)] = first_gains(forest, [Proposal("attach", 4, 6)])
    assert first > 1
