"""What the two samplers share: the sums that are recorded.

BJ04 2.1: burn in, then average E[Θ | n] (not the draws) over the recorded sweeps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp import _core
from dcomp.data import FeatureSpace
from dcomp.inference.state import RecordedDocuments, RecordedLoadings
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray, column_totals, read_only


def add_means(
    recorded: RecordedDocuments, model: Model, c: npt.NDArray[np.int32], n_threads: int
) -> RecordedDocuments:
    """The record with E[scores | c] added, where the prior asks for it."""
    if recorded.scores is None:
        return recorded
    scores: Any = model.scores
    total = recorded.scores.copy()
    _core.tree_means(c, scores.native(), total, n_threads)
    return replace(recorded, scores=read_only(total))


def add_loadings(
    recorded: RecordedLoadings, n: npt.NDArray[np.int32], gamma: FloatArray, features: FeatureSpace
) -> RecordedLoadings:
    """The record with E[Θ | n] added."""
    blocks, prior = features.blocks, gamma if gamma.ndim == 2 else gamma[:, None]
    totals = column_totals(n, blocks) + column_totals(prior, blocks)
    Theta = recorded.Theta + ((n + prior) / totals[blocks]).astype(np.float32)
    return replace(recorded, Theta=read_only(Theta), count=recorded.count + 1)


def empty_loadings(model: Model, n_features: int) -> RecordedLoadings:
    """Zero sums of what belongs to the corpus."""
    own = {
        name: _zeros(*(side for side in shape if side is not None))
        for name, shape in model.scores.slots.own.items()
        if shape[0] is not None
    }
    return RecordedLoadings(_zeros(n_features, model.n_components), 0, own)


def empty_documents(model: Model, part: Observations) -> RecordedDocuments:
    """Zero sums of all that the score prior asks for of documents."""
    n_docs, slots = part.counts.n_docs, model.scores.slots
    shape = (n_docs, model.n_components)
    own = {
        name: _zeros(*(n_docs if side is None else side for side in slots.own[name]))
        for name in slots.of_documents
    }
    return RecordedDocuments(
        _zeros(*shape),
        _zeros(*shape) if slots.zeros else None,
        _zeros(*shape) if slots.scores else None,
        own,
    )


def _zeros(*size: int) -> npt.NDArray[np.float32]:
    return np.zeros(size, dtype=np.float32)
