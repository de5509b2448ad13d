"""Unusual documents: those that the model finds unlikely (BJ06 III.B).

A document's tokens are split at random into halves, and each half is predicted from the other's
scores (MODELS §9), so that every token is predicted once, by a model that has not seen it:

    log p_i = mean over splits of Σ_j [w₁_ij log p(j | w₂) + w₂_ij log p(j | w₁)]

A likelihood of all tokens at once would let the scores follow the very words that are judged, most
in short documents; a sum would make long documents unlikely by their length alone. So it is taken
per token, and compared with documents of about the same length, which are as easy to predict.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.data import halves
from dcomp.errors import InvalidCounts, InvalidParameter, MissingDependency
from dcomp.evaluate.heldout import predict_rest
from dcomp.models.arrays import FloatArray, read_only
from dcomp.printable import columns, padded, shortened
from dcomp.result import Fit
from dcomp.result.of_estimator import as_fit

_NORMAL = 1.4826  # standard deviations of a normal distribution per median absolute deviation
_CHUNK = 1 << 12  # documents at a time
_WIDEST = 40  # columns for a document's name, which leaves a line of 80 for all


@dataclass(frozen=True, eq=False)
class Outliers:
    """How unlikely each document is; arrays of one length, a row per document.

    An empty document has nothing unlikely: its numbers are 0, and it comes last.
    """

    document: npt.NDArray[np.int64]  # its number among the documents given
    doc_ids: tuple[str, ...] | None
    tokens: npt.NDArray[np.int64]
    log_likelihood: FloatArray  # natural log, of all its tokens
    per_token: FloatArray
    z: FloatArray  # per token, against documents of like length: below 0 is less likely
    rank: npt.NDArray[np.int64]  # by z: 1 is the most unusual

    def __len__(self) -> int:
        return len(self.document)

    def top(self, n: int = 10) -> Outliers:
        """The n most unusual documents, the first first."""
        chosen = np.argsort(self.rank, kind="stable")[:n]
        ids = None if self.doc_ids is None else tuple(self.doc_ids[i] for i in chosen)
        names = ("document", "tokens", "log_likelihood", "per_token", "z", "rank")
        return replace(self, doc_ids=ids, **{name: getattr(self, name)[chosen] for name in names})

    def name(self, row: int) -> str:
        """The id of a row's document, or its number."""
        return str(self.document[row]) if self.doc_ids is None else self.doc_ids[row]

    def to_frame(self) -> Any:
        """As a pandas DataFrame, indexed by document (`dcomp[frames]`)."""
        try:
            import pandas
        except ImportError:
            raise MissingDependency(
                'a frame needs pandas, which is not installed: pip install "dcomp[frames]"'
            ) from None
        names = ("tokens", "log_likelihood", "per_token", "z", "rank")
        index = list(self.doc_ids) if self.doc_ids is not None else self.document
        columns = {name: getattr(self, name) for name in names}
        return pandas.DataFrame(columns, index=pandas.Index(index, name="document"))

    def __str__(self) -> str:
        names = [shortened(self.name(i), _WIDEST) for i in range(len(self))]
        width = max([8, *map(columns, names)])
        lines = [f"{'rank':>6} {'document':<{width}} {'tokens':>8} {'per token':>10} {'z':>7}"]
        for i in range(len(self)):
            lines.append(
                f"{self.rank[i]:>6} {padded(names[i], width)} {self.tokens[i]:>8.6g} "
                f"{self.per_token[i]:>10.3f} {self.z[i]:>7.1f}"
            )
        return "\n".join(lines)


def outliers(
    fit: Fit,
    X: Any,
    *,
    exposure: Any = None,
    n_splits: int = 5,
    neighbours: int = 200,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Outliers:
    """Log-likelihood of each document by completion, and how unusual that is for its length.

    n_splits: random splits that are averaged. neighbours: documents next in length with which one
    is compared; z = (value − median) / (1.4826 · median absolute deviation) among them.

    Words are judged given their number: a length that is unusual in itself does not count.

    >>> import dcomp
    >>> X = np.random.default_rng(0).poisson([[6, 6, 0, 0]] * 20 + [[0, 0, 6, 6]] * 20)
    >>> X[7] = [1, 1, 5, 5]  # of the other kind, and a little of its own
    >>> X[8] = [6, 0, 6, 0]
    >>> fitted = dcomp.LDA(2, alpha=0.05, verbose=0).fit(X).fit_
    >>> sorted(outliers(fitted, X).top(2).document.tolist())
    [7, 8]
    """
    fit = as_fit(fit)
    if n_splits < 1 or neighbours < 2:
        raise InvalidParameter(
            "n_splits must be at least 1 and neighbours at least 2; got "
            f"{n_splits} and {neighbours}"
        )
    observed = fit.observe(X, exposure)
    counts = observed.counts
    tokens = counts.doc_totals
    if not tokens.any():
        raise InvalidCounts("unusual documents are told by their words; these have none")
    total = np.zeros(counts.n_docs)
    for split in range(n_splits):
        first, second = halves(counts, 0.5, seed=seed * n_splits + split)
        for seen, rest in ((first, second), (second, first)):
            total += predict_rest(fit, observed, seen, rest, 0.5, seed=seed, n_jobs=n_jobs)
    total /= n_splits
    per_token = np.where(tokens > 0, total / np.where(tokens > 0, tokens, 1), 0.0)
    z = np.zeros(counts.n_docs)
    filled = np.flatnonzero(tokens > 0)
    z[filled] = _against_like_lengths(per_token[filled], tokens[filled], neighbours)
    rank = np.empty(counts.n_docs, np.int64)
    rank[np.lexsort((z, tokens == 0))] = np.arange(1, counts.n_docs + 1)
    return Outliers(
        read_only(np.arange(counts.n_docs)),
        counts.doc_ids,
        read_only(tokens),
        read_only(total),
        read_only(per_token),
        read_only(z),
        read_only(rank),
    )


def _against_like_lengths(
    values: FloatArray, lengths: npt.NDArray[np.int64], neighbours: int
) -> FloatArray:
    """Robust z of each value among those next in length, itself included."""
    order = np.argsort(lengths, kind="stable")
    size = min(neighbours + 1, len(values))
    windows = np.lib.stride_tricks.sliding_window_view(values[order], size)
    place = np.clip(np.arange(len(values)) - size // 2, 0, len(windows) - 1)
    z = np.empty(len(values))
    for start in range(0, len(values), _CHUNK):
        part = slice(start, start + _CHUNK)
        near = windows[place[part]]
        median = np.median(near, axis=1)
        spread = _NORMAL * np.median(np.abs(near - median[:, None]), axis=1)
        # Where most are equal the median absolute deviation is 0.
        spread = np.where(spread > 0, spread, near.std(axis=1))
        away = values[order[part]] - median
        z[order[part]] = np.where(spread > 0, away / np.where(spread > 0, spread, 1.0), 0.0)
    return z
