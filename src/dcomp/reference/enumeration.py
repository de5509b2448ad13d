"""The exact posterior of an assignment on tiny data, by listing every one.

p(z | words) ∝ E[Π scores^c] · E[Π θ^n]: scores and loadings integrated out, BJ06 (7), (8), (11).
There are K^tokens assignments: for tests, and for seeing what a sampler should give.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from scipy.special import gammaln
from scipy.stats import chi2

from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray
from dcomp.reference.gibbs import IntArray, Tokens, tables


def log_joint(model: Model, observed: Observations, c: IntArray, n: IntArray) -> float:
    """log p(words, z) up to terms of the words alone."""
    gamma = np.broadcast_to(model.loadings.table(len(n), n.shape[1]), n.shape)
    blocks = observed.counts.features.blocks
    scores: Any = model.scores
    if observed.allowed is not None and (c[~observed.allowed.mask] > 0).any():
        return -np.inf  # a document has words of a component that it may not use
    value = float(observed.ask(scores, "log_moment", c).sum())
    free = model.loadings.free(n.shape[1])
    value += float((gammaln(gamma + n) - gammaln(gamma))[:, free].sum())
    for g in range(observed.counts.features.n_blocks):
        members = blocks == g
        total = gamma[members].sum(axis=0)
        value += float((gammaln(total) - gammaln(total + n[members].sum(axis=0)))[free].sum())
    if model.loadings.fixed is not None:  # p(word | z) is θ itself
        value += float((n[:, list(model.loadings.fixed_at)] * np.log(model.loadings.fixed.T)).sum())
    return value


class Posterior:
    """p(z | words) for every z, and the same of the pairs (c, n).

    >>> from dcomp.data import Counts
    >>> from dcomp.models import DirichletMultinomial
    >>> observed = Observations.build(Counts.from_matrix([[1, 1]]))
    >>> Posterior(DirichletMultinomial.build(2, alpha=1.0), observed).p.round(3)
    array([0.25, 0.25, 0.25, 0.25])
    """

    def __init__(self, model: Model, observed: Observations) -> None:
        counts, K = observed.counts, model.n_components
        tokens = Tokens.from_counts(counts)
        self.assignments: IntArray = np.array(
            list(itertools.product(range(K), repeat=len(tokens.document))), dtype=np.int64
        )
        self.tables = [tables(tokens, z, counts, K) for z in self.assignments]
        self.log_joint: FloatArray = np.array(
            [log_joint(model, observed, c, n) for c, n in self.tables]
        )
        weights = np.exp(self.log_joint - self.log_joint.max())
        self.p: FloatArray = weights / weights.sum()

    @staticmethod
    def key(c: IntArray, n: IntArray) -> bytes:
        """A table as something that can be looked up."""
        return np.concatenate([np.ravel(c), np.ravel(n)]).astype(np.int64).tobytes()

    def by_table(self) -> dict[bytes, float]:
        """p(c, n | words)."""
        out: dict[bytes, float] = {}
        for (c, n), p in zip(self.tables, self.p, strict=True):
            out[self.key(c, n)] = out.get(self.key(c, n), 0.0) + float(p)
        return out


def chi_square_p(observed: FloatArray, expected: FloatArray) -> float:
    """p-value of a multinomial fit; cells that expect fewer than 8 are put together.

    >>> chi_square_p(np.array([48.0, 52.0]), np.array([50.0, 50.0])) > 0.5
    True
    """
    order = np.argsort(expected)
    observed, expected = observed[order], expected[order]
    small = int(np.searchsorted(np.cumsum(expected), 8.0)) + 1 if expected[0] < 8 else 0
    small = max(small, int((expected < 8).sum()))
    if small > 1:
        observed = np.r_[observed[:small].sum(), observed[small:]]
        expected = np.r_[expected[:small].sum(), expected[small:]]
    statistic = ((observed - expected) ** 2 / expected).sum()
    return float(chi2.sf(statistic, len(expected) - 1))


def token_order(sampler: Any, observed: Observations) -> IntArray:
    """For each token of a native sampler's order, its place in that of `Tokens`."""
    entry = sampler.entries()
    starts = np.r_[0, np.cumsum(observed.counts.data)[:-1]]
    used = np.zeros(len(starts), dtype=np.int64)
    order = np.empty(len(entry), dtype=np.int64)
    for token, e in enumerate(entry):
        order[token] = starts[e] + used[e]
        used[e] += 1
    return order
