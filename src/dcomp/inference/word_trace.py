"""log p(w | V, Θ) of a sampler's sweeps, as BJ06 has them recorded: figure 7, step 2(c), and VII.C.

Given the components V of all words the words are independent of the scores: Σ_jk n_jk log θ_jk,
with n_jk = Σ_i v_ijk. Θ is its mean given n, or drawn: in VII.C's words the mean "is not a true
sampled quantity", and a draw in every cycle is. Direct Gibbs (figure 6) has a Θ that its V was
drawn with; collapsed Gibbs draws one given n, that of the draws it keeps. Figure 6's own quantity,
log p(w | scores, Θ), is the history's `documents` of direct Gibbs. None of these is evidence: on
average they exceed it by the divergence of posterior from prior (MODELS §9).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp import _core
from dcomp.data import FeatureSpace
from dcomp.errors import InvalidParameter
from dcomp.inference.base import Info
from dcomp.models import Model
from dcomp.models.arrays import FloatArray, column_totals

TRACES = ("mean", "drawn", "both")


@dataclass(frozen=True, kw_only=True)
class WordsInfo(Info):
    """A row of a sampler that traces log p(w | V, Θ)."""

    words_mean: float | None = None  # with Θ at its mean given n
    words_drawn: float | None = None  # with Θ drawn


def check_trace(trace: str | None) -> None:
    """An error unless this can be traced."""
    if trace is not None and trace not in TRACES:
        raise InvalidParameter(
            f"trace_words must be None or one of {', '.join(TRACES)}; got {trace!r}"
        )


def traced(
    trace: str | None, n: npt.NDArray[Any], model: Model, features: FeatureSpace, drawn: Any
) -> dict[str, float]:
    """What a row has of the words; `drawn()` gives the weights and scales of a Θ that was drawn."""
    out = {}
    if trace in ("mean", "both"):
        gamma = model.loadings.table(features.n_features, model.n_components)
        out["words_mean"] = given_mean_loadings(n, gamma, features)
    if trace in ("drawn", "both"):
        out["words_drawn"] = given_loadings(n, *drawn())
    return out


def given_mean_loadings(n: npt.NDArray[Any], gamma: FloatArray, features: FeatureSpace) -> float:
    """Σ n_jk log E[θ_jk | n], E[θ_jk | n] = (n_jk + γ_j) / Σ of these over the block: BJ06 (15).

    >>> space = FeatureSpace.build(2)
    >>> value = given_mean_loadings(np.array([[3], [1]]), np.ones(2), space)
    >>> bool(np.isclose(value, 3 * np.log(4 / 6) + np.log(2 / 6)))
    True
    """
    j, k = np.nonzero(n)
    words = n[j, k].astype(np.float64)
    totals = np.zeros((features.n_blocks, n.shape[1]))
    np.add.at(totals, (features.blocks[j], k), words)
    prior = np.broadcast_to(gamma if gamma.ndim == 2 else gamma[:, None], n.shape)
    totals += column_totals(prior, features.blocks)
    log_theta = np.log(words + prior[j, k]) - np.log(totals[features.blocks[j], k])
    return float(words @ log_theta)


def given_loadings(
    n: npt.NDArray[Any], weights: npt.NDArray[np.float32], log_scale: FloatArray
) -> float:
    """Σ n_jk log θ_jk, θ_jk = weight_jk exp(scale_j) as kernels have it."""
    j, k = np.nonzero(n)
    log_theta = np.log(weights[j, k].astype(np.float64)) + log_scale[j]
    return float(n[j, k].astype(np.float64) @ log_theta)


def drawn_given(
    n: npt.NDArray[np.int32],
    model: Model,
    features: FeatureSpace,
    seed: int,
    sweep: int,
    n_threads: int,
) -> tuple[npt.NDArray[np.float32], FloatArray]:
    """Weights and scales of the Θ that a kept draw of this sweep has."""
    log_scale = np.empty(len(n))
    gamma = model.loadings.columns(len(n), model.n_components)
    blocks = (features.blocks, features.n_blocks)
    drawn = _core.draw_loadings(n, gamma, *blocks, seed, sweep, log_scale, n_threads, kept=True)
    return drawn, log_scale
