"""B09 (6) as the score of a structure: why it cannot find one."""

from __future__ import annotations

import numpy as np
import pytest

from dcomp.inference.climb import climb, refine
from dcomp.inference.climb.forest import Proposal
from dcomp.reference import structure_score as reference

GAMMA = 0.05


def test_formula_6_accepts_nothing_where_the_bound_finds_a_hierarchy(planted_leaves):
    n = planted_leaves([3, 3, 1], 0.5, J=200)
    assert len(climb(n, GAMMA).moves) == 4
    paper = climb(n, GAMMA, score="paper")
    assert paper.moves == ()
    assert paper.parents == (-1,) * 7


def test_formula_6_is_convex_in_phi_and_the_bound_is_not(planted_leaves):
    """Below the chord everywhere, so that no φ inside is best; the bound with r free is above it
    somewhere, by the same code."""
    n = planted_leaves([2], 0.5, J=200).astype(float)
    gamma, blocks, parents = np.full(200, GAMMA), np.zeros(200, dtype=int), [2, 2, -1]
    grid = np.linspace(0, 1, 21)
    paper, bound = [], []
    for phi in grid:
        upsilon = reference.stops(parents, np.array([1, 1, phi]), 2)
        paper.append(reference.paper_score(n, upsilon, gamma, blocks))
        common = n / n.sum(axis=0)
        W = np.column_stack([n, common.min(axis=1) * n.sum()]).T
        for _ in range(100):
            r = reference.responsibilities(W, upsilon, gamma, blocks)
            W = reference.words(n, r)
        bound.append(reference.score(n, r, upsilon, gamma, blocks))

    def above_chord(values):
        chord = values[0] + grid * (values[-1] - values[0])
        return np.array(values)[1:-1] - chord[1:-1]

    assert (above_chord(paper) < 0).all()
    assert above_chord(bound).max() > 0
    assert max(bound) > max(bound[0], bound[-1])


def test_the_gain_by_formula_6_is_that_of_the_reference(planted_leaves, forest_of, monkeypatch):
    """With the grid cut to the inside of [0, 1] and ends that do not count, its value shows."""
    n = planted_leaves([2, 1], 0.5, J=60, N=500).astype(float)
    forest = forest_of(n)
    gamma, blocks = np.full(60, GAMMA), np.zeros(60, dtype=int)
    gain, tree = refine.paper_gain(forest, Proposal("join", 0, 1))
    assert gain == -np.inf
    phi = float(tree.phi[0])
    assert phi in (0.0, 1.0)
    monkeypatch.setattr(refine, "_GRID", (0.3, 0.3 + 1e-9, 0.3))
    _, tree = refine.paper_gain(forest, Proposal("join", 0, 1))
    upsilon = reference.stops([2, 2, -1], np.array([1, 1, 0.3]), 2)
    expected = reference.paper_score(n[:, :2], upsilon, gamma, blocks)
    assert tree.score == pytest.approx(expected, abs=1e-4)
