"""Scores of documents by sampling with Θ fixed: the second phase of BJ04 2.1.

Each sweep draws a document's scores given its counts c, then splits its words given the scores.
The mean averages E[scores | c]; the spread is that of the draws, which mean field understates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp import _core
from dcomp.errors import InvalidParameter
from dcomp.executors import Executor
from dcomp.inference.base import FloatingArray
from dcomp.inference.mean_field import Weights
from dcomp.inference.room import require_document_room
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray
from dcomp.models.base import moment_scores

INSTEAD = "method='fixed-point', where a model has it, takes counts of any size"

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

    @classmethod
    def joined(cls, parts: Sequence[SampledScores]) -> SampledScores:
        """The documents of all parts."""
        if len(parts) == 1:
            return parts[0]

        def one(name: str) -> Any:
            values = [getattr(part, name) for part in parts]
            if values[0] is None:
                return None
            return np.concatenate(values, axis=1 if name == "draws" else 0)

        return cls(*(one(f.name) for f in fields(cls)))


@dataclass(frozen=True)
class Sampling:
    """What every part of the documents is told."""

    model: Any
    weights: Weights
    n_draws: int = 50
    burn_in: int = 20
    seed: int = 0
    keep_draws: bool = False


def sample_scores(
    model: Model,
    observed: Observations,
    weights: Weights,
    executor: Executor,
    *,
    n_draws: int = 50,
    burn_in: int = 20,
    seed: int = 0,
    keep_draws: bool = False,
) -> SampledScores:
    """Sweeps with Θ fixed over every document on its own; the same for any number of threads."""
    how = Sampling(model, weights, n_draws, burn_in, seed, keep_draws)
    return sampled(_sample_part, how, observed, executor)


def sampled(task: Any, how: Sampling, observed: Observations, executor: Executor) -> SampledScores:
    """What a task gives of all parts."""
    check_draws(how.n_draws, how.burn_in)
    require_document_room(observed, "sampling", INSTEAD)
    parts = observed.parts
    found, _ = executor.map_reduce(task, parts, [None] * len(parts), how)
    return SampledScores.joined(executor.gather(found))


def _sample_part(
    part: Observations, local: None, how: Sampling, n_threads: int
) -> tuple[SampledScores, None]:
    shape = (part.counts.n_docs, how.model.n_components)
    scores = moment_scores(how.model)
    prior = scores.native(part.native_exposure)
    # No words are allocated yet: with its point mass CGP would start from scores that are all zero,
    # which no document with words can have. The first sweep has no zeros, and is not counted.
    start = scores.without_zeros().native(part.native_exposure)
    Theta = in_single_precision(how.weights.Theta, how.model.n_components)
    c, c_new = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    draw = np.empty(shape, np.float32)
    moments = Moments.empty(shape, how.n_draws, how.keep_draws)
    for sweep in range(1 + how.burn_in + how.n_draws):
        _core.sample(
            part.corpus,
            Theta,
            how.weights.log_scale,
            prior if sweep else start,
            c,
            c_new,
            None,
            draw,
            how.seed,
            sweep,
            n_threads,
        )
        c, c_new = c_new, c
        if sweep > how.burn_in:
            moments.add(scores.posterior_mean(c, part.total_exposure), draw, c)
    return moments.result(), None


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
