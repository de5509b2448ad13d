"""Batches of documents: which documents a step looks at, wherever they lie.

A document's batch depends on the seed and on its number in the whole corpus, so that no cut into
parts changes it. Documents go into batches in short runs, from all over the corpus: a corpus is
often in an order (of time, of subject), and of a file neighbours are read together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp import _core
from dcomp.data import halves
from dcomp.inference.base import SufficientStats
from dcomp.inference.mean_field import Allocation, Weights, allocate
from dcomp.inference.rest import rested
from dcomp.inference.start import even_c, generator, keyed_uniform
from dcomp.inference.state import Local
from dcomp.models import Observations
from dcomp.models.arrays import FloatArray

# Where nothing was said: documents of a batch, down to the least where batches would be fewer than
# FEW, and more where they would be more than MOST.
USUAL, LEAST = 128, 16
FEW, MOST = 50, 200
RUNS = 64  # of neighbours in a batch
_BATCH, _HELD, _ORDER = 11, 12, 13  # purposes of random numbers: inference/start.py has others


@dataclass(frozen=True)
class Held:
    """Which documents are held out."""

    share: float
    seed: int

    def of(self, part: Observations) -> npt.NDArray[np.bool_]:
        """Of a part's documents, (I)."""
        n_docs = part.counts.n_docs
        if not self.share:
            return np.zeros(n_docs, np.bool_)
        numbers = np.arange(part.first, part.first + n_docs)
        return keyed_uniform(self.seed, _HELD, numbers) < self.share


@dataclass(frozen=True)
class Batches:
    """The batches of an epoch, or one of them.

    >>> Batches.of(100, 1000, Held(0.0, 1)).n_batches
    10
    """

    n_batches: int
    run: int  # neighbours that stay together
    held: Held
    number: int = 0  # of the one that is meant

    @classmethod
    def of(cls, batch_size: int | str, n_docs: int, held: Held) -> Batches:
        """For a corpus of so many documents."""
        size = batch_size
        if isinstance(size, str):
            size = max(LEAST, min(USUAL, n_docs // FEW), -(-n_docs // MOST))
        n_batches = max(1, round(n_docs * (1 - held.share) / size))
        return cls(n_batches, max(1, size // RUNS), held)

    def order(self, sweep: int) -> Sequence[int]:
        """In which an epoch goes through them."""
        rng = generator(self.held.seed, _ORDER)
        rng.bit_generator.advance(sweep << 20)  # type: ignore[attr-defined]
        found: list[int] = rng.permutation(self.n_batches).tolist()
        return found

    def at(self, number: int) -> Batches:
        """One of them."""
        return replace(self, number=number)

    def rows(self, part: Observations) -> npt.NDArray[np.int64]:
        """The documents of a part that are in this batch, by their places there."""
        numbers = np.arange(part.first, part.first + part.counts.n_docs)
        place = keyed_uniform(self.held.seed, _BATCH, numbers // self.run)
        own = np.floor(place * self.n_batches) == self.number
        return np.flatnonzero(own & ~self.held.of(part))


def chosen(part: Observations, rows: npt.NDArray[np.int64]) -> Observations:
    """Some documents of a part."""
    if len(rows) == part.counts.n_docs:
        return part
    exposure = None if part.exposure is None else part.exposure[rows]
    keys = part.document_keys[rows] if part.keys is not None else None
    return Observations(part.counts.rows(rows), exposure, part.first, keys)


def nothing_of(part: Observations, local: None, held: Held, n_threads: int) -> tuple[None, int]:
    """How many documents are not held out."""
    return None, int((~held.of(part)).sum())


def allocate_batch(
    part: Observations, local: Any, shared: tuple[Allocation, Batches], n_threads: int
) -> tuple[Any, SufficientStats]:
    """The statistics of those documents of a part that are in a batch; they leave nothing."""
    how, batch = shared
    rows = batch.rows(part)
    K, dtype = how.model.n_components, how.weights.Theta.dtype
    if not len(rows):
        nothing = np.zeros((part.counts.n_features, K), dtype)
        return local, SufficientStats(nothing, np.zeros(K), np.zeros(K), 0.0, 0, 0, 0.0)
    own = chosen(part, rows)
    _, stats = allocate(own, Local(even_c(own.counts, K, dtype)), how, n_threads)
    return local, stats


def judge_held_out(
    part: Observations,
    local: None,
    shared: tuple[Allocation, Weights, Held],
    n_threads: int,
) -> tuple[None, FloatArray]:
    """Σ log p(w₂ | w₁) over a part's held-out documents, and the tokens of w₂: MODELS §9, each
    document split in two as `evaluate.completion` splits it."""
    how, mean, held = shared
    rows = np.flatnonzero(held.of(part))
    if not len(rows):
        return None, np.zeros(2)
    keys = part.document_keys[rows]
    own = replace(chosen(part, rows), keys=keys)
    first, second = halves(own.counts, 0.5, 0, keys)
    has_exposure = how.model.has_exposure
    seen = own.thinned(first, 0.5) if has_exposure else replace(own, counts=first)
    c, _ = rested(seen, how, n_threads)
    prior: Any = how.model.scores
    scores = seen.ask(prior, "posterior_mean", c).astype(mean.Theta.dtype)
    out = np.empty(second.n_docs)
    rest = replace(own, counts=second)
    scores = np.ascontiguousarray(scores)
    _core.log_predictive(rest.corpus, mean.Theta, mean.log_scale, scores, out, n_threads)
    return None, np.array([out.sum(), float(second.n_tokens)])
