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
from dcomp.models import ConditionalGammaScores, Model, Observations, TreeScores
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


def add_means(
    recorded: Recorded, model: Model, c: npt.NDArray[np.int32], n_threads: int
) -> Recorded:
    """The record with E[scores | c] added, where the prior asks for it."""
    if recorded.scores is None:
        return recorded
    scores: Any = model.scores
    total = recorded.scores.copy()
    _core.tree_means(c, native_tree(scores), total, n_threads)
    return replace(recorded, scores=read_only(total))


def empty_record(model: Model, observed: Observations) -> Recorded:
    """Zero sums of all that the score prior asks for."""
    counts, slots = observed.counts, model.scores.slots
    shape = (counts.n_docs, model.n_components)

    def zeros(*size: int) -> npt.NDArray[np.float32]:
        return np.zeros(size, dtype=np.float32)

    own = {
        name: zeros(*(counts.n_docs if side is None else side for side in size))
        for name, size in slots.own.items()
    }
    return Recorded(
        zeros(counts.n_features, model.n_components),
        zeros(*shape),
        zeros(*shape) if slots.zeros else None,
        0,
        zeros(*shape) if slots.scores else None,
        own,
    )
