"""Scores of documents by sampling with Θ fixed: the second phase of BJ04 2.1.

A document begins at the fixed point of its mean field. Each sweep draws its scores given its counts
c, then splits its words given the scores; in a long document that hardly moves, and such ones, with
those that splits have not mixed, go along lines (`inference/line_scores.py`). A document whose
draws are worth too few independent ones is carried on, with twice as many sweeps each time and
what came before as its burn-in. The mean averages E[scores | c]; the spread is that of the draws,
which mean field understates.
"""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp import _core
from dcomp.data.canonical import LIMIT
from dcomp.errors import ConvergenceWarning, InvalidParameter, UnsupportedCombination
from dcomp.executors import Executor, LocalExecutor
from dcomp.inference.base import FloatingArray
from dcomp.inference.line_scores import along_lines, is_for_lines
from dcomp.inference.mean_field import Weights
from dcomp.inference.mixing import effective_sizes
from dcomp.inference.rest import fold_in
from dcomp.inference.room import require_document_room
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray
from dcomp.models.base import moment_scores

INSTEAD = "method='fixed-point', where a model has it, takes counts of any size"
ENOUGH = (0.2, 100.0)  # effective draws: this share of all, or so many if that is fewer
MOST = 32  # sweeps of a document for each of its draws
MATTERS = 0.01  # share of a document's variance, below which a component has no say in mixing
NAMED = 5  # documents, in a warning
ROOM = 1 << 27  # bytes of draws at a time

FloatScores = npt.NDArray[np.float32]
Stretch = tuple[npt.NDArray[np.int32], FloatScores]  # c and scores of recorded sweeps, (S, I, K)


@dataclass(frozen=True)
class SampledScores:
    """Posterior of the scores of documents, loadings given.

    >>> import dcomp
    >>> X = [[4, 3, 0], [0, 1, 6], [5, 2, 0], [0, 0, 7]]
    >>> sampled = dcomp.LDA(2, verbose=0).fit(X).fit_.sample_scores([[2, 1, 0], [300, 20, 9]])
    >>> sampled.mean.shape, sampled.ess.shape, sampled.not_mixed.tolist()
    ((2, 2), (2,), [])
    """

    mean: FloatScores  # (I, K)
    sd: FloatScores  # (I, K): of the draws
    zero: FloatScores  # (I, K): share of draws that are exactly zero (CGP; else 0)
    c: FloatScores  # (I, K): expected words per component
    draws: FloatScores | None  # (S, I, K) when asked for
    ess: FloatScores  # (I): independent draws that they are worth; NaN of fewer than 8 draws
    sweeps: npt.NDArray[np.int64]  # (I): after the burn-in, with those of every carrying on
    enough: float  # what the effective sample size had to be
    leaves: FloatScores | None = None  # (I, leaves): means of ST's leaf scores; K is of its nodes

    @property
    def not_mixed(self) -> npt.NDArray[np.int64]:
        """The numbers of the documents whose draws are worth too little."""
        return np.flatnonzero(self.ess < self.enough)

    def rows(self, chosen: slice) -> SampledScores:
        """Some of the documents."""

        def one(name: str) -> Any:
            value = getattr(self, name)
            if value is None or name == "enough":
                return value
            return value[:, chosen] if name == "draws" else value[chosen]

        return SampledScores(*(one(f.name) for f in fields(self)))

    @classmethod
    def joined(cls, parts: Sequence[SampledScores]) -> SampledScores:
        """The documents of all parts."""
        if len(parts) == 1:
            return parts[0]

        def one(name: str) -> Any:
            values = [getattr(part, name) for part in parts]
            if values[0] is None or name == "enough":
                return values[0]
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
    min_ess: float | None = None
    max_sweeps: int | None = None

    @property
    def enough(self) -> float:
        """The effective sample size that a document must reach."""
        share, most = ENOUGH
        return min(share * self.n_draws, most) if self.min_ess is None else self.min_ess

    @property
    def limit(self) -> int:
        """Sweeps that a document may take to reach it."""
        return MOST * self.n_draws if self.max_sweeps is None else self.max_sweeps


def sample_scores(
    model: Model, observed: Observations, weights: Weights, executor: Executor, **options: Any
) -> SampledScores:
    """Sweeps with Θ fixed over every document on its own; the same for any number of threads.

    options: those of `Sampling`.
    """
    if observed.allowed is not None:
        raise UnsupportedCombination(
            "scores are sampled of documents that may use all components; for allowed= take the "
            "fixed point, or the draws of a fit by a sampler"
        )
    return sampled(_sample_part, Sampling(model, weights, **options), observed, executor)


def sampled(task: Any, how: Sampling, observed: Observations, executor: Executor) -> SampledScores:
    """What a task gives of all parts, and a warning where documents have not mixed."""
    check_draws(how)
    require_document_room(observed, "sampling", INSTEAD)
    parts = observed.parts
    found, _ = executor.map_reduce(task, parts, [None] * len(parts), how)
    scores = SampledScores.joined(executor.gather(found))
    _warn(scores, observed)
    return scores


def _sample_part(
    part: Observations, local: None, how: Sampling, n_threads: int
) -> tuple[SampledScores, None]:
    size = max(1, ROOM // (12 * how.n_draws * how.model.n_components))
    n_docs = part.counts.n_docs
    runs = (np.arange(first, min(first + size, n_docs)) for first in range(0, n_docs, size))
    pieces = [_sample_documents(part, rows, how, n_threads) for rows in runs]
    return SampledScores.joined(pieces), None


def _sample_documents(
    part: Observations, rows: npt.NDArray[np.int64], how: Sampling, n_threads: int
) -> SampledScores:
    """A few of a part's documents: by splits, or along lines where these do not do."""
    whole = Chosen.build(part, rows)
    found = Found.empty(len(rows), how)
    lines = is_for_lines(how.model, whole.observed)
    splits = np.flatnonzero(~lines)
    if splits.size:
        # Along lines a document takes long, and mixes: splits have three tries before.
        steps = (1, 4, 16) if how.model.scores.capabilities.gammas else doubling(how)
        _carry_on(whole, splits, Splits(how, n_threads), how, found, steps)
    if how.model.scores.capabilities.gammas:
        left = splits[found.ess[splits] < how.enough]
        for chosen, start in ((np.flatnonzero(lines), None), (left, found.c[-1])):
            c = None if start is None else start[chosen]
            _carry_on(whole, chosen, Lines(how, n_threads, c), how, found, doubling(how))
    return found.result(how, whole.observed)


@dataclass(frozen=True)
class Chosen:
    """Some documents, with their numbers in the whole corpus, by which random numbers are named."""

    observed: Observations
    number: npt.NDArray[np.int64]

    @classmethod
    def build(cls, part: Observations, rows: npt.NDArray[np.int64]) -> Chosen:
        """Of a part of the corpus."""
        if len(rows) == part.counts.n_docs:
            return cls(part, part.first + np.arange(len(rows)))
        return cls(_rows(part, rows), part.first + rows)

    def of(self, rows: npt.NDArray[np.int64]) -> Chosen:
        """Some of these."""
        if len(rows) == len(self.number):
            return self
        return Chosen(_rows(self.observed, rows), self.number[rows])


def _rows(observed: Observations, rows: npt.NDArray[np.int64]) -> Observations:
    exposure = None if observed.exposure is None else observed.exposure[rows]
    return Observations(observed.counts.rows(rows), exposure)


@dataclass
class Found:
    """The recorded draws of documents, and what they are worth."""

    c: npt.NDArray[np.int32]  # (S, I, K)
    scores: FloatScores  # (S, I, K)
    ess: FloatScores  # (I)
    sweeps: npt.NDArray[np.int64]  # (I)

    @classmethod
    def empty(cls, n_docs: int, how: Sampling) -> Found:
        """With room for all draws."""
        shape = (how.n_draws, n_docs, how.model.n_components)
        c, scores = np.zeros(shape, np.int32), np.empty(shape, np.float32)
        return cls(c, scores, np.zeros(n_docs, np.float32), np.zeros(n_docs, np.int64))

    def put(self, rows: npt.NDArray[np.int64], stretch: Stretch, sweeps: int) -> None:
        """New draws of some documents in place of those before."""
        self.c[:, rows], self.scores[:, rows] = stretch
        self.ess[rows] = document_sizes(stretch[1])
        self.sweeps[rows] += sweeps

    def result(self, how: Sampling, observed: Observations) -> SampledScores:
        """Sums over the draws."""
        prior, exposure = moment_scores(how.model), observed.total_exposure
        moments = Moments.empty(self.scores.shape[1:], how.n_draws, how.keep_draws)
        for c, draw in zip(self.c, self.scores, strict=True):
            moments.add(prior.posterior_mean(c, exposure), draw, c)
        return moments.result(self.ess, self.sweeps, how.enough)


def document_sizes(draws: FloatScores) -> FloatScores:
    """Effective sample sizes (I) of draws (S, I, K): the smallest over the components that hold a
    hundredth of the document's variance or more."""
    if len(draws) < 2:
        return np.full(draws.shape[1], np.nan, np.float32)
    sizes, variance = effective_sizes(draws), draws.var(axis=0, dtype=np.float64)
    small = variance < MATTERS * variance.sum(axis=1, keepdims=True)
    return np.asarray(np.where(small, len(draws), sizes).min(axis=1), dtype=np.float32)


def doubling(how: Sampling) -> Iterator[int]:
    """Sweeps for each draw, twice as many every time."""
    step = 1
    while step <= max(how.limit // how.n_draws, 1):
        yield step
        step *= 2


Sweeper = Callable[[Chosen, npt.NDArray[np.int64], int], Stretch]


def _carry_on(
    whole: Chosen,
    rows: npt.NDArray[np.int64],
    sweeper: Sweeper,
    how: Sampling,
    found: Found,
    steps: Any,
) -> None:
    """Sweeps until all of these documents have mixed, or the limit is reached; what has not is gone
    on with alone, so that no document depends on its neighbours."""
    done, left = 0, rows
    for every in steps:
        if not left.size or (done and done + every * how.n_draws > how.limit):
            return
        places = np.searchsorted(rows, left)
        found.put(left, sweeper(whole.of(left), places, every), every * how.n_draws)
        done += every * how.n_draws
        left = left[found.ess[left] < how.enough]


class Splits:
    """Sweeps by splits: scores given c, then every count split at once (`_core.sample`)."""

    def __init__(self, how: Sampling, n_threads: int) -> None:
        self.how, self.n_threads = how, n_threads
        self.Theta = in_single_precision(how.weights.Theta, how.model.n_components)
        self.sweep = 0
        self.c: npt.NDArray[np.int32] | None = None  # of the documents it began with

    def __call__(self, chosen: Chosen, places: npt.NDArray[np.int64], every: int) -> Stretch:
        """Draws of the documents at these places of those it began with."""
        how, scores = self.how, moment_scores(self.how.model)
        exposure = chosen.observed.native_exposure
        prior, skip = scores.native(exposure), 0
        if self.c is None:
            self.c = self._start(chosen)
            # The first sweep has no zeros, and is not counted: with CGP's point mass a component
            # that the start leaves without words would be gone.
            self._sweep(chosen, scores.without_zeros().native(exposure), self.c)
            skip = how.burn_in
        shape = (how.n_draws, len(places), how.model.n_components)
        kept, draws = np.empty(shape, np.int32), np.empty(shape, np.float32)
        c = self.c[places]
        for number in range(1, skip + every * how.n_draws + 1):
            draw = self._sweep(chosen, prior, c)
            place, rest = divmod(number - skip, every)
            if number > skip and not rest:
                kept[place - 1], draws[place - 1] = c, draw
        self.c[places] = c
        return kept, draws

    def _start(self, chosen: Chosen) -> npt.NDArray[np.int32]:
        """The expected words at each document's fixed point."""
        model = self.how.model.without_zeros()
        shape = (len(chosen.number), model.n_components)
        if model.scores.capabilities.fixed_point != "mean-field":
            return np.zeros(shape, np.int32)
        workers = LocalExecutor(self.n_threads)
        c = fold_in(model, chosen.observed, self.how.weights, workers).c
        return np.rint(c.astype(np.float64)).clip(max=LIMIT).astype(np.int32)

    def _sweep(
        self, chosen: Chosen, prior: _core.ScorePrior, c: npt.NDArray[np.int32]
    ) -> FloatScores:
        """One more sweep: c changes, the scores drawn on the way are returned."""
        draw, after = np.empty(c.shape, np.float32), np.empty_like(c)
        weights = (self.Theta, self.how.weights.log_scale)
        how = (self.how.seed, self.sweep, self.n_threads)
        where = (chosen.observed.corpus, *weights, prior, c, after, None, draw)
        # Components are switched in documents of any length: a document is drawn but a few times.
        _core.sample(*where, *how, number=chosen.number, switch_from=0)
        c[...] = after
        self.sweep += 1
        return draw


class Lines:
    """Sweeps along lines, from the mode or from c of the documents it begins with."""

    def __init__(
        self, how: Sampling, n_threads: int, c: npt.NDArray[np.int32] | None = None
    ) -> None:
        self.how, self.n_threads, self.c = how, n_threads, c
        self.Theta = in_single_precision(how.weights.Theta, how.model.n_components)
        self.sweep = 0

    def __call__(self, chosen: Chosen, places: npt.NDArray[np.int64], every: int) -> Stretch:
        """Draws of the documents at these places of those it began with."""
        how = self.how
        skip = how.burn_in if self.sweep == 0 else 0
        c = None if self.c is None else self.c[places]
        stretch = along_lines(
            how.model,
            chosen.observed,
            chosen.number,
            self.Theta,
            c,
            shape=(how.n_draws, every, skip),
            seed=how.seed,
            sweep=self.sweep,
            n_threads=self.n_threads,
        )
        self.sweep += 1 + skip + every * how.n_draws
        if self.c is None:
            self.c = np.zeros((len(places), how.model.n_components), np.int32)
        self.c[places] = stretch[0][-1]
        return stretch


def _warn(scores: SampledScores, observed: Observations) -> None:
    """One warning for all documents that have not mixed, the first few by name."""
    left = scores.not_mixed
    if not left.size:
        return
    names = [repr(observed.counts.doc_name(int(i))) for i in left[:NAMED]]
    more = f" and {left.size - NAMED:,} more" if left.size > NAMED else ""
    said = (
        f"scores of {left.size:,} of {len(scores.ess):,} documents have not mixed: "
        f"{', '.join(names)}{more}. Their draws are worth fewer than {scores.enough:g} independent "
        "ones (`ess`); more draws (n_draws=) or sweeps (max_sweeps=) help."
    )
    warnings.warn(textwrap.fill(said, 79), ConvergenceWarning, stacklevel=2)


def check_draws(how: Sampling) -> None:
    """An error unless there is something to average."""
    if how.n_draws < 1 or how.burn_in < 0:
        raise InvalidParameter(
            f"n_draws must be at least 1 and burn_in at least 0; got {how.n_draws} and "
            f"{how.burn_in}"
        )
    if not 0 <= how.enough <= how.n_draws:
        raise InvalidParameter(
            f"min_ess must lie between 0 and n_draws = {how.n_draws}; got {how.min_ess}"
        )
    if how.limit < how.n_draws:
        raise InvalidParameter(
            f"max_sweeps must be at least n_draws = {how.n_draws}; got {how.max_sweeps}"
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
    def empty(cls, shape: tuple[int, ...], n_draws: int, keep_draws: bool) -> Moments:
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

    def result(
        self, ess: FloatScores, sweeps: npt.NDArray[np.int64], enough: float
    ) -> SampledScores:
        """Means, the spread of the draws, and what these are worth."""
        n = self.n_draws
        variance = np.maximum(self.square / n - (self.total / n) ** 2, 0) * (n / max(n - 1, 1))

        def single(values: FloatArray) -> FloatScores:
            return values.astype(np.float32)

        spread = single(np.sqrt(variance))
        means = single(self.mean / n), single(self.zero / n), single(self.c / n)
        return SampledScores(means[0], spread, means[1], means[2], self.kept, ess, sweeps, enough)


def in_single_precision(Theta: FloatingArray, K: int) -> FloatScores:
    """Weights (J, padded K) as the sampler takes them: a row has more of the shorter numbers."""
    if Theta.dtype == np.float32:
        return np.ascontiguousarray(Theta, dtype=np.float32)
    lanes = _core.lanes()
    out = np.zeros((len(Theta), (K + lanes - 1) // lanes * lanes), dtype=np.float32)
    # What single precision cannot hold would be an exact zero, which the allocation divides by.
    out[:, :K] = np.maximum(Theta[:, :K], 1e-18)
    return out
