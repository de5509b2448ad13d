"""Drawing from the models: scores and loadings from their priors, then every word's component.

DM   m ~ Dirichlet(α), w_g ~ Multinomial(L_g, Θ_g m), lengths L given          BJ06 (4)
TM   m from a tree of components, the words as in DM                           BJ04 3.4
GP   l_k ~ Gamma(α_k, β_k), w_j ~ Poisson(e_g (Θl)_j)                          BJ06 (2)
CGP  l_k = 0 with probability ρ_k, else as GP                                  BJ06 (3)

All have θ_k ~ Dirichlet(γ) within each block g. A prior is the conditional given nothing (c = 0,
n = 0, e = 0), so that one function draws from either. Arrays may have a leading axis of replicates:
independent corpora of one shape, which can be laid side by side as blocks of one large corpus.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.data import Counts, FeatureSpace
from dcomp.errors import InvalidParameter
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray, draw_dirichlet
from dcomp.models.base import moment_scores
from dcomp.models.loadings import DirichletLoadings

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Simulated:
    """Everything that a model speaks of, drawn together; a leading axis R where replicated."""

    features: FeatureSpace
    size: FloatArray  # (I, G): tokens (DM) or exposure (GP, CGP) per document and block
    scores: FloatArray  # ([R,] I, K)
    Theta: FloatArray  # ([R,] J, K)
    v: IntArray  # ([R,] I, J, K): counts split over components

    @property
    def W(self) -> IntArray:
        """Counts, ([R,] I, J)."""
        return np.asarray(self.v.sum(axis=-1))

    @property
    def c(self) -> IntArray:
        """Words of each document per component, ([R,] I, K)."""
        return np.asarray(self.v.sum(axis=-2))

    @property
    def n(self) -> IntArray:
        """Words of each feature per component, ([R,] J, K)."""
        return np.asarray(self.v.sum(axis=-3))

    @property
    def n_replicates(self) -> int:
        """R, 1 without a leading axis."""
        return self.v.shape[0] if self.v.ndim == 4 else 1

    def counts(self) -> Counts:
        """The words as one corpus; replicates lie side by side, each with documents, features and
        blocks of its own, so that none of them can tell that there are others."""
        n_docs, J, K = self.v.shape[-3:]
        R, features = self.n_replicates, self.features
        if R > 1:
            offset = np.arange(R)[:, None] * features.n_blocks
            features = FeatureSpace(None, (offset + features.blocks).ravel().astype(np.int32))
        W = self.v.reshape(R, n_docs, J, K).sum(axis=-1)
        r, i, j = np.nonzero(W)
        indptr = np.r_[0, np.cumsum((W > 0).sum(axis=2).ravel())]
        return Counts(indptr, (r * J + j).astype(np.int32), W[r, i, j].astype(np.int32), features)

    def observed(self, model: Model) -> Observations:
        """The corpus of `counts` with its exposure: 0 in the blocks of other replicates."""
        counts = self.counts()
        if not model.has_exposure:
            return Observations.build(counts)
        R, (n_docs, G) = self.n_replicates, self.size.shape
        exposure = np.zeros((R, n_docs, R, G))
        exposure[np.arange(R), :, np.arange(R)] = self.size
        return Observations.build(counts, exposure.reshape(R * n_docs, R * G))

    def model_of_all(self, model: Any) -> Any:
        """The model of the corpus of `counts`: γ repeated for every replicate."""
        gamma = model.loadings.per_feature(self.features.n_features)
        return replace(model, loadings=DirichletLoadings(np.tile(gamma, self.n_replicates)))


def simulate(
    model: Model,
    features: FeatureSpace,
    size: npt.ArrayLike,
    rng: np.random.Generator,
    n_replicates: int | None = None,
) -> Simulated:
    """Scores, Θ and words from the model: BJ06 (2), (3) or (4) with the prior of Θ.

    size: per document, or per document and block: tokens for DM and TM, exposure for GP and CGP. It
    may be 0, and a document may come out without words. A single block size serves every block.

    >>> from dcomp.models import GammaPoisson
    >>> features = FeatureSpace.build(4, blocks=[0, 0, 1, 1])
    >>> draw = simulate(GammaPoisson.build(2), features, [1.0, 0.0], np.random.default_rng(0))
    >>> draw.scores.shape, draw.Theta.sum(axis=0).round(6).tolist(), int(draw.W[1].sum())
    ((2, 2), [2.0, 2.0], 0)
    """
    sizes = block_sizes(model, features, size)
    lead = () if n_replicates is None else (n_replicates,)
    K = model.n_components
    nothing = np.zeros((*lead, len(sizes), K), dtype=np.int64)
    scores = draw_scores(model, nothing, np.zeros(len(sizes)), rng)
    Theta = draw_loadings(model, features, np.zeros((*lead, features.n_features, K)), rng)
    v = draw_words(model, features, sizes, scores, Theta, rng)
    return Simulated(features, sizes, scores, Theta, v)


def block_sizes(model: Model, features: FeatureSpace, size: npt.ArrayLike) -> FloatArray:
    """`size` as (I, G); an error unless it can be one."""
    sizes = np.array(size, dtype=np.float64)
    if sizes.ndim == 1:
        sizes = np.repeat(sizes[:, None], features.n_blocks, axis=1)
    if sizes.ndim != 2 or sizes.shape[1] != features.n_blocks:
        raise InvalidParameter(
            f"size must have one number per document, or per document and block "
            f"({features.n_blocks}); got shape {np.shape(size)}"
        )
    whole = model.has_exposure or bool(np.all(sizes == np.floor(sizes)))
    if not (np.all(np.isfinite(sizes)) and np.all(sizes >= 0) and whole):
        kind = "non-negative and finite" if model.has_exposure else "whole numbers of tokens"
        raise InvalidParameter(f"size must be {kind} for model {model.key}; got {size!r}")
    return sizes


def draw_scores(
    model: Model, c: npt.NDArray[Any], exposure: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Scores ([R,] I, K) given c and the documents' exposure (I): BJ06 table III.

    >>> from dcomp.models import ConditionalGammaPoisson
    >>> model = ConditionalGammaPoisson.build(2, alpha=1.0, beta=1.0, rho=0.999)
    >>> draw_scores(model, np.array([[3, 0]]), np.ones(1), np.random.default_rng(0)).round(2)
    array([[1.96, 0.  ]])
    """
    return moment_scores(model).draw(c, exposure, rng)


def draw_loadings(
    model: Model, features: FeatureSpace, n: npt.NDArray[Any], rng: np.random.Generator
) -> FloatArray:
    """Θ ([R,] J, K) ~ Dirichlet(γ + n) per column and block: BJ06 table III.

    >>> from dcomp.models import DirichletMultinomial
    >>> features, model = FeatureSpace.build(3), DirichletMultinomial.build(2)
    >>> n = np.array([[9e6, 0], [0, 9e6], [0, 0]])
    >>> draw_loadings(model, features, n, np.random.default_rng(0)).round(2).tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    """
    a = model.loadings.table(features.n_features, model.n_components) + n
    Theta = np.empty(a.shape)
    for g in range(features.n_blocks):
        members = features.blocks == g
        part = np.moveaxis(a[..., members, :], -2, -1)
        Theta[..., members, :] = np.moveaxis(draw_dirichlet(part, rng), -1, -2)
    return Theta


def draw_words(
    model: Model,
    features: FeatureSpace,
    sizes: FloatArray,
    scores: FloatArray,
    Theta: FloatArray,
    rng: np.random.Generator,
) -> IntArray:
    """v ([R,] I, J, K) given scores and Θ: BJ06 (6) for Poisson links, (10) for DM.

    Under a Poisson link v_ijk ~ Poisson(e θ_jk l_ik), all independent. DM draws each token of a
    block its component from m, and its feature from that component's θ.

    >>> from dcomp.models import DirichletMultinomial
    >>> features, model = FeatureSpace.build(2), DirichletMultinomial.build(2)
    >>> m, Theta = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> rng = np.random.default_rng(0)
    >>> draw_words(model, features, np.array([[5.0]]), m, Theta, rng).tolist()
    [[[0, 0], [5, 0]]]
    """
    if model.has_exposure:
        e = sizes[:, features.blocks]  # (I, J)
        mean = e[..., None] * scores[..., :, None, :] * Theta[..., None, :, :]
        return np.asarray(rng.poisson(mean))
    n_docs = scores.shape[-2]
    v = np.empty((*scores.shape[:-2], n_docs, *Theta.shape[-2:]), dtype=np.int64)
    for g in range(features.n_blocks):
        members = features.blocks == g
        of_block = rng.multinomial(sizes[:, g].astype(np.int64), scores)  # ([R,] I, K)
        theta = np.moveaxis(Theta[..., None, members, :], -2, -1)  # ([R,] 1, K, J_g)
        v[..., members, :] = np.moveaxis(rng.multinomial(of_block, theta), -1, -2)
    return v
