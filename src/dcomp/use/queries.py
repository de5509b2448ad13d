"""p(query | document): how well a snippet of text goes with a document (BJ04 3.5).

    p(x | r) = E[p(x | m)] under p(m | r),    p(x | m) = Π_j (Σ_k m_k θ_jk)^x_j

with m the shares of a document's components. It is the probability of the query's words in their
order, given how many words it has in each block; for GP and CGP m is l / Σ l, since Poisson counts
of a given total are multinomial (BJ06 Lemma 1).

"sampling": the mean of p(x | m) over draws of p(m | r); unbiased, and one set of draws serves all
queries. "harmonic": BJ04's N / Σ 1 / p(x | m_n) over draws of p(m | r, x), which are drawn for
every pair of query and document. "importance": draws of the Dirichlet (for GP the gammas) that is
matched to the posterior's mean and average deviation (Cowell, Dawid and Sebastiani), weighted.
"plug-in": p(x | E[m]) with the scores of `transform`: fast, and no expectation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import gammaln, logsumexp

from dcomp import validation
from dcomp.data import Counts
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.evaluate.score_posterior import matched_dirichlet, matched_gamma
from dcomp.inference.mixing import effective_sizes
from dcomp.models import Observations
from dcomp.models.arrays import FloatArray, read_only
from dcomp.result import Fit
from dcomp.result.of_estimator import as_fit
from dcomp.use.query_words import QueryWords

METHODS = ("sampling", "harmonic", "importance", "plug-in")
ROOM = 1 << 25  # numbers at a time: of draws, and of words' probabilities under them
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class QueryScores:
    """log p(query | document), what the draws leave open of it, and what they are worth."""

    log_probability: FloatArray  # (Q, I)
    standard_error: FloatArray  # (Q, I): of the logarithm; 0 for the plug-in, which has no draws
    ess: FloatArray  # (Q, I): independent draws that they are worth; infinite for the plug-in

    @classmethod
    def joined(cls, parts: list[QueryScores]) -> QueryScores:
        """The documents of all parts."""
        columns = zip(*((p.log_probability, p.standard_error, p.ess) for p in parts), strict=True)
        return cls(*(read_only(np.concatenate(column, axis=1)) for column in columns))


@dataclass(frozen=True, eq=False)
class DocumentDraws:
    """Shares of documents' components, drawn once and good for all queries.

    They take 4 bytes for each draw, document and component.
    """

    shares: npt.NDArray[np.float32]  # (S, I, K)
    log_weight: FloatArray | None  # (S, I): of draws that are not the posterior's
    is_chain: bool  # whether draws depend on those before


class QueryLikelihood:
    """p(query | document) under a fit: E[p(x | m)] with m ~ p(m | document), BJ04 3.5.

    >>> import dcomp
    >>> texts = ["football fans sing", "fans of football", "rain in the hills", "hills and rain"]
    >>> fitted = dcomp.LDA(2, alpha=0.3, verbose=0).fit(dcomp.Counts.from_texts(texts)).fit_
    >>> likelihood = QueryLikelihood(fitted, n_draws=100)
    >>> scores = likelihood.score("football fans", dcomp.Counts.from_texts(texts))
    >>> scores.shape, bool(scores[0, :2].min() > scores[0, 2:].max())
    ((1, 4), True)
    """

    def __init__(
        self,
        fit: Fit | Any,
        method: str = "sampling",
        *,
        n_draws: int = 200,
        burn_in: int = 20,
        seed: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.fit = as_fit(fit)
        if method not in METHODS:
            known = ", ".join(map(repr, METHODS))
            raise InvalidParameter(f"method must be one of {known}; got {method!r}")
        can = self.fit.model.scores.capabilities
        if method != "plug-in":
            can.require("sampling", self.fit.model.key)
        if method == "importance" and (can.exact_zeros or can.sampling != "direct"):
            raise UnsupportedCombination(
                f"model {self.fit.model.key}: no Dirichlet or gamma has its exact zeros or its "
                "structure, so that there is no importance sampler; 'sampling' does it"
            )
        self.method = method
        self.n_draws = validation.whole_number("n_draws", n_draws, 1)
        self.burn_in = validation.whole_number("burn_in", burn_in, 0)
        self.seed = validation.whole_number("seed", seed, 0)
        self.n_jobs = n_jobs
        self._words = QueryWords(self.fit.features, self.fit.text)
        self._Theta = np.asarray(self.fit.Theta, dtype=np.float64)

    def score(self, queries: Any, X: Any, *, exposure: Any = None) -> FloatArray:
        """log p(query | document), (queries, documents).

        queries: texts (read as the fit's texts were), lists of tokens, counts or a table. X: the
        documents, or what `draw` made of them.
        """
        return self.estimate(queries, X, exposure=exposure).log_probability

    def estimate(self, queries: Any, X: Any, *, exposure: Any = None) -> QueryScores:
        """The same with its standard error, and the effective size of the draws."""
        asked = self._words.read(queries)
        if isinstance(X, DocumentDraws):
            if self.method not in ("sampling", "importance"):
                raise InvalidParameter(
                    f"draws serve 'sampling' and 'importance', not {self.method!r}"
                )
            return QueryScores.joined([self._of_draws(asked, part) for part in _pieces(X, asked)])
        observed = self.fit.observe(X, exposure)
        if self.method == "plug-in":
            return self._plug_in(asked, observed)
        if self.method == "harmonic":
            return self._harmonic(asked, observed)
        parts = (self._drawn(part) for part in self._runs(observed))
        found = [self._of_draws(asked, p) for part in parts for p in _pieces(part, asked)]
        return QueryScores.joined(found)

    def draw(self, X: Any, *, exposure: Any = None) -> DocumentDraws:
        """Draws of the documents' shares, to be given to `score` in their place."""
        if self.method not in ("sampling", "importance"):
            raise InvalidParameter(f"{self.method!r} has no draws that serve every query")
        parts = [self._drawn(part) for part in self._runs(self.fit.observe(X, exposure))]
        weights = [part.log_weight for part in parts if part.log_weight is not None]
        joined = np.concatenate([part.shares for part in parts], axis=1)
        weight = np.concatenate(weights, axis=1) if weights else None
        return DocumentDraws(read_only(joined), weight, parts[0].is_chain)

    def _runs(self, observed: Observations) -> Iterator[Observations]:
        """Documents, so many at a time that their draws have room."""
        counts, size = observed.counts, ROOM // (self.n_draws * self.fit.n_components) + 1
        for first in range(0, counts.n_docs, size):
            yield _run(observed, first, min(first + size, counts.n_docs))

    def _sampled(self, observed: Observations, keep: bool = True) -> Any:
        how: Any = {"n_draws": self.n_draws, "burn_in": self.burn_in, "seed": self.seed}
        return self.fit.sample_scores(observed, keep_draws=keep, n_jobs=self.n_jobs, **how)

    def _drawn(self, observed: Observations) -> DocumentDraws:
        if self.method == "importance":
            return self._matched(observed)
        scores = self._sampled(observed).draws
        total = scores.sum(axis=2, dtype=np.float64)
        # Without any score (CGP) no word can come: what is asked is given that some do.
        with np.errstate(divide="ignore"):
            log_weight = np.log((total > 0).astype(np.float64)) if (total == 0).any() else None
        if log_weight is not None:
            log_weight[:, np.isneginf(log_weight).all(axis=0)] = 0.0  # shares are then even
        return DocumentDraws(_shares(scores, total), log_weight, True)

    def _of_draws(self, queries: Counts, draws: DocumentDraws) -> QueryScores:
        logs, w = self._log_given_shares(queries, draws.shares), draws.log_weight  # (Q, S, I)
        S = logs.shape[1]
        if w is None:
            log_p = logsumexp(logs, axis=1) - np.log(S)
        else:
            log_p = logsumexp(logs + w, axis=1) - logsumexp(w, axis=0)
        if draws.is_chain:
            worth = effective_sizes(_scaled(logs))
            return QueryScores(log_p, _relative_error(logs, log_p, worth, w), worth)
        assert w is not None
        worth = np.exp(2 * logsumexp(w, axis=0) - logsumexp(2 * w, axis=0))
        error = _relative_error(logs, log_p, float(S), w)
        return QueryScores(log_p, error, np.broadcast_to(worth, log_p.shape))

    def _log_given_shares(self, queries: Counts, shares: npt.NDArray[Any]) -> FloatArray:
        """log p(x | m) of every query under every draw, (Q, ...)."""
        words = np.unique(queries.indices)
        place = np.full(queries.n_features, -1)
        place[words] = np.arange(len(words))
        flat = shares.reshape(-1, shares.shape[-1]).astype(np.float64)
        with np.errstate(divide="ignore"):
            logs = np.log(flat @ self._Theta[words].T)  # (draws, words)
        out = np.empty((queries.n_docs, len(flat)))
        for q in range(queries.n_docs):
            own = slice(queries.indptr[q], queries.indptr[q + 1])
            out[q] = logs[:, place[queries.indices[own]]] @ queries.data[own].astype(np.float64)
        return out.reshape(queries.n_docs, *shares.shape[:-1])

    def _plug_in(self, queries: Counts, observed: Observations) -> QueryScores:
        scores = np.asarray(self.fit.transform(observed, n_jobs=self.n_jobs, seed=self.seed))
        log_p = self._log_given_shares(queries, _shares(scores, scores.sum(axis=1, dtype=float)))
        none = np.zeros_like(log_p)
        return QueryScores(read_only(log_p), none, np.full_like(log_p, np.inf))

    def _harmonic(self, queries: Counts, observed: Observations) -> QueryScores:
        """N / Σ 1 / p(x | m_n), m_n ~ p(m | r, x). A Poisson model has p(l | r, x) for the counts
        r + x at the document's own exposure, in which x has the factor (Σ l)^N too much: draws
        have the weight (Σ l)^−N, which is no matter where all rates are equal."""
        rows = [self._harmonic_one(queries.rows([q]), observed) for q in range(queries.n_docs)]
        return QueryScores(
            *(read_only(np.concatenate(column)) for column in zip(*rows, strict=True))
        )

    def _harmonic_one(
        self, query: Counts, observed: Observations
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        together = _with_query(observed, query)
        found = []
        for part in self._runs(together):
            scores = self._sampled(part).draws
            total = scores.sum(axis=2, dtype=np.float64)
            logs = -self._log_given_shares(query, _shares(scores, total))
            has_length = self.fit.model.has_exposure
            w = -float(query.n_tokens) * np.log(np.maximum(total, _TINY)) if has_length else None
            top = logsumexp(logs if w is None else logs + w, axis=1)
            log_p = (np.log(logs.shape[1]) if w is None else logsumexp(w, axis=0)) - top
            worth = effective_sizes(_scaled(logs))
            found.append((log_p, _relative_error(logs, -log_p, worth, w), worth))
        log_p, error, worth = (
            np.concatenate(column, axis=1) for column in zip(*found, strict=True)
        )
        return log_p, error, worth

    def _matched(self, observed: Observations) -> DocumentDraws:
        """Draws of the distribution matched to the posterior, with their weights."""
        sampled = self._sampled(observed, keep=False)
        mean, sd = sampled.mean.astype(np.float64), sampled.sd.astype(np.float64)
        has_length = self.fit.model.has_exposure
        a, b = (
            matched_gamma(mean, sd)
            if has_length
            else (matched_dirichlet(mean, sd, "deviation"), None)
        )
        scores = np.empty((self.n_draws, *a.shape))
        for i, shape in enumerate(a):
            rng = np.random.default_rng([self.seed, observed.first + i])
            scores[:, i] = np.maximum(rng.gamma(shape, size=(self.n_draws, len(shape))), _TINY)
        scores = scores / b if b is not None else scores / scores.sum(axis=2, keepdims=True)
        scores = np.maximum(scores, _TINY)
        log_weight = self._log_target(observed, scores) - _log_matched(scores, a, b)
        return DocumentDraws(_shares(scores, scores.sum(axis=2)), log_weight, False)

    def _log_target(self, observed: Observations, scores: FloatArray) -> FloatArray:
        """log p(scores) p(r | scores) up to terms of r alone, (S, I)."""
        prior: Any = self.fit.model.scores
        counts, out = observed.counts, np.empty(scores.shape[:2])
        for i in range(counts.n_docs):
            own = slice(counts.indptr[i], counts.indptr[i + 1])
            rate = scores[:, i] @ self._Theta[counts.indices[own]].T
            out[:, i] = np.log(np.maximum(rate, _TINY)) @ counts.data[own].astype(np.float64)
            out[:, i] += prior.log_density(scores[:, i])
        if self.fit.model.has_exposure:
            out -= observed.total_exposure * scores.sum(axis=2)
        return out


def _run(observed: Observations, first: int, end: int) -> Observations:
    """Some documents in a row, under their own numbers."""
    if end - first == observed.counts.n_docs:
        return observed
    exposure = None if observed.exposure is None else observed.exposure[first:end]
    rows = observed.counts.rows(slice(first, end))
    return Observations(rows, exposure, observed.first + first)


def _with_query(observed: Observations, query: Counts) -> Observations:
    """Every document with the words of the query put to its own; exposure stays as it was."""
    counts = observed.counts
    ones = sparse.csr_array(np.ones((counts.n_docs, 1), counts.data.dtype))
    total = sparse.csr_array(counts.to_scipy() + ones @ query.to_scipy())
    total.sort_indices()
    rows = (total.indptr.astype(np.int64), total.indices.astype(np.int32), total.data)
    together = Counts(*rows, counts.features, counts.doc_ids)
    return Observations(together, observed.exposure, observed.first)


def _pieces(draws: DocumentDraws, queries: Counts) -> Iterator[DocumentDraws]:
    """So few documents at a time that words and queries under all draws have room."""
    S, n_docs, _ = draws.shares.shape
    wide = len(np.unique(queries.indices)) + queries.n_docs
    size = max(1, ROOM // (S * wide))
    for first in range(0, n_docs, size):
        own = slice(first, first + size)
        weight = None if draws.log_weight is None else draws.log_weight[:, own]
        yield DocumentDraws(draws.shares[:, own], weight, draws.is_chain)


def _shares(scores: npt.NDArray[Any], total: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Scores over their total, (..., K); even where all are 0."""
    share = scores / np.maximum(total, _TINY)[..., None]
    even = np.float32(1 / scores.shape[-1])
    return np.where(total[..., None] > 0, share, even).astype(np.float32)


def _scaled(logs: FloatArray) -> FloatArray:
    """exp of logarithms (Q, S, I) over their largest, draws first: (S, Q, I)."""
    top = logs.max(axis=1, keepdims=True)
    return np.exp(logs - np.where(np.isfinite(top), top, 0.0)).swapaxes(0, 1)


def _relative_error(
    logs: FloatArray, log_mean: FloatArray, worth: FloatArray | float, w: FloatArray | None = None
) -> FloatArray:
    """Standard error of log Σ w exp(logs) / Σ w over draws (Q, S, I), by the delta method: of the
    ratio's terms w (exp(logs) / mean − 1) / mean w, as many as the draws are worth."""
    safe = np.where(np.isfinite(log_mean), log_mean, 0.0)
    terms = np.exp(np.clip(logs - safe[:, None], -700, 300)) - 1
    if w is not None:
        terms = terms * np.exp(w - logsumexp(w, axis=0) + np.log(len(w)))
    size = np.maximum(np.nan_to_num(worth, nan=1.0), 1.0)
    return np.asarray(np.sqrt((terms**2).mean(axis=1) / size))


def _log_matched(scores: FloatArray, a: FloatArray, b: FloatArray | None) -> FloatArray:
    """Log density of Dirichlet(a), or of Gamma(a, b) per component, (S, I)."""
    out = ((a - 1) * np.log(scores)).sum(axis=2) - gammaln(a).sum(axis=1)
    if b is None:
        return np.asarray(out + gammaln(a.sum(axis=1)))
    return np.asarray(out + (a * np.log(b)).sum(axis=1) - (b * scores).sum(axis=2))
