"""Held-out score by document completion (MODELS §9): the default answer to "how good is it?".

Each test document's tokens are split in two at random; the scores are found from the first part,
and the second part is predicted:

    log p(w₂ | w₁) ≈ Σ_j w₂_j log Σ_k E[m_k | w₁] E[θ_jk],   perplexity = exp(−Σ log p / Σ tokens)

For GP the first part is a Poisson thinning with exposure f·e, and m_k = E[l_k] / Σ E[l]: the score
is conditional on the number of words, so that DM and GP can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dcomp import _core
from dcomp.data import Counts, halves
from dcomp.errors import InvalidCounts, InvalidParameter
from dcomp.executors import LocalExecutor
from dcomp.inference.mean_field import Weights
from dcomp.models import Observations
from dcomp.models.arrays import FloatArray
from dcomp.result import Fit


@dataclass(frozen=True)
class HeldOut:
    """A held-out score with its standard error over documents."""

    log_likelihood: float  # per predicted token, natural log; higher is better
    standard_error: float  # of log_likelihood
    n_tokens: int  # predicted
    n_docs: int  # with something to predict
    per_document: FloatArray  # (I): summed over the document's predicted tokens
    tokens: FloatArray  # (I)

    @property
    def perplexity(self) -> float:
        """exp(−log_likelihood); lower is better."""
        return float(np.exp(-self.log_likelihood))

    @property
    def perplexity_error(self) -> float:
        """Standard error of the perplexity, by the delta method."""
        return self.perplexity * self.standard_error

    def __str__(self) -> str:
        digits = 3 if self.perplexity < 10 else 1  # of votes it is below 2
        return (
            f"held-out perplexity {self.perplexity:.{digits}f} ± "
            f"{self.perplexity_error:.{digits}f} "
            f"(log-likelihood {self.log_likelihood:.4f} ± {self.standard_error:.4f} per token, "
            f"{self.n_tokens:,} tokens of {self.n_docs:,} documents)"
        )


def completion(
    fit: Fit,
    X: Any,
    *,
    exposure: Any = None,
    fraction: float = 0.5,
    seed: int = 0,
    n_jobs: int | None = None,
) -> HeldOut:
    """Document completion: fold in a `fraction` of each document's tokens, predict the rest.

    >>> import dcomp
    >>> X = np.random.default_rng(0).poisson(2.0, (30, 8))
    >>> fitted = dcomp.LDA(2, verbose=0).fit(X).fit_
    >>> completion(fitted, X).perplexity < 8
    True
    """
    if not 0 < fraction < 1:
        raise InvalidParameter(f"fraction must lie between 0 and 1; got {fraction}")
    observed = fit.observe(X, exposure)
    first, second = halves(observed.counts, fraction, seed)
    if second.n_tokens == 0:
        raise InvalidCounts("completion needs tokens to predict; these documents have none left")
    per_document = predict_rest(fit, observed, first, second, fraction, seed=seed, n_jobs=n_jobs)
    return over_documents(per_document, second.doc_totals.astype(np.float64))


def predict_rest(
    fit: Fit,
    observed: Observations,
    first: Counts,
    second: Counts,
    fraction: float,
    *,
    seed: int = 0,
    n_jobs: int | None = None,
) -> FloatArray:
    """log p(w₂ | w₁) of each document (I), `first` being a `fraction` of what was observed."""
    threads = LocalExecutor.from_jobs(n_jobs).n_threads
    seen = observed.thinned(first, fraction) if fit.model.has_exposure else Observations(first)
    scores = fit.transform(seen, seed=seed, n_jobs=n_jobs)
    mean_theta = mean_loadings(fit, threads)
    per_document = np.empty(second.n_docs)
    _core.log_predictive(
        Observations(second).corpus,
        mean_theta.Theta,
        mean_theta.log_scale,
        np.ascontiguousarray(scores, dtype=mean_theta.Theta.dtype),
        per_document,
        threads,
    )
    return per_document


def mean_loadings(fit: Fit, n_threads: int) -> Weights:
    """E[θ] of a fit, or the mode of a fit by "map", as the kernels take them."""
    # θ ∝ n + γ is E[θ] both for "mean" and for q(θ) = Dirichlet(n + γ).
    treatment = "map" if fit.algorithm.treatment == "map" else "mean"
    return fit.weights(treatment, n_threads)


def over_documents(per_document: FloatArray, tokens: FloatArray) -> HeldOut:
    """The ratio Σ log p / Σ tokens, and its standard error over documents."""
    total = tokens.sum()
    mean = per_document.sum() / total
    used = int((tokens > 0).sum())
    residual = per_document - mean * tokens
    correction = used / (used - 1) if used > 1 else 1.0
    error = float(np.sqrt(correction * (residual**2).sum()) / total) if used > 1 else float("nan")
    return HeldOut(float(mean), error, int(total), used, per_document, tokens)
