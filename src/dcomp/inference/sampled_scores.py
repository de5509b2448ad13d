"""Scores of documents by sampling with Θ fixed: the second phase of BJ04 2.1.

Each sweep draws a document's scores given its counts c, then splits its words given the scores.
The mean averages E[scores | c]; the spread is that of the draws, which mean field understates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp import _core
from dcomp.errors import InvalidParameter
from dcomp.inference.base import FloatingArray
from dcomp.inference.mean_field import Weights
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray
from dcomp.models.base import moment_scores

FloatScores = npt.NDArray[np.float32]


@dataclass(frozen=True)
class SampledScores:
    """Posterior of the scores of documents, loadings given."""

    mean: FloatScores  # (I, K)
    sd: FloatScores  # (I, K): of the draws
    zero: FloatScores  # (I, K): share of draws that are exactly zero (CGP; else 0)
    c: FloatScores  # (I, K): expected words per component
    draws: FloatScores | None  # (S, I, K) when asked for
    leaves: FloatScores | None = None  # (I, leaves): means of ST's leaf scores; K is of its nodes


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
    check_draws(n_draws, burn_in)
    shape = (observed.counts.n_docs, model.n_components)
    scores = moment_scores(model)
    prior = scores.native(observed.native_exposure)
    # No words are allocated yet: with its point mass CGP would start from scores that are all zero,
    # which no document with words can have. The first sweep has no zeros, and is not counted.
    start = scores.without_zeros().native(observed.native_exposure)
    Theta = in_single_precision(weights.Theta, model.n_components)
    c, c_new = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    draw = np.empty(shape, np.float32)
    moments = Moments.empty(shape, n_draws, keep_draws)
    for sweep in range(1 + burn_in + n_draws):
        _core.sample(
            observed.corpus,
            Theta,
            weights.log_scale,
            prior if sweep else start,
            c,
            c_new,
            None,
            draw,
            seed,
            sweep,
            n_threads,
        )
        c, c_new = c_new, c
        if sweep > burn_in:
            moments.add(scores.posterior_mean(c, observed.total_exposure), draw, c)
    return moments.result()


def check_draws(n_draws: int, burn_in: int) -> None:
    """An error unless there is something to average."""
    if n_draws < 1 or burn_in < 0:
        raise InvalidParameter(
            f"n_draws must be at least 1 and burn_in at least 0; got {n_draws} and {burn_in}"
        )


@dataclass
class Moments:
    """Sums over draws: of E[scores | c], of the draws, their squares and zeros, and of c."""

    mean: FloatArray
    total: FloatArray
    square: FloatArray
    zero: FloatArray
    c: FloatArray
    kept: FloatScores | None
    n_draws: int
    count: int = 0

    @classmethod
    def empty(cls, shape: tuple[int, int], n_draws: int, keep_draws: bool) -> Moments:
        """With room for so many draws where they are kept."""
        mean, total, square, zero, c = np.zeros((5, *shape))
        kept = np.empty((n_draws, *shape), np.float32) if keep_draws else None
        return cls(mean, total, square, zero, c, kept, n_draws)

    def add(self, mean: FloatArray, draw: FloatScores, c: npt.NDArray[Any]) -> None:
        """One more draw."""
        self.mean += mean
        self.total += draw
        self.square += draw.astype(np.float64) ** 2
        self.zero += draw == 0
        self.c += c
        if self.kept is not None:
            self.kept[self.count] = draw
        self.count += 1

    def result(self) -> SampledScores:
        """Means, and the spread of the draws."""
        n = self.n_draws
        variance = np.maximum(self.square / n - (self.total / n) ** 2, 0) * (n / max(n - 1, 1))

        def single(values: FloatArray) -> FloatScores:
            return values.astype(np.float32)

        spread = single(np.sqrt(variance))
        means = single(self.mean / n), single(self.zero / n), single(self.c / n)
        return SampledScores(means[0], spread, means[1], means[2], self.kept)


def in_single_precision(Theta: FloatingArray, K: int) -> FloatScores:
    """Weights (J, padded K) as the sampler takes them: a row has more of the shorter numbers."""
    if Theta.dtype == np.float32:
        return np.ascontiguousarray(Theta, dtype=np.float32)
    lanes = _core.lanes()
    out = np.zeros((len(Theta), (K + lanes - 1) // lanes * lanes), dtype=np.float32)
    # What single precision cannot hold would be an exact zero, which the allocation divides by.
    out[:, :K] = np.maximum(Theta[:, :K], 1e-18)
    return out
