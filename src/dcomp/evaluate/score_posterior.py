"""How sure a document's scores are, and how much surer mean field thinks they are (BJ04 3.5).

With the loadings given, Gibbs sampling gives the mean and the standard deviation of every score.
They are summed up by one distribution that agrees with them, after Cowell, Dawid and Sebastiani
(1996): for DM a Dirichlet with the same means and, together, the same spread; for GP and CGP a
gamma per component. Mean field has its own Dirichlet or gamma, q, whose spread is too small: it
takes the words to be allocated independently of each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.executors import LocalExecutor
from dcomp.inference.rest import fold_in
from dcomp.models import Observations
from dcomp.models.arrays import FloatArray, read_only
from dcomp.models.base import moment_scores
from dcomp.result import Fit
from dcomp.result.of_estimator import as_fit

_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class MeanFieldScores:
    """q of mean field: Dirichlet(a), or Gamma(a, b) with rate b, and its moments."""

    a: FloatArray  # (I, K)
    b: FloatArray | None  # (I, K); None for a Dirichlet
    mean: FloatArray  # (I, K)
    sd: FloatArray  # (I, K)


@dataclass(frozen=True, eq=False)
class ScorePosterior:
    """Posterior of documents' scores given the loadings, the distribution matched to it, and mean
    field's.

    a, b: of the matched Dirichlet(a), b being None, or Gamma(a, b) per component with rate b.
    mean, sd: of the sampled posterior. zero: the probability that a score is exactly 0 (CGP; the
    gamma has the mean and the variance of all draws, zeros included).
    mean_field: None where the model has none (CGP).
    """

    a: FloatArray  # (I, K)
    b: FloatArray | None
    mean: FloatArray  # (I, K)
    sd: FloatArray  # (I, K)
    zero: FloatArray  # (I, K)
    mean_field: MeanFieldScores | None

    @property
    def overconfidence(self) -> FloatArray:
        """Σ_k sd_k of the posterior over Σ_k sd_k of mean field, per document (I): 2 says that
        mean field's intervals are half as wide as they should be. An error without mean field."""
        if self.mean_field is None:
            raise UnsupportedCombination("the model has no mean field to compare with (CGP)")
        return np.asarray(self.sd.sum(axis=1) / np.maximum(self.mean_field.sd.sum(axis=1), _TINY))

    def __str__(self) -> str:
        what = "Dirichlet" if self.b is None else "gamma"
        line = f"scores of {len(self.mean):,} documents: {what} matched to mean and spread"
        if self.mean_field is None:
            return f"{line}; the model has no mean field"
        ratio = self.overconfidence
        return (
            f"{line}; standard deviations are {np.median(ratio):.2f} times those of mean field "
            f"(median; from {ratio.min():.2f} to {ratio.max():.2f})"
        )


def score_posterior(
    fit: Fit,
    X: Any,
    *,
    exposure: Any = None,
    agree: str = "variance",
    n_draws: int = 500,
    burn_in: int = 50,
    seed: int = 0,
    n_jobs: int | None = None,
) -> ScorePosterior:
    """Sum up the posterior of documents' scores, and set mean field's beside it.

    agree: what the matched Dirichlet has in common with the draws beside the means: the total
    "variance" Σ_k sd_k², or the average standard "deviation" Σ_k sd_k, which is how BJ04 3.5 puts
    it. A Dirichlet posterior is recovered by both. Gammas agree in every mean and variance.

    >>> import dcomp
    >>> X = np.random.default_rng(0).poisson([[4, 3, 1, 0]] * 20 + [[0, 1, 3, 4]] * 20)
    >>> fitted = dcomp.LDA(2, alpha=0.5, verbose=0).fit(X).fit_
    >>> bool((score_posterior(fitted, X).overconfidence > 1).mean() > 0.9)
    True
    """
    fit = as_fit(fit)
    if agree not in ("variance", "deviation"):
        raise InvalidParameter(f"agree must be 'variance' or 'deviation'; got {agree!r}")
    observed = fit.observe(X, exposure)
    drawn = fit.sample_scores(observed, n_draws=n_draws, burn_in=burn_in, seed=seed, n_jobs=n_jobs)
    mean, sd = drawn.mean.astype(np.float64), drawn.sd.astype(np.float64)
    if fit.model.has_exposure:
        a, b = matched_gamma(mean, sd)
    else:
        a, b = matched_dirichlet(mean, sd, agree), None
    has_mean_field = fit.model.scores.capabilities.fixed_point == "mean-field"
    own = _mean_field(fit, observed, n_jobs) if has_mean_field else None
    zero = read_only(drawn.zero.astype(np.float64))
    return ScorePosterior(read_only(a), b, read_only(mean), read_only(sd), zero, own)


def matched_dirichlet(mean: FloatArray, sd: FloatArray, agree: str = "variance") -> FloatArray:
    """a (I, K) of the Dirichlet with these means whose spread agrees as a whole.

    With A = Σ a the variances are m_k (1 − m_k) / (1 + A), hence 1 + A = Σ m(1 − m) / Σ sd², or
    1 + A = (Σ √(m(1 − m)) / Σ sd)² for the average deviation.

    >>> a = np.array([[1.0, 2.0, 5.0]])
    >>> m = a / 8
    >>> matched_dirichlet(m, np.sqrt(m * (1 - m) / 9)).round(9)
    array([[1., 2., 5.]])
    """
    m = mean / np.maximum(mean.sum(axis=1, keepdims=True), _TINY)
    whole = m * (1 - m)
    if agree == "variance":
        ratio = whole.sum(axis=1) / np.maximum((sd**2).sum(axis=1), _TINY)
    else:
        ratio = (np.sqrt(whole).sum(axis=1) / np.maximum(sd.sum(axis=1), _TINY)) ** 2
    # Draws cannot vary more than a Dirichlet with next to no weight, nor less than any number says.
    total = np.clip(ratio - 1, 1e-6, 1e12)
    return np.asarray(total[:, None] * m)


def matched_gamma(mean: FloatArray, sd: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shape and rate (I, K) of the gammas with these means and deviations: (m/s)², m/s².

    >>> shape, rate = matched_gamma(np.array([[6.0]]), np.array([[2.0]]))
    >>> shape, rate
    (array([[9.]]), array([[1.5]]))
    """
    m, variance = np.maximum(mean, 1e-30), np.maximum(sd**2, 1e-60)
    return np.asarray(m**2 / variance), np.asarray(m / variance)


def _mean_field(fit: Fit, observed: Observations, n_jobs: int | None) -> MeanFieldScores:
    """q with the same loadings that the sampling had."""
    workers = LocalExecutor.from_jobs(n_jobs)
    folded = fold_in(fit.model, observed, fit.weights("mean", workers.n_threads), workers)
    scores = moment_scores(fit.model)
    c, exposure = folded.c.astype(np.float64), observed.total_exposure
    mean, sd = scores.posterior_mean(c, exposure), scores.posterior_sd(c, exposure)
    if fit.model.has_exposure:
        return MeanFieldScores(*matched_gamma(mean, sd), mean, sd)
    return MeanFieldScores(matched_dirichlet(mean, sd), None, mean, sd)
