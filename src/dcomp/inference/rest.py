"""Documents at rest with the loadings given: the one answer to what the scores of a document are.

`transform` gives it of any document, and a climb that has converged leaves its own documents there
(`ascent`), so that both are the same numbers.

With scores at their modes a document has one optimum. In mean field it has several where α is below
1, and those that other starts lead to may have a higher bound; they are sparser, farther from the
mean of the posterior, and predict worse (docs/decisions/0026). So a document begins with even
shares, always.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from dcomp import _core
from dcomp.executors import Executor
from dcomp.inference.base import FloatingArray
from dcomp.inference.mean_field import Allocation, Weights, native_prior
from dcomp.inference.start import even_c
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray

# Updates of a document at most, and Σ|Δc| / L at which it is at rest; long ones are stiller.
AT_REST = (500, 1e-5)


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
    what = "posterior_mode" if how.mode == "maximise" else "posterior_mean"
    scores = part.ask(prior, what, c).astype(c.dtype)
    return FoldIn(c, scores, bound + model.log_constant(part, combinatoric=False)), None


def rested(part: Observations, how: Allocation, n_threads: int) -> tuple[FloatingArray, FloatArray]:
    """The fixed point that each document comes to from even shares, and its bound but for a
    constant. It depends on the document and the loadings alone."""
    even = even_c(part.counts, how.model.n_components, how.weights.Theta.dtype)
    return settled(part, even, how, n_threads)


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
