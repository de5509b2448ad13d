"""Words of leaves with a hierarchy in them, for the tests of hill climbing."""

from __future__ import annotations

import numpy as np
import pytest

from dcomp.inference.climb.forest import Forest, WordPrior

GAMMA = 0.05


@pytest.fixture
def planted_leaves():
    """A function: leaves of these families, with φ of their words from the family's parent."""
    return _planted


@pytest.fixture
def forest_of():
    """A function: the forest of leaves n (J, K) before any move."""
    return _forest_of


def _planted(families, phi, *, J=400, N=10_000, gamma=GAMMA, seed=0):
    """n (J, K): leaves of a family share a parent that gives φ of their words; a family of one has
    none. All loadings are draws of the prior."""
    rng = np.random.default_rng(seed)
    columns = []
    for size in families:
        parent = rng.dirichlet(np.full(J, gamma))
        for _ in range(size):
            own = rng.dirichlet(np.full(J, gamma))
            theta = own if size == 1 else phi * parent + (1 - phi) * own
            columns.append(rng.multinomial(N, theta))
    return np.array(columns).T


@pytest.fixture
def three_levels():
    """Two parents of three leaves below one root, φ = 0.35 and 0.25, and a leaf of its own."""
    rng, N = np.random.default_rng(1), 10_000

    def draw():
        return rng.dirichlet(np.full(300, GAMMA))

    root, columns = draw(), []
    for _ in range(2):
        parent = draw()
        for _ in range(3):
            theta = 0.25 * root + 0.75 * (0.35 * parent + 0.65 * draw())
            columns.append(rng.multinomial(N, theta))
    columns.append(rng.multinomial(N, draw()))
    return np.array(columns).T


def _forest_of(n, gamma=GAMMA, blocks=None):
    n = np.asarray(n, dtype=float)
    return Forest(n.T, WordPrior.build(gamma, blocks, len(n)))
