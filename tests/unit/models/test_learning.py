"""Learning the priors: each step finds the maximum of what it says it maximises."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from dcomp.inference.hyper import gamma_parameters, learn_rows
from dcomp.models import GammaScores, Structure
from dcomp.models.structure_rows import StickRows

CHAIN = Structure.from_parents([3, 3, 4, 4, -1])  # ((0, 1), 2): two internal nodes, 3 and 4


def test_stopping_and_going_on_are_learned_apart():
    """φ ~ Beta(1, 5) at node 3 and Beta(6, 2) at node 4 are found from the words they stop."""
    rng = np.random.default_rng(0)
    true = {3: (1.0, 5.0), 4: (6.0, 2.0)}
    S = np.zeros((4000, 5), dtype=np.int64)
    S[:, 4] = rng.binomial(60, rng.beta(*true[4], 4000))
    S[:, 2] = rng.binomial(60 - S[:, 4], 0.3)
    reach = 60 - S[:, 4] - S[:, 2]
    S[:, 3] = rng.binomial(reach, rng.beta(*true[3], 4000))
    S[:, 0] = rng.binomial(reach - S[:, 3], 0.5)
    S[:, 1] = reach - S[:, 3] - S[:, 0]
    rows = StickRows.build(CHAIN, 2.0, per_document=True, learn_psi=True)
    for _ in range(200):
        psi, capped = learn_rows(rows, S)
        rows = StickRows(CHAIN, psi, True, True)
    for node, pair in true.items():
        np.testing.assert_allclose(rows.psi[node], pair, rtol=0.15)
    assert (rows.psi[CHAIN.is_leaf] == 1).all()
    assert not capped


@pytest.mark.parametrize("beta", [0.2, 7.0])
def test_alpha_alone_is_the_maximum_for_the_given_beta(beta):
    """Draws of Gamma(0.7, β) with β known: the likelihood's maximum, found another way, and 0.7."""
    draws = np.random.default_rng(1).gamma(0.7, 1 / beta, 20_000)
    scores = GammaScores.build(1, 2.0, beta, learn_alpha=True)
    mean_log = np.log(draws).mean()
    changes, limits = gamma_parameters(scores, np.array([mean_log]), np.array([draws.mean()]))
    best = minimize_scalar(
        lambda a: gammaln(a) - a * np.log(beta) - (a - 1) * mean_log, (0.1, 1.0), tol=1e-10
    ).x
    assert changes.keys() == {"alpha"}
    assert changes["alpha"][0] == pytest.approx(best, rel=1e-6)
    assert changes["alpha"][0] == pytest.approx(0.7, rel=0.05)
    assert limits == ()
