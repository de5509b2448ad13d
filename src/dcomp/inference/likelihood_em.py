"""Maximum likelihood by EM: for shares (DM: PLSA), and where features come in several blocks.

A block's loadings sum to 1 in each component, so that with more than one block they are no free
factor, and a sweep divides the words instead: every document's, once, in proportion to m_ik θ_jk
(B18 (5.6)); then m and Θ are shares of the words that they got ((5.7), (5.8)), Θ within each block.
With a block of two alleles per SNP, people as documents and copies of alleles as counts this is the
model of ADMIXTURE (m is its Q, Θ its P). A call that is missing is a block without words, and says
nothing. No sweep lowers the likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaln

from dcomp import _core
from dcomp.data import FeatureSpace
from dcomp.executors import Executor
from dcomp.inference.base import FloatingArray, SufficientStats
from dcomp.inference.mean_field import Allocation, Weights, allocate, finite_objective
from dcomp.inference.state import Local, State
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray, read_only

# Updates of a document per sweep, and how still it is to be. More of them gain less than sweeps of
# the same cost, because Θ waits; at the end of a climb documents come to rest.
ONCE, AT_REST = (1, 0.0), (50, 1e-4)


def is_by_em(model: Model, features: FeatureSpace) -> bool:
    """Whether the maximum is found by EM: unless a native factorisation serves the model, which
    takes one block."""
    return features.n_blocks > 1 or (model.key, "factorise") not in _core.compiled()


@dataclass(frozen=True)
class Swept:
    """What a sweep comes to. The objective and the residual are of where it began."""

    state: State
    objective: float  # log p(W | scores, Θ), words as a sequence
    residual: float
    shares: float  # the largest change of a document's share
    updates: float  # per document


def em_sweep(
    observed: Observations, state: State, executor: Executor, *, settles: bool = False
) -> Swept:
    """One plain step of EM, or one for which documents come to rest; the residual is then of what
    all of their updates did."""
    model, features = state.model, observed.counts.features
    weights = Weights.build(model, features, state.n, "map", executor.n_threads)
    how = Allocation(model, weights, *(AT_REST if settles else ONCE), "maximise")
    after, found = executor.map_reduce(_divide, observed.parts, state.locals, how)
    stats = found.stats
    # At flat priors this is the likelihood, but for the constant densities of the priors.
    flat = 0.0
    if model.scores.capabilities.normalised:
        flat = float(gammaln(model.n_components)) * stats.n_docs
        if stats.users is not None:  # of documents, over the components that each may use
            flat = float(stats.users.sizes @ gammaln(stats.users.masks.sum(axis=1)))
    finite_objective(stats, weights, state.sweep + 1)
    residual = max(found.breach, _breach_of_loadings(model, weights, stats.n, features))
    shared = replace(state.shared, n=read_only(stats.n), sweep=state.sweep + 1)
    objective = stats.bound - flat
    updates = stats.n_updates / stats.n_docs
    after_all = replace(state, shared=shared, locals=after)
    return Swept(after_all, objective, residual, stats.shares, updates)


@dataclass(frozen=True)
class _Found:
    """What documents add up to."""

    stats: SufficientStats
    breach: float  # the largest of the conditions of a maximum, over documents

    def __add__(self, other: _Found) -> _Found:
        return _Found(self.stats + other.stats, max(self.breach, other.breach))


def _divide(
    part: Observations, local: Local, how: Allocation, n_threads: int
) -> tuple[Local, _Found]:
    """The words of a part's documents, divided once."""
    after, stats = allocate(part, local, how, n_threads)
    return after, _Found(stats, _breach_of_scores(local.c, after.c))


def _breach_of_scores(before: FloatingArray, after: FloatingArray) -> float:
    """Of documents. The slope of the likelihood along a share, per word, is what an update of EM
    multiplies the share by."""
    floor = 1e-18 if before.dtype == np.float32 else 1e-150  # as the kernels have it
    c = before.astype(np.float64)
    top = np.maximum(c.max(axis=1, keepdims=True), floor)
    c = np.maximum(c, floor * top)
    shares = c / c.sum(axis=1, keepdims=True)
    words = after.sum(axis=1, keepdims=True, dtype=np.float64)
    return _breach(words * shares, after)


def _breach_of_loadings(
    model: Model, weights: Weights, n: FloatingArray, features: FeatureSpace
) -> float:
    """The same of features, in each block; of components that are found."""
    blocks, K = features.blocks, n.shape[1]
    free = model.loadings.free(K)
    columns = [np.bincount(blocks, weights=n[:, k], minlength=features.n_blocks) for k in range(K)]
    words: FloatArray = np.asarray(np.stack(columns, axis=1)[blocks], np.float64)
    words *= np.exp(weights.log_scale)[:, None]
    words *= weights.Theta[:, :K]
    return _breach(words, n) if len(free) == K else _breach(words[:, free], n[:, free])


def _breach(before: FloatArray, after: FloatingArray) -> float:
    """The largest |min(x, 1 − g)| of words x that an update makes x g of."""
    gain: Any = np.divide(after, before, where=before > 0, out=np.ones_like(before))
    np.subtract(1.0, gain, out=gain)
    np.minimum(gain, before, out=gain)
    return float(max(gain.max(initial=0.0), -gain.min(initial=0.0)))
