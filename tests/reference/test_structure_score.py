"""The score of a forest: a bound of the exact evidence, (6) as a case, and where it is largest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from dcomp.reference import structure_score as reference

PARENTS = [3, 3, 4, 4, -1]  # ((0, 1), 2)
PHI = np.array([1.0, 1.0, 1.0, 0.4, 0.3])
BLOCKS = np.array([0, 1, 0, 0])
GAMMA = np.array([0.3, 0.7, 1.2, 0.1])


def some_shares(upsilon, J, rng):
    """r where υ allows it."""
    r = rng.gamma(0.5, 1.0, (*upsilon.shape, J)) * (upsilon > 0)[:, :, None]
    return r / r.sum(axis=1, keepdims=True)


def climbed(n, parents, phi, K, rounds=200):
    """r and φ after the two steps in turn, from r = υ."""
    upsilon = reference.stops(parents, phi, K)
    r = np.repeat(upsilon[:, :, None], len(n), axis=2)
    for _ in range(rounds):
        W = reference.words(n, r)
        phi = reference.best_phi(parents, W, K)
        upsilon = reference.stops(parents, phi, K)
        r = reference.responsibilities(W, upsilon, GAMMA, BLOCKS)
    return r, upsilon


def test_rows_of_stops_sum_to_one():
    upsilon = reference.stops(PARENTS, PHI, 3)
    np.testing.assert_allclose(upsilon.sum(axis=1), 1)
    np.testing.assert_allclose(upsilon[0], [0.7 * 0.6, 0, 0, 0.7 * 0.4, 0.3])
    np.testing.assert_allclose(upsilon[2], [0, 0, 0.7, 0, 0.3])


@pytest.mark.parametrize("seed", range(4))
def test_every_share_gives_a_bound_of_the_exact_evidence(seed):
    rng = np.random.default_rng(seed)
    n = rng.multinomial(6, np.full(12, 1 / 12)).reshape(4, 3).astype(float)
    upsilon = reference.stops(PARENTS, PHI, 3)
    exact = reference.exact_log_evidence(n, upsilon, GAMMA, BLOCKS)
    W = reference.words(n, some_shares(upsilon, 4, rng))
    shares = [some_shares(upsilon, 4, rng) for _ in range(50)]
    for _ in range(100):
        r = reference.responsibilities(W, upsilon, GAMMA, BLOCKS)
        W = reference.words(n, r)
    values = [reference.score(n, r, upsilon, GAMMA, BLOCKS) for r in [*shares, r]]
    assert max(values) < exact
    assert values[-1] > max(values[:-1])
    assert values[-1] > exact - 4  # near enough to catch a lost term


def test_without_internal_nodes_the_score_is_the_evidence():
    n = np.array([[1, 0], [2, 1], [0, 1], [0, 1]])
    flat = np.eye(2)
    r = np.repeat(flat[:, :, None], 4, axis=2)
    exact = reference.exact_log_evidence(n, flat, GAMMA, BLOCKS)
    assert reference.score(n, r, flat, GAMMA, BLOCKS) == pytest.approx(exact)


def test_formula_6_is_the_case_of_shares_without_regard_to_features():
    n = np.random.default_rng(5).poisson(4.0, (4, 3)).astype(float)
    upsilon = reference.stops(PARENTS, PHI, 3)
    r = np.repeat(upsilon[:, :, None], 4, axis=2)
    paper = reference.paper_score(n, upsilon, GAMMA, BLOCKS)
    assert reference.score(n, r, upsilon, GAMMA, BLOCKS) == pytest.approx(paper)
    W = reference.words(n, r)
    better = reference.responsibilities(W, upsilon, GAMMA, BLOCKS)
    assert reference.score(n, better, upsilon, GAMMA, BLOCKS) > paper


def test_no_step_lowers_the_score():
    n = np.random.default_rng(6).poisson(4.0, (4, 3)).astype(float)
    upsilon = reference.stops(PARENTS, PHI, 3)
    r = some_shares(upsilon, 4, np.random.default_rng(7))
    values = [reference.score(n, r, upsilon, GAMMA, BLOCKS)]
    for _ in range(30):
        W = reference.words(n, r)
        upsilon = reference.stops(PARENTS, reference.best_phi(PARENTS, W, 3), 3)
        values.append(reference.score(n, r, upsilon, GAMMA, BLOCKS))
        r = reference.responsibilities(W, upsilon, GAMMA, BLOCKS)
        values.append(reference.score(n, r, upsilon, GAMMA, BLOCKS))
    assert (np.diff(values) > -1e-10).all()
    assert values[-1] > values[0] + 1


@pytest.mark.parametrize("node", [3, 4])
def test_the_best_phi_is_the_best(node):
    rng = np.random.default_rng(8)
    n = rng.poisson(4.0, (4, 3)).astype(float)
    r = some_shares(reference.stops(PARENTS, PHI, 3), 4, rng)
    phi = reference.best_phi(PARENTS, reference.words(n, r), 3)

    def loss(value):
        other = phi.copy()
        other[node] = value
        return -reference.score(n, r, reference.stops(PARENTS, other, 3), GAMMA, BLOCKS)

    found = optimize.minimize_scalar(loss, bounds=(1e-6, 1 - 1e-6), options={"xatol": 1e-9}).x
    assert phi[node] == pytest.approx(found, abs=1e-5)


def test_where_the_steps_rest_the_shares_cannot_be_bettered():
    """The slope of the score along any way from r to another r is at most 0."""
    n = np.random.default_rng(9).poisson(4.0, (4, 3)).astype(float) + 1
    r, upsilon = climbed(n, PARENTS, PHI, 3, rounds=3000)
    base = reference.score(n, r, upsilon, GAMMA, BLOCKS)
    rng = np.random.default_rng(10)
    for _ in range(20):
        near = 0.999 * r + 0.001 * some_shares(upsilon, 4, rng)
        assert reference.score(n, near, upsilon, GAMMA, BLOCKS) < base + 1e-9
