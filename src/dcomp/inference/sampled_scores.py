"""Scores of documents by sampling with Θ fixed: the second phase of BJ04 2.1.

Each sweep draws a document's scores given its counts c, then splits its words given the scores.
The mean averages E[scores | c]; the spread is that of the draws, which mean field understates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp import _core
from dcomp.errors import InvalidParameter
from dcomp.inference.base import FloatingArray
from dcomp.inference.mean_field import Weights
from dcomp.inference.sampling import PriorArguments
from dcomp.models import Model, Observations

FloatScores = npt.NDArray[np.float32]


@dataclass(frozen=True)
class SampledScores:
    """Posterior of the scores of documents, loadings given."""

    mean: FloatScores  # (I, K)
    sd: FloatScores  # (I, K): of the draws
    zero: FloatScores  # (I, K): share of draws that are exactly zero (CGP; else 0)
    c: FloatScores  # (I, K): expected words per component
    draws: FloatScores | None  # (S, I, K) when asked for


def sample_scores(
    model: Model,
    observed: Observations,
    weights: Weights,
    n_threads: int,
    *,
    n_draws: int = 50,
    burn_in: int = 20,
    seed: int = 0,
    keep_draws: bool = False,
) -> SampledScores:
    """Sweeps with Θ fixed over every document on its own; the same for any number of threads."""
    if n_draws < 1 or burn_in < 0:
        raise InvalidParameter(
            f"n_draws must be at least 1 and burn_in at least 0; got {n_draws} and {burn_in}"
        )
    shape = (observed.counts.n_docs, model.n_components)
    prior = PriorArguments.of(model, observed)
    moments: Any = model.scores
    # No words are allocated yet: with its point mass CGP would start from scores that are all zero,
    # which no document with words can have. The first sweep has no zeros, and is not counted.
    start = replace(prior, rho=None)
    Theta = _in_single_precision(weights.Theta, model.n_components)
    c, c_new = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    draw = np.empty(shape, np.float32)
    mean, total, square = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    c_sum, zero = np.zeros(shape), np.zeros(shape)
    kept = np.empty((n_draws, *shape), np.float32) if keep_draws else None
    for sweep in range(1 + burn_in + n_draws):
        _core.sample(
            observed.corpus,
            Theta,
            weights.log_scale,
            *(prior if sweep else start).as_tuple(),
            c,
            c_new,
            None,
            draw,
            seed,
            sweep,
            n_threads,
        )
        c, c_new = c_new, c
        if sweep <= burn_in:
            continue
        mean += moments.posterior_mean(c, observed.total_exposure)
        total += draw
        square += draw.astype(np.float64) ** 2
        zero += draw == 0
        c_sum += c
        if kept is not None:
            kept[sweep - burn_in - 1] = draw
    variance = np.maximum(square / n_draws - (total / n_draws) ** 2, 0)
    variance *= n_draws / max(n_draws - 1, 1)

    def as_float(values: npt.NDArray[np.float64]) -> FloatScores:
        return values.astype(np.float32)

    return SampledScores(
        as_float(mean / n_draws),
        as_float(np.sqrt(variance)),
        as_float(zero / n_draws),
        as_float(c_sum / n_draws),
        kept,
    )


def _in_single_precision(Theta: FloatingArray, K: int) -> FloatScores:
    """Weights (J, padded K) as the sampler takes them: a row has more of the shorter numbers."""
    if Theta.dtype == np.float32:
        return np.ascontiguousarray(Theta, dtype=np.float32)
    lanes = _core.lanes()
    out = np.zeros((len(Theta), (K + lanes - 1) // lanes * lanes), dtype=np.float32)
    # What single precision cannot hold would be an exact zero, which the allocation divides by.
    out[:, :K] = np.maximum(Theta[:, :K], 1e-18)
    return out
