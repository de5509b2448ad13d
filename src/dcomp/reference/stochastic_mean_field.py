"""Stochastic mean field for DM and GP in plain NumPy: Hoffman, Blei and Bach 2010, algorithm 2.

Dense, slow and short. `dcomp.inference.stochastic_mean_field` does the same with native kernels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dcomp.models.arrays import FloatArray
from dcomp.reference.mean_field import loadings, sweep


@dataclass(frozen=True)
class Moved:
    """After a step: statistics of the corpus, and the mean moments of a document."""

    n: FloatArray  # (J, K)
    log_scores: FloatArray  # (K,): mean E[log score]
    mean_scores: FloatArray  # (K,)


def step(
    W: npt.NDArray[np.int64],
    before: Moved,
    steps: int,
    *,
    n_docs: int,
    gamma: FloatArray,
    blocks: npt.NDArray[np.int32],
    treatment: str,
    alpha: FloatArray,
    beta: FloatArray | None = None,
    exposure: FloatArray | None = None,
    inner: int = 20,
    delay: float = 10.0,
    forgetting: float = 0.7,
) -> Moved:
    """One step by a batch W of a corpus of `n_docs` documents, after so many steps: every document
    from even shares by `inner` updates, then n ← (1 − s) n + s (D/|B|) n_B, s = (τ0 + t)^−κ."""
    K = len(alpha)
    even = np.repeat(W.sum(axis=1, keepdims=True) / K, K, axis=1)
    theta = loadings(before.n, gamma, blocks, treatment)
    found = sweep(W, even, theta, alpha, beta, exposure, inner)
    size = (delay + steps) ** -forgetting
    own = max(size, 1 / (steps + 1))  # moments have no start to be near to
    return Moved(
        (1 - size) * before.n + size * n_docs / len(W) * found.n,
        (1 - own) * before.log_scores + own * found.log_scores / len(W),
        (1 - own) * before.mean_scores + own * found.mean_scores / len(W),
    )
