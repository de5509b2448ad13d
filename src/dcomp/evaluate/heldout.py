"""Held-out score by document completion (MODELS §9): the default answer to "how good is it?".

Each test document's tokens are split in two at random; the scores are found from the first part,
and the second part is predicted:

    log p(w₂ | w₁) ≈ Σ_j w₂_j log Σ_k E[m_k | w₁] E[θ_jk],   perplexity = exp(−Σ log p / Σ tokens)

For GP the first part is a Poisson thinning with exposure f·e, and m_k = E[l_k] / Σ E[l]: the score
is conditional on the number of words, so that DM and GP can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp import _core
from dcomp.data import Counts, halves
from dcomp.data.counts import amount
from dcomp.errors import DataWarning, InvalidCounts, InvalidParameter, warn
from dcomp.executors import Executor, LocalExecutor, resolve_executor
from dcomp.inference.mean_field import Weights
from dcomp.models import Observations
from dcomp.models.arrays import FloatArray
from dcomp.predict import Predictor
from dcomp.printable import shortened
from dcomp.result import Fit
from dcomp.result.of_estimator import as_fit

TRIM = 0.05  # of the documents at each end, in `HeldOut.trimmed`
TELLING = 0.5  # standard errors that one document has to move a score by, to be named
IMPOSSIBLE = (
    15.0  # nats below what words cost at the most, of which no chance of words makes so many
)
_FEW = 20  # documents: of fewer each decides


@dataclass(frozen=True)
class HeldOut:
    """A held-out score with its standard error over documents."""

    log_likelihood: float  # per predicted token, natural log; higher is better
    standard_error: float  # of log_likelihood
    n_tokens: int  # predicted; a float, their sum, where counts are fractional
    n_docs: int  # with something to predict
    per_document: FloatArray  # (I): summed over the document's predicted tokens
    tokens: FloatArray  # (I)
    names: tuple[str, ...] | None = field(default=None, kw_only=True)  # (I): of the documents

    @property
    def perplexity(self) -> float:
        """exp(−log_likelihood); lower is better."""
        return float(np.exp(-self.log_likelihood))

    @property
    def perplexity_error(self) -> float:
        """Standard error of the perplexity, by the delta method."""
        return self.perplexity * self.standard_error

    @property
    def without_each(self) -> FloatArray:
        """(I): log_likelihood were a document left out; as it is where it has nothing to predict,
        or where it is the only one."""
        rest = self.tokens.sum() - self.tokens
        left = (self.per_document.sum() - self.per_document) / np.maximum(rest, 1e-300)
        return np.where((self.tokens > 0) & (rest > 0), left, self.log_likelihood)

    @property
    def trimmed(self) -> float:
        """A robust companion: the mean over documents of their own score per token, without the
        5 % lowest and the 5 % highest. Documents count alike, and no single one decides it."""
        own = np.sort(self.per_document[self.tokens > 0] / self.tokens[self.tokens > 0])
        cut = int(TRIM * len(own))
        return float(own[cut : len(own) - cut].mean())

    def deciding(self, n: int = 3) -> tuple[Deciding, ...]:
        """The n documents that move the score most, the first the most.

        >>> per_document, tokens = np.array([-20.0, -22.0, -90.0]), np.full(3, 10.0)
        >>> print(*over_documents(per_document, tokens).deciding(1))
        without document 2 the perplexity is 8.166 and not 81.45
        """
        moved = np.abs(self.without_each - self.log_likelihood)
        order = np.argsort(-moved, kind="stable")[:n].tolist()
        return tuple(
            Deciding(
                i,
                self.names[i] if self.names else f"document {i}",
                float(np.exp(-self.without_each[i])),
                self.perplexity,
            )
            for i in order
        )

    def __str__(self) -> str:
        score = f"held-out perplexity {_digits(self.perplexity, self.perplexity_error)} "
        said = (
            f"{score}(log-likelihood {self.log_likelihood:.4f} ± {self.standard_error:.4f} per "
            f"token, {amount(self.n_tokens)} tokens of {self.n_docs:,} documents)"
        )
        return said + self._who_decides()

    def _who_decides(self) -> str:
        """A line on a document that moves the score by much, where there is one."""
        if self.n_docs < _FEW:
            return ""
        first = self.deciding(1)[0]
        if abs(np.log(first.without / self.perplexity)) <= TELLING * self.standard_error:
            return ""
        robust = _number(float(np.exp(-self.trimmed)))
        return f"\n{first}; each document counting alike, 5 % of each end cut off, {robust}"


@dataclass(frozen=True)
class Deciding:
    """A document, and the perplexity with and without it."""

    number: int
    name: str
    without: float
    perplexity: float

    def __str__(self) -> str:
        name, both = shortened(self.name, 40), (self.without, self.perplexity)
        return "without {} the perplexity is {} and not {}".format(name, *map(_number, both))


def _number(perplexity: float) -> str:
    """With digits enough to tell it from another: of votes it is below 2."""
    return f"{perplexity:.4f}" if perplexity < 2 else f"{perplexity:,.4g}"


def _digits(value: float, error: float) -> str:
    """A number with its error, to two digits of the latter where the number is small."""
    digits = 1 if value >= 10 else 3
    if value < 10 and 0 < error < 0.0095:
        digits = 2 + int(np.ceil(-np.log10(error))) - 1
    return f"{value:.{digits}f} ± {error:.{digits}f}"


def completion(
    fit: Fit,
    X: Any,
    *,
    exposure: Any = None,
    fraction: float = 0.5,
    seed: int = 0,
    n_jobs: int | None = None,
    executor: Executor | None = None,
) -> HeldOut:
    """Document completion: fold in a `fraction` of each document's tokens, predict the rest.

    Documents that were fitted are scored with a warning: that is not held-out.

    >>> import dcomp
    >>> X = np.random.default_rng(0).poisson(2.0, (60, 8))
    >>> fitted = dcomp.LDA(2, verbose=0).fit(X[:30]).fit_
    >>> completion(fitted, X[30:]).perplexity < 9
    True
    """
    fit = as_fit(fit)
    if not 0 < fraction < 1:
        raise InvalidParameter(f"fraction must lie between 0 and 1; got {fraction}")
    observed = fit.observe(X, exposure)
    warn_of_training(fit, X, observed)
    workers, parts = resolve_executor(n_jobs, executor), observed.parts
    how = _Completion(fit.predictor, mean_loadings(fit, workers.n_threads), fraction, seed)
    found, n_tokens = workers.map_reduce(_complete, parts, [None] * len(parts), how)
    if n_tokens == 0:
        raise InvalidCounts("completion needs tokens to predict; these documents have none left")
    per_document, tokens = (np.concatenate(x) for x in zip(*workers.gather(found), strict=True))
    said = said_of_impossible(fit, per_document, tokens)
    if said is not None:
        warn(said, DataWarning, 2)
    names = None if observed.counts.doc_ids is None else tuple(observed.counts.doc_ids)
    return over_documents(per_document, tokens.astype(np.float64), names)


def said_of_impossible(fit: Fit, per_document: FloatArray, tokens: npt.NDArray[Any]) -> str | None:
    """That words without probability decide the score, where they do. At the mode of a flat prior a
    component has no room for a word that it has not met, and one such word makes a perplexity of
    millions that says nothing of the rest."""
    if fit.algorithm.treatment != "map":
        return None
    usual = np.log(fit.features.n_features) + 5  # no word that a component has met is so surprising
    n = int((per_document < -usual * tokens - IMPOSSIBLE).sum())
    if n == 0:
        return None
    what = "has words" if n == 1 else "have words"
    return (
        f"{n:,} of {len(tokens):,} documents {what} that the fit holds for all but impossible, "
        f"which decide the score: {fit.algorithm.name} leaves no probability for what it has not "
        "met; mean-field or a sampler does"
    )


def warn_of_training(fit: Fit, X: Any, observed: Observations) -> None:
    """A warning where what is scored is what was fitted; X that is observed already is the caller's
    own business."""
    if X is observed:
        return
    said = said_of_training(fit, observed.counts)
    if said is not None:
        warn(said, DataWarning, 3)


def said_of_training(fit: Fit, counts: Counts) -> str | None:
    """That documents were fitted, where they were: all, or those that have the name and the length
    of a fitted one; a few may have that by chance."""
    if fit.is_of(counts):
        return "the fit was made from these very documents: the score is not held-out"
    if fit.doc_ids is None or counts.doc_ids is None:
        return None
    lengths = fit.state.c.sum(axis=1, dtype=np.float64).round()
    fitted = set(zip(fit.doc_ids, lengths.tolist(), strict=True))
    own = zip(counts.doc_ids, counts.doc_totals.astype(np.float64).round().tolist(), strict=True)
    n = sum(document in fitted for document in own)
    if n < max(2, counts.n_docs // 20):
        return None
    return (
        f"{n:,} of these {counts.n_docs:,} documents have the names and lengths of fitted ones: "
        "their score is not held-out"
    )


@dataclass(frozen=True)
class _Completion:
    """What every part of the documents is told."""

    predictor: Predictor
    loadings: Weights
    fraction: float
    seed: int

    def predict(
        self, part: Observations, first: Counts, second: Counts, n_threads: int
    ) -> FloatArray:
        """log p(w₂ | w₁) of a part's documents."""
        here, loadings = LocalExecutor(n_threads), self.loadings
        has_exposure = self.predictor.model.has_exposure
        seen = part.thinned(first, self.fraction) if has_exposure else replace(part, counts=first)
        scores = self.predictor.transform(seen, seed=self.seed, executor=here)
        rest, per_document = replace(part, counts=second), np.empty(second.n_docs)
        _core.log_predictive(
            rest.corpus,
            loadings.Theta,
            loadings.log_scale,
            np.ascontiguousarray(scores, dtype=loadings.Theta.dtype),
            per_document,
            n_threads,
        )
        return per_document


_PerDocument = tuple[FloatArray, npt.NDArray[np.int64]]  # log p(w₂ | w₁), and tokens of w₂


def _complete(
    part: Observations, local: None, how: _Completion, n_threads: int
) -> tuple[_PerDocument, int]:
    """The documents of a part, and how many tokens of theirs are predicted."""
    first, second = halves(part.counts, how.fraction, how.seed, part.document_keys)
    if second.n_tokens == 0:
        return (np.zeros(second.n_docs), second.doc_totals), 0
    per_document = how.predict(part, first, second, n_threads)
    return (per_document, second.doc_totals), second.n_tokens


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
    how = _Completion(fit.predictor, mean_loadings(fit, threads), fraction, seed)
    return how.predict(observed, first, second, threads)


def mean_loadings(fit: Fit, n_threads: int) -> Weights:
    """E[θ] of a fit, or the mode of a fit by "map", as the kernels take them."""
    # θ ∝ n + γ is E[θ] both for "mean" and for q(θ) = Dirichlet(n + γ).
    treatment = "map" if fit.algorithm.treatment == "map" else "mean"
    return fit.weights(treatment, n_threads)


def over_documents(
    per_document: FloatArray, tokens: FloatArray, names: tuple[str, ...] | None = None
) -> HeldOut:
    """The ratio Σ log p / Σ tokens, and its standard error over documents."""
    total = tokens.sum()
    mean = per_document.sum() / total
    used = int((tokens > 0).sum())
    residual = per_document - mean * tokens
    correction = used / (used - 1) if used > 1 else 1.0
    error = float(np.sqrt(correction * (residual**2).sum()) / total) if used > 1 else float("nan")
    n_tokens: Any = int(total) if total == np.floor(total) else float(total)
    return HeldOut(float(mean), error, n_tokens, used, per_document, tokens, names=names)
