"""What the two samplers share: the sums that are recorded.

BJ04 2.1: burn in, then average E[Θ | n] (not the draws) over the recorded sweeps.
"""

from __future__ import annotations

from dataclasses import replace

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
from dcomp.models.arrays import read_only


def add_means(
    recorded: Recorded, model: Model, c: npt.NDArray[np.int32], n_threads: int
) -> Recorded:
    """The record with E[scores | c] added, where the model needs it."""
    if recorded.scores is None:
        return recorded
    assert isinstance(model.scores, TreeScores)
    scores = recorded.scores.copy()
    _core.tree_means(c, model.scores.native(), scores, n_threads)
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
