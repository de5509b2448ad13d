"""p(query | document) exactly, for two components: what the estimates of `use.queries` aim at.

p(x | r) = Σ_c p(c | r) E[p(x | m) | c]. The counts c of a document's words over two components are
listed, and the expectation given c is an integral over one share: of Beta(a_1, a_2) for DM, and for
GP of u ~ Beta(a_1, a_2) with m_1 = (u / b_1) / (u / b_1 + (1 − u) / b_2), since l_k = G_k / b_k.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import roots_jacobi

from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray
from dcomp.models.base import moment_scores

_POINTS = 200  # of Gauss and Jacobi's rule


def exact_query_likelihood(
    model: Model, observed: Observations, Theta: FloatArray, x: FloatArray
) -> FloatArray:
    """p(x | r) of one query per document, given that some score is not 0; DM, GP or CGP, K = 2.

    >>> from dcomp.data import Counts
    >>> from dcomp.models import DirichletMultinomial
    >>> observed = Observations.build(Counts.from_matrix([[1, 0]]))
    >>> Theta = np.array([[1.0, 0.0], [0.0, 1.0]])  # of two words, each the other's opposite
    >>> model = DirichletMultinomial.build(2, alpha=1.0)
    >>> exact_query_likelihood(model, observed, Theta, np.array([1, 0])).round(6)  # E[m_1] = 2/3
    array([0.666667])
    """
    dense = observed.counts.to_scipy().toarray()
    return np.array(
        [
            _one(model, row, observed.total_exposure[i : i + 1], Theta, x)
            for i, row in enumerate(dense)
        ]
    )


def _one(model: Model, row: Any, exposure: FloatArray, Theta: FloatArray, x: FloatArray) -> float:
    table = np.ones(1)  # by c_1: Σ Π θ over the assignments with that count
    for j in np.repeat(np.arange(len(row)), row):
        table = np.r_[Theta[j, 1] * table, 0.0] + np.r_[0.0, Theta[j, 0] * table]
    L = len(table) - 1
    c = np.c_[np.arange(L + 1), L - np.arange(L + 1)]
    p_c = table * np.exp(moment_scores(model).log_moment(c, np.repeat(exposure, L + 1)))
    total = value = 0.0
    for p, counts in zip(p_c, c, strict=True):
        for share, expected in _patterns(model, counts, exposure, Theta, x):
            total, value = total + p * share, value + p * share * expected
    return value / total


def _patterns(
    model: Any, c: Any, exposure: FloatArray, Theta: FloatArray, x: FloatArray
) -> list[tuple[float, float]]:
    """Which scores are 0 given c: the probability of each case but the last, and E[p(x | m)]."""
    scores = model.scores
    zero = np.zeros(2)
    if scores.capabilities.exact_zeros:
        zero = np.where(c == 0, scores.zero_probability(exposure)[0], 0.0)
    alone = [float(np.prod(Theta[:, k] ** x)) for k in range(2)]
    rate = scores.beta + exposure[0] if model.has_exposure else np.ones(2)
    both = _mean_over_shares(scores.alpha + c, rate, Theta, x)
    return [
        ((1 - zero[0]) * (1 - zero[1]), both),
        ((1 - zero[0]) * zero[1], alone[0]),
        (zero[0] * (1 - zero[1]), alone[1]),
    ]


def _mean_over_shares(a: FloatArray, rate: FloatArray, Theta: FloatArray, x: FloatArray) -> float:
    nodes, weights = roots_jacobi(_POINTS, a[1] - 1, a[0] - 1)
    u = (1 + nodes) / 2
    first, second = u / rate[0], (1 - u) / rate[1]
    m = np.stack([first, second]) / (first + second)
    return float((weights * np.prod((Theta @ m) ** x[:, None], axis=0)).sum() / weights.sum())
