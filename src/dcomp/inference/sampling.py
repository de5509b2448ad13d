"""What the two samplers share: the sums that are recorded.

BJ04 2.1: burn in, then average E[Θ | n] (not the draws) over the recorded sweeps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp import _core
from dcomp.inference.base import Recorded
from dcomp.models import Model, Observations
from dcomp.models.arrays import read_only


def add_means(
    recorded: Recorded, model: Model, c: npt.NDArray[np.int32], n_threads: int
) -> Recorded:
    """The record with E[scores | c] added, where the prior asks for it."""
    if recorded.scores is None:
        return recorded
    scores: Any = model.scores
    total = recorded.scores.copy()
    _core.tree_means(c, scores.native(), total, n_threads)
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
