"""The leaves of structured components (ST) in a fit: their scores, Υ, and the flat model that they
are once Υ is given (B09 3.2). `Fit` has these as methods."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dcomp.data import Counts
from dcomp.errors import UnsupportedCombination
from dcomp.inference import State
from dcomp.inference.base import FloatingArray
from dcomp.inference.pairs import PairCounts
from dcomp.inference.state import Recorded
from dcomp.models.arrays import FloatArray, read_only
from dcomp.result.tables import Assignments

if TYPE_CHECKING:
    from dcomp.result.fit import Fit


def of_leaves(fit: Fit, what: str) -> Any:
    """The fit's model if it has leaves below its nodes, else an error that says what there is only
    of such a model."""
    if fit.model.leaf_model is None:
        raise UnsupportedCombination(
            f"{what} are of model ST (dcomp.StructuredDCA); this is {fit.model.key}"
        )
    return fit.model


def _pair_counts(fit: Fit) -> PairCounts:
    assert isinstance(fit.state.carried, PairCounts)
    return fit.state.carried


def leaf_scores(fit: Fit, exposure: FloatArray) -> FloatingArray:
    """E[q] or E[l] of the training documents' leaves, (I, K)."""
    model, recorded = of_leaves(fit, "leaf scores"), fit.state.recorded
    if recorded is not None and recorded.count:
        return read_only(recorded.own["leaf_scores"] / np.float32(recorded.count))
    mean = model.scores.leaves.posterior_mean(_pair_counts(fit).leaf_counts, exposure)
    return read_only(mean.astype(fit.dtype))


def upsilon(fit: Fit) -> FloatingArray:
    """Υ (K, H), rows sum to 1."""
    model, recorded = of_leaves(fit, "upsilon"), fit.state.recorded
    if recorded is not None and recorded.count:
        pairs = recorded.own["upsilon"].astype(np.float64) / recorded.count
    else:
        pairs = model.scores.pooled_upsilon(_pair_counts(fit).structure_counts)
    table = model.structure.table(pairs).toarray()
    return read_only((table / table.sum(axis=1, keepdims=True)).astype(fit.dtype))


def as_leaves(fit: Fit) -> Fit:
    """The fit as one of flat components, its leaves."""
    model = of_leaves(fit, "leaves")
    model.scores.capabilities.require("flat_leaves", model.key)
    words: Any = _pair_counts(fit).leaf_counts
    c = read_only(words.astype(np.float32))
    has_zeros = model.leaf_model.scores.slots.zeros
    zeros = (c == 0).astype(np.float32) if has_zeros else None
    recorded = Recorded(fit.leaf_Theta, c, zeros, 1)
    n = read_only(fit.leaf_Theta * c.sum(axis=0))
    state = State.whole(model.leaf_model, c, n, fit.n_sweeps, fit.seed, recorded=recorded)
    return replace(fit, state=state, kept=None)


def pair_assignments(model: Any, counts: Counts, z: npt.NDArray[np.uint16]) -> Assignments:
    """The node of each token, with the leaf beside it, from its pair of the two."""
    structure = model.structure
    sides = (structure.node, structure.leaf)
    node, leaf = (read_only(side[z].astype(np.uint16)) for side in sides)
    return replace(Assignments.build(counts, node), leaf=leaf)
