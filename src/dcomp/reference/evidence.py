"""The evidence p(w) of a model with scores and loadings integrated out: exact, annealed, harmonic.

The annealed path leads from an urn to the posterior of the assignment z. With r(z) = E[Π m_k^c_k],
m ~ Dirichlet(α), per document (an urn of Pólya, whose probabilities add up to 1),

    f_t(z) = r(z)^(1−t) [g(z) p(w | z)]^t,   g(z) = Π_i E[Π score^c e^(−e score)],
    p(w | z) = Π_kg E[Π_j θ_jk^n_jk]

f_0 = r can be drawn from, and Σ_z f_1(z) = p(w) but for constants of the words (MODELS §§2–4). For
DM r = g and only the words are tempered. Annealed importance sampling (Neal 2001) draws z from f_0,
moves it by a collapsed Gibbs sweep at each temperature, and multiplies the ratios of f: the product
is an unbiased estimate of p(w).
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from dcomp.models import DirichletScores, Model, Observations
from dcomp.models.arrays import FloatArray
from dcomp.models.base import moment_scores
from dcomp.models.totals import log_totals
from dcomp.reference.enumeration import Posterior, log_joint
from dcomp.reference.gibbs import Tokens, collapsed_sweep, score_ratio, tables

IntArray = npt.NDArray[np.int64]


def exact_log_evidence(model: Model, observed: Observations) -> float:
    """log p(w) of the words as a sequence, by listing every assignment.

    For DM the totals of the documents' blocks are given; GP and CGP include their probability.

    >>> from dcomp.data import Counts
    >>> from dcomp.models import DirichletMultinomial
    >>> model = DirichletMultinomial.build(1, gamma=1.0)  # a plain urn: 1/2 · 2/3
    >>> observed = Observations.build(Counts.from_matrix([[2, 0]]))
    >>> f"{np.exp(exact_log_evidence(model, observed)):.4f}"
    '0.3333'
    """
    constant = float(model.log_constant(observed, combinatoric=False).sum())
    return float(logsumexp(Posterior(model, observed).log_joint)) + constant


def log_urn(model: Model, c: IntArray) -> float:
    """log r(z)."""
    return float(DirichletScores(urn_weights(model)).log_moment(c, np.zeros(len(c))).sum())


def urn_weights(model: Model) -> FloatArray:
    """α of the urn that r draws from: what a component without words has for a start."""
    scores: Any = model.scores
    return np.asarray(scores.token_weights(np.zeros(1)).a[0])


def log_words(model: Model, observed: Observations, c: IntArray, n: IntArray) -> float:
    """log p(w | z): Θ integrated out."""
    scores = float(moment_scores(model).log_moment(c, observed.total_exposure).sum())
    return log_joint(model, observed, c, n) - scores


def annealed(
    model: Model, observed: Observations, temperatures: FloatArray, rng: np.random.Generator
) -> float:
    """log of one unbiased estimate of p(w); `temperatures` rise from 0 to 1."""
    counts, K = observed.counts, model.n_components
    tokens = Tokens.from_counts(counts)
    z = draw_urn(model, tokens, counts.n_docs, rng)
    value = float(model.log_constant(observed, combinatoric=False).sum())
    for t, following in itertools.pairwise(temperatures):
        if t > 0:
            z = tempered_sweep(model, observed, z, float(t), rng)
        c, n = tables(tokens, z, counts, K)
        value += (following - t) * (log_joint(model, observed, c, n) - log_urn(model, c))
    return value


def draw_urn(model: Model, tokens: Tokens, n_docs: int, rng: np.random.Generator) -> IntArray:
    """z ~ r: every token follows α and the earlier tokens of its document."""
    alpha = urn_weights(model)
    c = np.zeros((n_docs, len(alpha)))
    z = np.empty(len(tokens.document), dtype=np.int64)
    for t, i in enumerate(tokens.document):
        p = alpha + c[i]
        z[t] = rng.choice(len(alpha), p=p / p.sum())
        c[i, z[t]] += 1
    return z


def tempered_sweep(
    model: Model, observed: Observations, z: IntArray, t: float, rng: np.random.Generator
) -> IntArray:
    """A collapsed Gibbs sweep that leaves f_t as it is."""
    counts, K = observed.counts, model.n_components
    tokens, z = Tokens.from_counts(counts), z.copy()
    c, n = tables(tokens, z, counts, K)
    gamma, blocks = model.loadings.per_feature(counts.n_features), counts.features.blocks
    for s, (i, j) in enumerate(zip(tokens.document, tokens.feature, strict=True)):
        c[i, z[s]] -= 1
        n[j, z[s]] -= 1
        block = blocks == blocks[j]
        phi = (gamma[j] + n[j]) / (gamma[block].sum() + n[block].sum(axis=0))
        scores = score_ratio(model, c[i], float(observed.total_exposure[i]))
        p = (urn_weights(model) + c[i]) ** (1 - t) * (scores * phi) ** t
        z[s] = rng.choice(K, p=p / p.sum())
        c[i, z[s]] += 1
        n[j, z[s]] += 1
    return z


def harmonic(
    model: Model, observed: Observations, n_sweeps: int, rng: np.random.Generator
) -> float:
    """log of N / Σ 1/p(w | z_n) over the second half of a collapsed Gibbs chain: BJ04 3.3.

    The mean of 1/p(w | z) over the posterior is Σ_z p(z) / p(w), so the totals' probability, which
    that sum is for GP and CGP, comes in as a factor.
    """
    counts, K = observed.counts, model.n_components
    tokens = Tokens.from_counts(counts)
    z = draw_urn(model, tokens, counts.n_docs, rng)
    values = []
    for sweep in range(n_sweeps):
        z = collapsed_sweep(model, observed, z, rng)
        if sweep >= n_sweeps // 2:
            values.append(log_words(model, observed, *tables(tokens, z, counts, K)))
    mean = np.log(len(values)) - logsumexp(-np.array(values))
    return float(mean) + float(log_totals(model, observed).sum())
