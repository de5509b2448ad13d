"""Documents at rest with the loadings given: the one answer to what the scores of a document are.

`transform` gives it of any document, and a climb that has converged leaves its own documents there
(`ascent`), so that both are the same numbers.

With scores at their modes a document has one optimum, and an even start leads to it. In mean field
it has several where α is below 1: which words make which component is decided early, and an even
start spreads them over many. So a document also begins with the shares that it came to, sharpened,
and with the one component that explains it best; the end with the highest bound is the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dcomp import _core
from dcomp.executors import Executor
from dcomp.inference.base import FloatingArray
from dcomp.inference.mean_field import Allocation, Weights, native_prior
from dcomp.inference.start import even_c
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray

# Updates of a document at most, and Σ|Δc| / L at which it is at rest; long ones are stiller.
AT_REST = (500, 1e-5)
SURELY = 1e-3  # nats that a document must gain to be moved: less is what it had left to settle
SHARPER = 2.0  # the power of shares in the second start
SINGLE = 0.9  # what the best component has in the third


@dataclass(frozen=True)
class FoldIn:
    """Fixed points of documents with the loadings given."""

    c: FloatingArray  # (I, K): expected words per component
    scores: FloatingArray  # (I, K): E[m] or E[l]
    bound: FloatArray  # (I): (16) or (19), words as a sequence

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The documents of all parts."""
        if len(parts) == 1:
            return parts[0]
        names = [f.name for f in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def fold_in(
    model: Model,
    observed: Observations,
    weights: Weights,
    executor: Executor,
    *,
    max_inner: int = AT_REST[0],
    tol: float = AT_REST[1],
    mode: str = "expect",
    temper: float = 1.0,
) -> FoldIn:
    """The per-document fixed point of BJ06 (13) or (17), every document on its own; with mode
    "maximise" that of EM, whose scores are modes and whose bound is log p(w, scores | Θ).

    temper: below 1 for EM that was tempered, whose weights then are tempered, too.
    """
    how = Allocation(model, weights.tempered(temper), max_inner, tol, mode, temper)
    parts = observed.parts
    found, _ = executor.map_reduce(_fold_in, parts, [None] * len(parts), how)
    return FoldIn.joined(executor.gather(found))


def _fold_in(
    part: Observations, local: None, how: Allocation, n_threads: int
) -> tuple[FoldIn, None]:
    model = how.model
    c, bound = rested(part, how, n_threads)
    prior: Any = model.scores
    summary = prior.posterior_mode if how.mode == "maximise" else prior.posterior_mean
    scores = summary(c, part.total_exposure).astype(c.dtype)
    return FoldIn(c, scores, bound + model.log_constant(part, combinatoric=False)), None


def rested(part: Observations, how: Allocation, n_threads: int) -> tuple[FloatingArray, FloatArray]:
    """The best fixed point of each document that is found without knowing one, and its bound but
    for a constant. It depends on the document and the loadings alone."""
    K, dtype = how.model.n_components, how.weights.Theta.dtype
    c, bound = settled(part, even_c(part.counts, K, dtype), how, n_threads)
    if how.mode == "maximise" or K == 1:
        return c, bound
    for start in _other_starts(part, c, how):
        other, value = settled(part, start, how, n_threads)
        better = value - bound > SURELY
        c, bound = np.where(better[:, None], other, c), np.where(better, value, bound)
    return c, bound


def _other_starts(part: Observations, c: FloatingArray, how: Allocation) -> Iterator[FloatingArray]:
    """Where else documents begin, with the end of the even start given."""
    words = part.doc_totals[:, None].astype(c.dtype)
    shares = (c / np.maximum(c.max(axis=1, keepdims=True), 1e-30)) ** c.dtype.type(SHARPER)
    yield shares * (words / np.maximum(shares.sum(axis=1, keepdims=True), 1e-30))
    start = np.repeat(words * ((1 - SINGLE) / c.shape[1]), c.shape[1], axis=1).astype(c.dtype)
    start[np.arange(len(start)), best_single(part, how.weights, c.shape[1])] += SINGLE * words[:, 0]
    yield start


def best_single(part: Observations, weights: Weights, n_components: int) -> npt.NDArray[np.int64]:
    """The component that alone makes each document most likely, (I): the largest Σ_j w_ij log θ_jk.

    >>> from dcomp import Counts
    >>> weights = Weights.of_loadings(np.array([[0.9, 0.2], [0.1, 0.8]]))
    >>> best_single(Observations.build(Counts.from_matrix([[4, 1], [0, 2]])), weights, 2)
    array([0, 1])
    """
    # Weights are scaled within a row, which moves all components of a word alike.
    log_Theta = np.log(weights.Theta[:, :n_components])
    return np.asarray((part.counts.to_scipy() @ log_Theta).argmax(axis=1))


def settled(
    part: Observations, c: FloatingArray, how: Allocation, n_threads: int
) -> tuple[FloatingArray, FloatArray]:
    """The fixed point that each document comes to from c, and its bound but for a constant."""
    weights, c_new, bound = how.weights, np.empty_like(c), np.empty(part.counts.n_docs)
    _core.fold_in(
        part.corpus,
        weights.Theta,
        weights.log_scale,
        native_prior(how.model, part, how.mode, how.temper),
        np.ascontiguousarray(c),
        c_new,
        bound,
        how.max_inner,
        how.inner_tol,
        n_threads,
    )
    return c_new, bound
