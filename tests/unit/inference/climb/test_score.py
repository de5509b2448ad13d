"""The score that is climbed is the reference's, and no step lowers it."""

from __future__ import annotations

import numpy as np
import pytest

from dcomp.inference.climb import climb
from dcomp.inference.climb.score import Problems
from dcomp.reference import structure_score as reference

GAMMA = 0.05


def tree_problem(n, gamma, blocks):
    """((0, 1), 2) as one problem, and its parents as the reference numbers nodes."""
    rows = np.zeros((5, len(n)))
    rows[[2, 3, 4]] = n.T
    G = blocks.max() + 1
    total = np.bincount(blocks, gamma, G)[None]
    held = np.zeros((5, 1, G))
    whole = Problems(
        (-1, 0, 1, 1, 0), rows, np.zeros_like(rows), blocks, gamma, total, held, held[:, :, 0]
    )
    return whole, [4, 4, 3, -1, 3], [2, 3, 4, 0, 1]  # reference node -> row


def dense_shares(whole, g, order, parents):
    """r (K, H, J) of the reference from weights g."""
    r = np.zeros((3, 5, g.shape[1]))
    for c in range(3):
        path = reference.path(parents, c)
        r[c, path] = g[[order[h] for h in path]]
    return r / r.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("blocks", [None, np.arange(300) % 3])
def test_the_score_is_the_reference_s(three_levels, blocks):
    n, gamma = three_levels.astype(float), np.linspace(0.03, 0.08, 300)
    found = climb(n, gamma, blocks)
    assert len(found.moves) >= 2
    K, H = 7, len(found.parents)
    r = np.zeros((K, H, 300))
    for c in range(K):
        r[c, list(found.path(c))] = found.responsibilities(c)
    np.testing.assert_allclose(r.sum(axis=1), 1)
    ids = np.zeros(300, dtype=int) if blocks is None else blocks
    upsilon = reference.stops(found.parents, found.phi, K)
    for c in range(K):
        np.testing.assert_allclose(found.stops(c), upsilon[c, list(found.path(c))])
    assert found.score == pytest.approx(reference.score(n, r, upsilon, gamma, ids), rel=1e-11)
    phi = reference.best_phi(found.parents, reference.words(n, r), K)
    np.testing.assert_allclose(found.phi, phi, atol=1e-9)
    flat = sum(reference.log_ratio(row, gamma, ids) for row in n.T)
    assert found.flat_score == pytest.approx(flat, rel=1e-12)


def test_a_round_is_the_reference_s_and_never_lowers_the_score():
    rng = np.random.default_rng(6)
    n = rng.poisson(rng.gamma(0.3, 20.0, (30, 3))).astype(float)
    gamma, blocks = rng.uniform(0.02, 0.5, 30), rng.integers(0, 3, 30)
    whole, parents, order = tree_problem(n, gamma, blocks)
    g = rng.gamma(0.5, 1.0, (5, 30)) + 1e-6
    values = [float(whole.score(g)[0])]
    for _ in range(60):
        W = whole.place(g)
        phi = reference.best_phi(parents, W[order], 3)
        upsilon = reference.stops(parents, phi, 3)
        r = dense_shares(whole, g, order, parents)
        np.testing.assert_allclose(reference.words(n, r), W[order], atol=1e-9)
        expected = reference.score(n, r, upsilon, gamma, blocks)
        assert values[-1] == pytest.approx(expected, rel=1e-11)
        g = whole.weights(W)
        r = reference.responsibilities(W[order], upsilon, gamma, blocks)
        np.testing.assert_allclose(dense_shares(whole, g, order, parents), r, atol=1e-10)
        values.append(float(whole.score(g)[0]))
    assert (np.diff(values) > -1e-9).all()
    assert values[-1] > values[0] + 10


def test_a_jump_never_lowers_the_score_and_passes_where_rounds_rest():
    rng = np.random.default_rng(7)
    n = rng.poisson(rng.gamma(0.3, 20.0, (60, 3))).astype(float)
    whole, *_ = tree_problem(n, np.full(60, GAMMA), np.zeros(60, dtype=int))
    W = whole.place(np.ones((5, 60)))
    for _ in range(2000):
        g = whole.weights(W)
        W = whole.place(g)
    rest = float(whole.score(g)[0])
    values = [rest]
    for _ in range(10):
        g, F = whole.step(W, jump=True)
        W = whole.place(g)
        values.append(float(F[0]))
        assert values[-1] == pytest.approx(float(whole.score(g)[0]), rel=1e-12)
    assert (np.diff(values) > -1e-9).all()
    assert values[-1] > rest + 1


def test_words_with_nowhere_to_go_have_no_score():
    whole, *_ = tree_problem(np.ones((4, 3)), np.ones(4), np.zeros(4, dtype=int))
    g = np.ones((5, 4))
    g[[0, 1, 2], 1] = 0  # leaf 0's whole path
    assert float(whole.score(g)[0]) == -np.inf
