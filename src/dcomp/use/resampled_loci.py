"""Intervals of maximum likelihood's shares: the bootstrap over loci, as ADMIXTURE has it.

Loci are drawn with replacement, n_ij times how often the locus of j was drawn, and the likelihood
is maximised again from the fit's answer, so that ancestries keep their places. A posterior under
flat priors is no measure of a maximum: with few loci it lies far from the corners where unmixed
people are, and it never holds the estimate that is printed beside it.

Shares end at 0 and 1, and so do those of resampled fits: near an end their spread is cut off on one
side. The standard error is therefore the larger of those to both sides, √(2/B Σ min(d, 0)²) and the
same of max(d, 0), of the B differences d from the estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from dcomp import validation
from dcomp.data import Counts
from dcomp.errors import InvalidParameter
from dcomp.evaluate.intervals import Intervals
from dcomp.inference.given_start import LEAST
from dcomp.inference.run import uninterrupted
from dcomp.inference.state import Local, State
from dcomp.models.arrays import FloatArray, read_only
from dcomp.result import Fit, fit

REPLICATES = 50
FEWEST = 10  # of which a standard error can be had
ROUGH = 0.2  # nats per person that a replicate may leave: errors of shares change by 2 %
# Correlation of an ancestry's shares with those of most replicates, from which they are quotable.
# Genotypes of no ancestries have 0.47 to 0.76, planted ones at 300 SNPs 0.85 to 0.89 with an F_ST
# of 0.05, where the maximum leans to corners and intervals may be too narrow, and 0.95 with 0.1.
SAME = 0.9

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, eq=False)
class Resampled(Intervals):
    """Estimate ± z standard errors; `mean` is the estimate, `sd` its standard error, `stability`
    the correlation of each replicate's shares with the estimates, (replicate, K)."""

    @property
    def quotable(self) -> npt.NDArray[np.bool_]:
        """Whether resampled loci give an ancestry again: shares of one that they do not are not to
        be quoted."""
        again = np.median(self.stability, axis=0) >= SAME
        return np.broadcast_to(again, self.mean.shape)

    @property
    def legend(self) -> str:
        """What the mark says."""
        return "?: resampled loci do not give this ancestry again reliably; do not quote it"

    def head(self) -> list[str]:
        """What these are."""
        return [
            f"{100 * self.level:g} % intervals of shares, of {self.n_draws} fits to resampled loci"
        ]


def resampled_intervals(
    fitted: Fit,
    counts: Counts,
    *,
    level: float = 0.9,
    n_replicates: int = REPLICATES,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Resampled:
    """Intervals of the shares of a fit by maximum likelihood: Q ± z·se, se over fits to loci drawn
    with replacement. progress: called with replicates done and all.

    >>> import dcomp
    >>> table = dcomp.datasets.genotypes(30, 100, f_st=(0.3, 0.3), seed=1)
    >>> found = dcomp.use.admixture(table.counts, 2, with_intervals=True, n_replicates=10)
    >>> again = resampled_intervals(found.fit, table.counts, n_replicates=10)
    >>> bool((again.low <= found.Q).all() and (found.Q <= again.high).all())
    True
    """
    if not 0 < level < 1:
        raise InvalidParameter(f"level must lie between 0 and 1; got {level}")
    B = validation.whole_number("n_replicates", n_replicates, FEWEST)
    Q, begin = shares_of(fitted), _begin(fitted)
    drawn = np.empty((B, *Q.shape))
    for b in range(B):
        how: Any = {"allowed": fitted.allowed, "tol": ROUGH, "n_jobs": n_jobs, "warn": False}
        table = resampled(counts, np.random.Generator(np.random.Philox(key=[seed, b])))
        again = fit(table, fitted.model, fitted.algorithm, begin=begin, seed=seed, **how)
        drawn[b] = shares_of(uninterrupted(again))
        if progress is not None:
            progress(b + 1, B)
    sd = standard_errors(drawn, Q)
    half = float(ndtri((1 + level) / 2)) * sd
    return Resampled(
        tuple(counts.doc_ids or map(str, range(counts.n_docs))),
        "document",
        Q,
        read_only(sd),
        read_only(np.maximum(Q - half, 0.0)),
        read_only(np.minimum(Q + half, 1.0)),
        read_only(np.full(Q.shape, np.nan)),
        level=level,
        shares=True,
        n_chains=1,
        n_draws=B,
        stability=read_only(_correlations(drawn, Q)),
    )


def resampled(counts: Counts, rng: np.random.Generator) -> Counts:
    """The same people at as many loci, drawn with replacement.

    >>> counts = Counts.from_matrix([[2, 0, 1, 1], [1, 1, 0, 2]], blocks=[0, 0, 1, 1])
    >>> resampled(counts, np.random.default_rng(0)).block_totals.sum(axis=1).tolist()
    [4, 4]
    """
    G = counts.features.n_blocks
    times = rng.multinomial(G, np.full(G, 1 / G))[counts.features.blocks[counts.indices]]
    row = np.repeat(np.arange(counts.n_docs), np.diff(counts.indptr))[times > 0]
    lengths = np.bincount(row, minlength=counts.n_docs)
    data = (counts.data * times)[times > 0].astype(counts.data.dtype)
    indices = counts.indices[times > 0]
    indptr = np.r_[0, np.cumsum(lengths)].astype(counts.indptr.dtype)
    return replace(counts, indptr=indptr, indices=indices, data=data, sequences=None)


def standard_errors(drawn: FloatArray, estimate: FloatArray) -> FloatArray:
    """Of (replicate, ...): the larger of those to either side, and no less than the plain one.

    >>> standard_errors(np.array([[0.7], [1.0], [1.0], [0.9]]), np.array([1.0])).round(3)
    array([0.224])
    """
    apart = drawn - estimate
    sides = (np.minimum(apart, 0.0), np.maximum(apart, 0.0))
    below, above = (2 * (side**2).mean(axis=0) for side in sides)
    plain = drawn.var(axis=0, ddof=1)
    return np.asarray(np.sqrt(np.maximum(np.maximum(below, above), plain)))


def shares_of(fitted: Fit) -> FloatArray:
    """Scores over their sum, (I, K)."""
    scores = np.asarray(fitted.scores, np.float64)
    return read_only(scores / np.maximum(scores.sum(axis=1, keepdims=True), 1e-300))


def _begin(fitted: Fit) -> State:
    """Where the fit stands, a little off the ends: what is 0 would stay so under EM."""
    state, first, locals_ = fitted.state, 0, []
    for local in state.locals:
        c = local.c + LEAST * local.c.mean(axis=1, keepdims=True)
        if fitted.allowed is not None:
            mask = fitted.allowed.masks[fitted.allowed.group[first : first + len(c)]]
            c = np.where(mask, c, 0.0)
        first += len(c)
        locals_.append(Local(read_only(c.astype(local.c.dtype))))
    n = state.n + LEAST * state.n.mean(axis=1, keepdims=True)
    shared = replace(state.shared, n=read_only(n.astype(state.n.dtype)), sweep=0, carried=None)
    return replace(state, shared=shared, locals=locals_)


def _correlations(drawn: FloatArray, estimate: FloatArray) -> FloatArray:
    """Of each replicate's shares with the estimates, (replicate, K); 1 where both never vary."""
    a, b = (x - x.mean(axis=-2, keepdims=True) for x in (drawn, estimate))
    sizes = np.sqrt((a**2).sum(axis=-2) * (b**2).sum(axis=-2))
    still = (a**2).sum(axis=-2) + (b**2).sum(axis=-2) < 1e-12
    alike = (a * b).sum(axis=-2) / np.maximum(sizes, 1e-300)
    return np.asarray(np.where(still, 1.0, alike))
