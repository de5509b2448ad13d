"""The evidence p(w) between two fences, in plain NumPy (MODELS §13).

Annealed importance sampling from a fitted reference instead of from the prior. With loadings Θ* and
scores l* of a fit, any positive numbers,

    f_t(z) = q(z)^(1−t) [g(z) p(w | z)]^t,      q(z) = Π_n l*_{d z_n} θ*_{w_n z_n}

f_0 = q has independent tokens: it is drawn from exactly, and its sum is Π_n Σ_k l*_dk θ*_{w_n k}.
Σ_z f_1(z) = p(w) but for constants of the words. Forward runs go from a draw of f_0 to t = 1: their
weights estimate p(w) without bias, so that their logs are too low. Backward runs go from a draw of
the posterior to t = 0, by the same sweeps in reversed order: the reciprocals of their weights
estimate 1 / p(w) without bias, so that their logs are too high (Grosse, Ghahramani and Adams 2015).

q knows the labels of its components and the posterior does not. With H a group of renumberings and
any β ≥ 0 the factor

    h(z) = q(z)^β Σ_{σ ∈ H} g(σz) / Σ_{σ ∈ H} q(σz)^β g(σz)

leaves Σ_z f_1 as it is: ρ(z) = q(z)^β g(z) / Σ_σ q(σz)^β g(σz) adds up to 1 over the renumberings
of any z, p(w | z) is the same for all of them, and h g = ρ Σ_σ g(σz). So the last weight of a
forward run has the factor h, and a backward run begins with a renumbering of its draw, chosen with
probability ρ(σz). Where components are far apart, h is Σ_σ g(σz) / g(z), K! for equal priors; with
β = 0 it is 1. A small β is both: far apart, q decides by hundreds of nats; near, where runs change
labels by themselves, no weight hangs on them. `dcomp.evaluate.labels` has the sums without a list.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray
from dcomp.models.base import moment_scores
from dcomp.reference.enumeration import log_joint
from dcomp.reference.gibbs import Tokens, score_ratio, tables

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Path:
    """The distributions f_t between a reference and the posterior, and sweeps that keep them."""

    model: Model
    observed: Observations
    Theta: FloatArray  # Θ*, (J, K), positive
    scores: FloatArray  # l*, (I, K), positive

    @property
    def tokens(self) -> Tokens:
        """The words one by one."""
        return Tokens.from_counts(self.observed.counts)

    @property
    def constant(self) -> float:
        """What p(w) has beside Σ_z f_1."""
        return float(self.model.log_constant(self.observed, combinatoric=False).sum())

    @property
    def log_reference(self) -> float:
        """log Σ_z f_0(z)."""
        tokens = self.tokens
        p = (self.scores[tokens.document] * self.Theta[tokens.feature]).sum(axis=1)
        return float(np.log(p).sum())

    def counts(self, z: IntArray) -> tuple[IntArray, IntArray]:
        """c and n of an assignment."""
        return tables(self.tokens, z, self.observed.counts, self.model.n_components)

    def log_q(self, z: IntArray) -> float:
        """log q(z)."""
        tokens = self.tokens
        logs = np.log(self.scores[tokens.document, z]) + np.log(self.Theta[tokens.feature, z])
        return float(logs.sum())

    def log_g(self, z: IntArray) -> float:
        """log g(z): the scores integrated out."""
        c, _ = self.counts(z)
        return float(moment_scores(self.model).log_moment(c, self.observed.total_exposure).sum())

    def log_ratio(self, z: IntArray) -> float:
        """log f_1(z) − log f_0(z), which a weight has in proportion to the step in t."""
        return log_joint(self.model, self.observed, *self.counts(z)) - self.log_q(z)

    def sweep(
        self, z: IntArray, t: float, rng: np.random.Generator, *, backward: bool = False
    ) -> IntArray:
        """Each token given all others under f_t; backward, the last of them first."""
        counts, gamma = self.observed.counts, self.model.loadings.per_feature(len(self.Theta))
        tokens, z, blocks = self.tokens, z.copy(), counts.features.blocks
        c, n = self.counts(z)
        order = np.arange(len(z))[:: -1 if backward else 1]
        for s in order:
            i, j = tokens.document[s], tokens.feature[s]
            c[i, z[s]] -= 1
            n[j, z[s]] -= 1
            block = blocks == blocks[j]
            phi = (gamma[j] + n[j]) / (gamma[block].sum() + n[block].sum(axis=0))
            fit = score_ratio(self.model, c[i], float(self.observed.total_exposure[i])) * phi
            p = (self.scores[i] * self.Theta[j]) ** (1 - t) * fit**t
            z[s] = rng.choice(len(p), p=p / p.sum())
            c[i, z[s]] += 1
            n[j, z[s]] += 1
        return z


def symmetries(model: Model) -> list[tuple[int, ...]]:
    """The group H: all renumberings, or those of a tree that keep every node's parent."""
    K, nodes = model.n_components, model.scores.nodes
    every: Iterable[tuple[int, ...]] = itertools.permutations(range(K))
    if nodes is None:
        return list(every)
    parents = nodes.parents
    assert parents is not None  # a strict tree
    return [
        sigma
        for sigma in every
        if all(
            p == sigma[k] == k or sigma[p] == parents[sigma[k]]
            for k, p in enumerate(parents)
            if p >= 0
        )
        and sigma[0] == 0
    ]


def log_labels(path: Path, z: IntArray, beta: float) -> float:
    """log h(z)."""
    every = [np.array(sigma)[z] for sigma in symmetries(path.model)]
    log_g = np.array([path.log_g(one) for one in every])
    log_q = beta * np.array([path.log_q(one) for one in every])
    return beta * path.log_q(z) + float(logsumexp(log_g) - logsumexp(log_g + log_q))


def forward(
    path: Path, temperatures: FloatArray, rng: np.random.Generator, beta: float = 1.0
) -> float:
    """log of an unbiased estimate of p(w); `temperatures` rise from 0 to 1."""
    z = path.sweep(np.zeros(len(path.tokens.document), dtype=np.int64), 0.0, rng)
    value = path.log_reference + path.constant
    for t, following in itertools.pairwise(temperatures):
        if t > 0:
            z = path.sweep(z, float(t), rng)
        value += float(following - t) * path.log_ratio(z)
    return value + log_labels(path, z, beta)


def backward(
    path: Path,
    temperatures: FloatArray,
    z: IntArray,
    rng: np.random.Generator,
    beta: float = 1.0,
) -> float:
    """log of an estimate whose reciprocal has the mean 1 / p(w), from a draw z of the posterior."""
    every = [np.array(sigma)[z] for sigma in symmetries(path.model)]
    rho = np.array([beta * path.log_q(one) + path.log_g(one) for one in every])
    z = every[rng.choice(len(every), p=np.exp(rho - logsumexp(rho)))]
    value = path.log_reference + path.constant + log_labels(path, z, beta)
    for t, following in itertools.pairwise(temperatures[::-1]):
        if t < 1:
            z = path.sweep(z, float(t), rng, backward=True)
        value += float(t - following) * path.log_ratio(z)
    return value
