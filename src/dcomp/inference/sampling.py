"""What the two samplers share: the prior as the kernels take it, and the sums that are recorded.

BJ04 2.1: burn in, then average E[Θ | n] (not the draws) over the recorded sweeps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp import _core
from dcomp.inference.base import Recorded
from dcomp.models import (
    ConditionalGammaScores,
    Model,
    Observations,
    StructuredScores,
    TreeScores,
)
from dcomp.models.arrays import FloatArray, read_only


@dataclass(frozen=True)
class PriorArguments:
    """α, β, ρ and exposure as contiguous arrays; None where the model has none. A tree stands in
    the place of α."""

    alpha: FloatArray | _core.TreePrior
    beta: FloatArray | None
    rho: FloatArray | None
    exposure: FloatArray | None

    @classmethod
    def of(cls, model: Model, observed: Observations) -> PriorArguments:
        """For the kernels; a unit exposure is None."""
        return cls.given(model, None if observed.is_unit else observed.total_exposure)

    @classmethod
    def given(cls, model: Model, exposure: FloatArray | None) -> PriorArguments:
        """The same from the documents' total exposure alone."""
        scores: Any = model.scores
        has_beta = hasattr(scores, "beta")
        has_rho = isinstance(scores, ConditionalGammaScores)
        needs_exposure = model.has_exposure and exposure is not None
        if isinstance(scores, TreeScores):
            return cls(native_tree(scores), None, None, None)
        return cls(
            np.ascontiguousarray(scores.alpha),
            np.ascontiguousarray(scores.beta) if has_beta else None,
            np.ascontiguousarray(scores.rho) if has_rho else None,
            np.ascontiguousarray(exposure) if needs_exposure else None,
        )

    def as_tuple(self) -> tuple[Any, Any, Any, Any]:
        """In the order of the native functions."""
        return self.alpha, self.beta, self.rho, self.exposure


def native_tree(scores: TreeScores) -> _core.TreePrior:
    """A tree with its priors as the kernels take it."""
    parent = np.array(scores.tree.parents, dtype=np.int32)
    return _core.TreePrior(parent, *map(np.ascontiguousarray, (scores.a1, scores.a2, scores.b)))


FloatRows = npt.NDArray[np.float32]


def score_weights(
    model: Model, observed: Observations, padded: int
) -> tuple[FloatRows | None, FloatRows, FloatRows]:
    """a0, a, F of the token samplers (MODELS §3), one row for all documents or one for each.

    s_k = F_k (a_k + c_k) where c_k > 0, and F_k a0_k where c_k = 0; a0 is None where it is a.
    """
    scores: Any = model.scores
    exposure = observed.total_exposure
    rate = np.ones((1, model.n_components))
    if model.has_exposure:
        common = bool(np.all(exposure == exposure[0]))
        exposure = exposure[:1] if common else exposure
        rate = scores.beta + exposure[:, None]
    alpha = np.broadcast_to(scores.alpha, rate.shape)

    def pad(values: FloatArray) -> FloatRows:
        out = np.zeros((len(values), padded), dtype=np.float32)
        out[:, : values.shape[1]] = values
        return out

    a0 = None
    if isinstance(scores, ConditionalGammaScores):
        a0 = pad((1 - scores.zero_probability(exposure)) * alpha)
    return a0, pad(alpha), pad(1 / rate)


def add_means(
    recorded: Recorded, model: Model, c: npt.NDArray[np.int32], n_threads: int
) -> Recorded:
    """The record with E[scores | c] added, where the model needs it."""
    if recorded.scores is None:
        return recorded
    assert isinstance(model.scores, TreeScores)
    scores = recorded.scores.copy()
    _core.tree_means(c, native_tree(model.scores), scores, n_threads)
    return replace(recorded, scores=read_only(scores))


def empty_record(model: Model, observed: Observations) -> Recorded:
    """Zero sums, with room for what this model needs."""
    K, counts = model.n_components, observed.counts
    needs_zeros = isinstance(model.scores, ConditionalGammaScores)
    needs_scores = isinstance(model.scores, TreeScores | StructuredScores)
    shape = (counts.n_docs, K)
    more: dict[str, tuple[int, ...]] = {}
    if isinstance(model.scores, StructuredScores):
        structure = model.scores.structure
        more = {"leaf_scores": (counts.n_docs, structure.n_leaves), "upsilon": (structure.n_pairs,)}
    return Recorded(
        np.zeros((counts.n_features, K), dtype=np.float32),
        np.zeros(shape, dtype=np.float32),
        np.zeros(shape, dtype=np.float32) if needs_zeros else None,
        0,
        np.zeros(shape, dtype=np.float32) if needs_scores else None,
        {name: np.zeros(size, dtype=np.float32) for name, size in more.items()},
    )
