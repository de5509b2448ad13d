"""Direct and collapsed Gibbs sampling in plain NumPy: BJ06 figures 6 and 7, tables III and IV.

Slow and short. The state is an assignment z of single tokens, listed by document. Nothing here is
clever: each conditional is written as in MODELS §3, and every probability is normalised.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.data import Counts
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray
from dcomp.models.base import moment_scores

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Tokens:
    """The tokens of a corpus one by one: their document and feature."""

    document: IntArray
    feature: IntArray

    @classmethod
    def from_counts(cls, counts: Counts) -> Tokens:
        """In the order of the documents, then of the features."""
        rows = np.repeat(np.arange(counts.n_docs), np.diff(counts.indptr))
        return cls(np.repeat(rows, counts.data), np.repeat(counts.indices, counts.data))


def tables(tokens: Tokens, z: IntArray, counts: Counts, K: int) -> tuple[IntArray, IntArray]:
    """c (I, K) and n (J, K) of an assignment."""
    c = np.zeros((counts.n_docs, K), dtype=np.int64)
    n = np.zeros((counts.n_features, K), dtype=np.int64)
    np.add.at(c, (tokens.document, z), 1)
    np.add.at(n, (tokens.feature, z), 1)
    return c, n


def score_ratio(model: Model, c: npt.NDArray[Any], exposure: float) -> FloatArray:
    """g(c + 1)/g(c) for each component, up to a factor equal over components: table IV."""
    scores: Any = model.scores
    if scores.capabilities.tokens != "linear":
        return np.asarray(scores.posterior_mean(c, np.ones(1)))
    weights = scores.token_weights(np.array([exposure]))
    a = weights.a[0] if weights.a0 is None else np.where(c == 0, weights.a0[0], weights.a[0])
    return np.asarray((a + c) / weights.rate[0])


def collapsed_sweep(
    model: Model, observed: Observations, z: IntArray, rng: np.random.Generator
) -> IntArray:
    """One token after the other, given all the rest: BJ06 figure 7."""
    counts, K = observed.counts, model.n_components
    tokens, z = Tokens.from_counts(counts), z.copy()
    c, n = tables(tokens, z, counts, K)
    gamma = np.broadcast_to(model.loadings.table(counts.n_features, K), n.shape)
    blocks = counts.features.blocks
    for t, (i, j) in enumerate(zip(tokens.document, tokens.feature, strict=True)):
        c[i, z[t]] -= 1
        n[j, z[t]] -= 1
        block = blocks == blocks[j]
        phi = (gamma[j] + n[j]) / (gamma[block].sum(axis=0) + n[block].sum(axis=0))
        if model.loadings.fixed is not None:  # data, whatever its words (MODELS §11)
            phi[list(model.loadings.fixed_at)] = model.loadings.fixed[:, j]
        p = score_ratio(model, c[i], float(observed.total_exposure[i])) * phi
        z[t] = rng.choice(K, p=p / p.sum())
        c[i, z[t]] += 1
        n[j, z[t]] += 1
    return z


def direct_sweep(
    model: Model, observed: Observations, z: IntArray, rng: np.random.Generator
) -> IntArray:
    """Scores and loadings given the assignment, then the assignment given them: figure 6."""
    counts, K = observed.counts, model.n_components
    tokens = Tokens.from_counts(counts)
    c, n = tables(tokens, z, counts, K)
    gamma = np.broadcast_to(model.loadings.table(counts.n_features, K), n.shape)
    Theta = draw_loadings(n, gamma, counts, rng)
    if model.loadings.fixed is not None:
        Theta[:, list(model.loadings.fixed_at)] = model.loadings.fixed.T
    z = z.copy()
    for i in range(counts.n_docs):
        scores = draw_scores(model, c[i], float(observed.total_exposure[i]), rng)
        for t in np.flatnonzero(tokens.document == i):
            p = scores * Theta[tokens.feature[t]]
            z[t] = rng.choice(K, p=p / p.sum())
    return z


def draw_loadings(
    n: IntArray, gamma: FloatArray, counts: Counts, rng: np.random.Generator
) -> FloatArray:
    """Θ ~ Dirichlet(γ + n) per column and block."""
    Theta = np.empty(n.shape)
    for g in range(counts.features.n_blocks):
        members = counts.features.blocks == g
        for k in range(n.shape[1]):
            Theta[members, k] = rng.dirichlet(gamma[members, k] + n[members, k])
    return Theta


def draw_scores(
    model: Model, c: npt.NDArray[Any], exposure: float, rng: np.random.Generator
) -> FloatArray:
    """Table III: Dirichlet, gamma, or gamma with a point mass at zero where c is 0."""
    return np.asarray(moment_scores(model).draw(c[None], np.array([exposure]), rng)[0])
