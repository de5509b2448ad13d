"""Held-out score from left to right (MODELS §9): the probability of whole documents.

With the scores integrated out and the loadings given,

    log p(w | Θ) = log g(0) + Σ_n log E[Σ_k θ_{w_n k} E[score_k | c] | w_1 … w_{n−1}]

by a particle filter over the components of the tokens (Wallach et al. 2009, in the unbiased form
that `dcomp.reference.left_to_right` explains). Completion says how well half of a document predicts
the other half; this, how probable the document is from its first word on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp import _core
from dcomp.data.canonical import LIMIT
from dcomp.errors import InvalidCounts, UnsupportedCombination
from dcomp.evaluate.heldout import HeldOut, mean_loadings, over_documents, warn_of_training
from dcomp.executors import Executor, resolve_executor
from dcomp.inference.room import require_whole
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray
from dcomp.models.base import moment_scores
from dcomp.models.totals import log_totals
from dcomp.result import Fit
from dcomp.result.of_estimator import as_fit
from dcomp.validation import whole_number

_FEW = 20  # particles below which other tables of a document's length count for more
RUNS = 2  # independent ones, whose difference tells the error of either
MOVES = 100  # at most, of a particle per token: docs/decisions/0011-left-to-right.md


@dataclass(frozen=True)
class LeftToRight(HeldOut):
    """A held-out score of whole documents, given their lengths, with two errors: over documents
    (`standard_error`) and of the estimate itself (`monte_carlo_error`)."""

    monte_carlo_error: float  # of log_likelihood, from two independent runs
    bias: float  # of log_likelihood, estimated; never above 0
    log_totals: FloatArray  # (I): log P(lengths) under GP and CGP; 0 for DM

    @property
    def log_marginal(self) -> FloatArray:
        """log p(w | Θ) of each document with its length in it: what the model gives the document.
        For DM, which takes lengths as given, the same as `per_document`."""
        return self.per_document + self.log_totals

    def __str__(self) -> str:
        first, *rest = super().__str__().splitlines()
        own = f", Monte Carlo error {self.monte_carlo_error:.4f}, bias about {self.bias:.4f}"
        return "\n".join([first + own, *rest])


def left_to_right(
    fit: Fit,
    X: Any,
    *,
    particles: int = 20,
    exposure: Any = None,
    seed: int = 0,
    n_jobs: int | None = None,
    executor: Executor | None = None,
) -> LeftToRight:
    """log p(w | Θ, L) of whole documents per token, scores integrated out (Wallach et al. 2009).

    Words are a sequence and lengths are given, so that DM, GP and CGP can be compared; for GP and
    CGP, whose p(w | Θ) says something of the length L too, p(L) is worked out exactly and divided
    by (`log_totals`, `log_marginal`). The learned priors and E[Θ] of the fit are taken as known.

    Each document has two independent particle filters of `particles` each. Their mean estimates
    p(w | Θ) without bias, whatever the number of particles, so that its log is too low on average:
    `bias` says by how much, about, and `monte_carlo_error` is the noise of the whole score. Where
    either is not well below the differences that matter, raise `particles`. Time grows with
    tokens × particles × K, and with the length of documents up to 100 tokens.

    >>> import dcomp
    >>> X = np.random.default_rng(0).poisson(2.0, (60, 8))
    >>> fitted = dcomp.LDA(2, verbose=0).fit(X[:30]).fit_
    >>> score = left_to_right(fitted, X[30:])
    >>> score.perplexity < 9, score.monte_carlo_error < score.standard_error
    (True, True)
    """
    fit = as_fit(fit)
    if fit.model.scores.capabilities.flat_leaves:
        fit = fit.as_leaves()
    _check_model(fit.model)
    particles = whole_number("particles", particles, 1)
    observed = fit.observe(X, exposure)
    warn_of_training(fit, X, observed)
    if observed.counts.n_tokens == 0:
        raise InvalidCounts("left_to_right needs documents with tokens; these have none")
    _check_length(observed, particles)
    workers, parts = resolve_executor(n_jobs, executor), observed.parts
    weights = mean_loadings(fit, workers.n_threads)
    Theta = np.ascontiguousarray(weights.Theta, dtype=np.float32)
    seed = whole_number("seed", seed, 0)
    how = _Particles(fit.model, Theta, weights.log_scale, particles, seed)
    found, _ = workers.map_reduce(_estimate, parts, [None] * len(parts), how)
    runs, totals = (np.concatenate(x, axis=-1) for x in zip(*workers.gather(found), strict=True))
    per_document = np.logaddexp.reduce(runs, axis=0) - np.log(len(runs)) - totals
    tokens = observed.counts.doc_totals.astype(np.float64)
    # Documents are independent, and so are the two runs of each.
    total = float(tokens.sum())
    error = float(np.sqrt(((runs[0] - runs[1]) ** 2).sum())) / 2 / total
    # The bias halves as particles double, so what the second run added is what is missing.
    bias = float((runs.mean(axis=0) - totals - per_document).sum()) / total
    names = None if observed.counts.doc_ids is None else tuple(observed.counts.doc_ids)
    score = over_documents(per_document, tokens, names)
    return LeftToRight(**vars(score), monte_carlo_error=error, bias=bias, log_totals=totals)


@dataclass(frozen=True)
class _Particles:
    """What every part of the documents is told."""

    model: Model
    Theta: npt.NDArray[np.float32]
    log_scale: FloatArray
    particles: int
    seed: int


def _estimate(
    part: Observations, local: None, how: _Particles, n_threads: int
) -> tuple[tuple[FloatArray, FloatArray], None]:
    """Estimates of the documents of a part, and log P(lengths)."""
    runs = estimates(
        how.model,
        part,
        how.Theta,
        how.log_scale,
        particles=how.particles,
        seed=how.seed,
        n_threads=n_threads,
    )
    return (runs, log_totals(how.model, part)), None


def estimates(
    model: Model,
    observed: Observations,
    Theta: npt.NDArray[np.float32],
    log_scale: FloatArray,
    *,
    particles: int,
    seed: int,
    n_threads: int,
    runs: int = RUNS,
    moves: int = MOVES,
) -> FloatArray:
    """log of unbiased estimates of p(w | Θ), (runs, I): independent for each run and document.

    Theta (J, padded K) times exp(log_scale) are the loadings. moves: Gibbs steps of a particle per
    token, at most; where a document is longer, they fall on earlier positions at random.
    """
    prior = observed.native(moment_scores(model))
    nothing = np.zeros((observed.counts.n_docs, model.n_components))
    constant = model.log_constant(observed, combinatoric=False)
    constant = constant + observed.ask(moment_scores(model), "log_moment", nothing)
    out = np.empty((runs, observed.counts.n_docs))
    for run in range(runs):
        _core.left_to_right(
            observed.corpus,
            Theta,
            log_scale,
            prior,
            particles,
            moves,
            seed,
            run,
            out[run],
            n_threads,
        )
    return np.asarray(out + constant)


def _check_length(observed: Observations, particles: int) -> None:
    """Each particle remembers the component of each token of a document."""
    require_whole(observed.counts, "left_to_right", "completion takes fractional counts")
    totals = observed.counts.doc_totals
    longest, room = int(totals.argmax()), LIMIT // max(particles, _FEW)
    if totals[longest] > room:
        raise InvalidCounts(
            f"left_to_right goes token by token: with {particles} particles a document must have "
            f"at most {room} tokens; found {totals[longest]} at document "
            f"{observed.counts.doc_name(longest)!r}. completion takes counts of any size"
        )


def _check_model(model: Model) -> None:
    can = model.scores.capabilities
    can.require("left_to_right", model.key)
    if not can.proper:
        raise UnsupportedCombination(
            "left_to_right needs a prior of the scores, to integrate over; this fit has none "
            "(beta = 0). completion works for every fit"
        )
