"""The exact posterior of an assignment on tiny data, by listing every one.

p(z | words) ∝ E[Π scores^c] · E[Π θ^n]: scores and loadings integrated out, BJ06 (7), (8), (11).
There are K^tokens assignments: for tests, and for seeing what a sampler should give.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from scipy.special import gammaln

from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray
from dcomp.reference.gibbs import IntArray, Tokens, tables


def log_joint(model: Model, observed: Observations, c: IntArray, n: IntArray) -> float:
    """log p(words, z) up to terms of the words alone."""
    gamma = model.loadings.per_feature(len(n))
    blocks = observed.counts.features.blocks
    scores: Any = model.scores
    value = float(scores.log_moment(c, observed.total_exposure).sum())
    value += float((gammaln(gamma[:, None] + n) - gammaln(gamma)[:, None]).sum())
    for g in range(observed.counts.features.n_blocks):
        members = blocks == g
        total = gamma[members].sum()
        value += float((gammaln(total) - gammaln(total + n[members].sum(axis=0))).sum())
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
        tokens = Tokens.of(counts)
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
