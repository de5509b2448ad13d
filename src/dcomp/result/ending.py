"""Where the chains of a hierarchical model ended: all of them, because their trees differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dcomp.data import FeatureSpace
from dcomp.inference import Algorithm, State
from dcomp.inference.base import FloatingArray
from dcomp.models import Model
from dcomp.models.arrays import column_totals, read_only


@dataclass(frozen=True, eq=False)
class Ending:
    """What one chain leaves of a model whose components have edges: its structure and loadings.

    >>> import dcomp
    >>> X = [[4, 3, 0, 0, 2], [5, 2, 0, 1, 3], [0, 0, 6, 3, 2], [0, 1, 4, 4, 1]]
    >>> fitted = dcomp.TreeDCA(2, 2, max_iter=9, n_chains=3, verbose=0).fit(X).fit_
    >>> len(fitted.endings), fitted.endings[0].Theta.shape
    (3, (5, 3))
    """

    seed: int
    value: float  # where it came to rest, as `Info.chain_value` has it: the best has the largest
    model: Model  # with the structure that this chain ended with
    Theta: npt.NDArray[np.float32]  # (J, nodes): E[θ], as `Fit.Theta` has it

    @classmethod
    def build(
        cls, seed: int, value: float, state: State, algorithm: Algorithm, features: FeatureSpace
    ) -> Ending:
        """From the last state of a chain."""
        Theta = np.asarray(mean_loadings(state, algorithm, features), dtype=np.float32)
        return cls(seed, value, state.model, read_only(Theta))


def best_of(endings: Sequence[Ending]) -> int:
    """The place of the chain that ended highest, of equals the first: the one that a fit shows."""
    return int(np.argmax([ending.value for ending in endings]))


def mean_loadings(state: State, algorithm: Algorithm, features: FeatureSpace) -> FloatingArray:
    """E[θ_jk] (J, K), columns sum to 1 within each block; of a sampler the average of E[Θ | n] over
    the recorded sweeps (BJ04 2.1), of loadings at their modes the mode."""
    recorded = state.recorded
    if recorded is not None and recorded.count:
        return read_only(recorded.Theta / np.float32(recorded.count))
    extra = state.model.loadings.table(features.n_features, state.model.n_components)
    if algorithm.treatment == "map":
        extra = extra - 1
    blocks = features.blocks
    totals = column_totals(state.n, blocks)
    totals += column_totals(extra, blocks)
    # Without words and without a prior nothing is known: all features of a block are alike.
    nothing = (totals <= 0)[blocks]
    even = (1 / np.bincount(blocks))[blocks][:, None]
    Theta = np.where(nothing, even, (state.n + extra) / np.maximum(totals, 1e-300)[blocks])
    return read_only(Theta.astype(algorithm.precision))
