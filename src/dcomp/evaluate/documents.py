"""Documents that show what a component is, and documents that are like another.

Both go by shares, the scores of a document over their sum. Two documents are as similar as their
shares: Bhattacharyya's coefficient Σ_k √(m_k m'_k), 1 where they are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp import validation
from dcomp.data import Counts, as_counts
from dcomp.errors import DataWarning, InvalidParameter, warn
from dcomp.models.arrays import FloatArray, read_only
from dcomp.printable import shortened
from dcomp.result import Fit
from dcomp.result.of_estimator import as_fit


@dataclass(frozen=True, eq=False)
class Documents:
    """Some documents, the first the most typical or similar; `values` are shares or similarities.

    words: features of each that say most for it, with few words in common with others first.
    """

    numbers: npt.NDArray[np.int64]
    names: tuple[str, ...]
    values: FloatArray
    words: tuple[tuple[str, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    def __str__(self) -> str:
        return "\n".join(
            f"{100 * value:5.1f} %  {shortened(name, 40)}"
            for name, value in zip(self.names, self.values, strict=True)
        )


def shares_of(fit: Any, X: Any = None, *, exposure: Any = None, n_jobs: Any = None) -> FloatArray:
    """Shares of documents (I, K): as fitted where X is what was fitted or is left out, else by
    `transform`; even where a document has no score at all.

    >>> import dcomp
    >>> X = [[4, 3, 0], [0, 1, 6], [5, 2, 1]]
    >>> shares_of(dcomp.GaP(2, verbose=0).fit(X), X).sum(axis=1).round(6).tolist()
    [1.0, 1.0, 1.0]
    """
    fit = as_fit(fit)
    if X is None or (isinstance(X, Counts) and fit.is_of(X)):
        scores = np.asarray(fit.scores, np.float64)
    else:
        scores = np.asarray(fit.transform(X, exposure=exposure, n_jobs=n_jobs), np.float64)
    totals = scores.sum(axis=1, keepdims=True)
    shares = np.where(totals > 0, scores / np.maximum(totals, 1e-300), 1 / scores.shape[1])
    return np.asarray(shares)


def typical(fit: Any, X: Any = None, n: int = 5, **options: Any) -> tuple[Documents, ...]:
    """For each component the n documents with the largest share of it; of equals the longest, where
    counts are given. Without X those that were fitted.

    >>> import dcomp
    >>> texts = [["cat", "mouse", "cat"], ["dog", "bone"], ["cat", "dog"]]
    >>> counts = dcomp.Counts.from_tokens(texts, doc_ids=["a", "b", "c"])
    >>> model = dcomp.LDA(2, alpha=0.1, verbose=0).fit(counts)
    >>> sorted(found.names[0] for found in typical(model, counts, 1))
    ['a', 'b']
    """
    fit = as_fit(fit)
    validation.whole_number("n", n, 1)
    counts = _aligned(fit, X)
    return typical_of(fit, counts, shares_of(fit, counts, **options), n)


def typical_of(
    fit: Fit, counts: Counts | None, shares: FloatArray, n: int
) -> tuple[Documents, ...]:
    """The same of documents, in the fit's features, whose shares (I, K) are known."""
    length = np.zeros(len(shares)) if counts is None else np.asarray(counts.doc_totals)
    found = []
    for k in range(fit.n_components):
        order = _largest(shares[:, k], length, n)
        found.append(_made(fit, counts, order, shares[order, k], fit.Theta[:, k]))
    return tuple(found)


def _largest(own: FloatArray, length: npt.NDArray[Any], n: int) -> npt.NDArray[np.intp]:
    """The documents of the n largest shares; of equals the longest, then the first. Only those
    that can be among them are sorted: documents may be many, and so may components.

    >>> _largest(np.array([0.2, 0.9, 0.9, 0.1]), np.array([5, 3, 7, 9]), 3).tolist()
    [2, 1, 0]
    """
    n = min(n, len(own))
    may = np.flatnonzero(own >= np.partition(own, -n)[-n])
    return np.asarray(may[np.lexsort((may, -length[may], -own[may]))[:n]])


def similar(
    fit: Any, X: Any, document: int | str | Counts, n: int = 10, **options: Any
) -> Documents:
    """The n documents of X that are most like one of them, by number or id, or like another that is
    given as counts; of equals the first. The document itself is left out.

    >>> import dcomp
    >>> texts = [["cat", "mouse"], ["dog", "bone"], ["mouse", "cat"], ["bone"]]
    >>> counts = dcomp.Counts.from_tokens(texts, doc_ids=["a", "b", "c", "d"])
    >>> model = dcomp.LDA(2, alpha=0.1, verbose=0).fit(counts)
    >>> similar(model, counts, "a", 1).names
    ('c',)
    """
    fit = as_fit(fit)
    validation.whole_number("n", n, 1)
    counts = _aligned(fit, X)
    assert counts is not None
    shares = shares_of(fit, counts, **options)
    if isinstance(document, Counts):
        own, itself = shares_of(fit, _one(fit, document), **options)[0], -1
    else:
        itself = place_of(counts, document)
        own = shares[itself]
    likeness = np.minimum(np.sqrt(shares) @ np.sqrt(own), 1.0)
    order = np.argsort(-likeness, kind="stable")
    order = order[order != itself][:n]
    return _made(fit, counts, order, likeness[order], fit.Theta @ own)


def place_of(counts: Counts, document: int | str) -> int:
    """The number of a document, given that or its id.

    >>> place_of(Counts.from_matrix([[1], [2]], doc_ids=["a", "b"]), "b")
    1
    """
    ids = counts.doc_ids
    if isinstance(document, str) and ids is not None:
        places = [place for place, name in enumerate(ids) if name == document]
        if len(places) > 1:
            raise InvalidParameter(
                f"document {document!r} is there {len(places)} times, first as number {places[0]}; "
                "give a number"
            )
        if places:
            return places[0]
    if isinstance(document, str) and ids is None and document.isdecimal():
        document = int(document)
    if isinstance(document, int | np.integer) and 0 <= document < counts.n_docs:
        return int(document)
    there = f"ids such as {ids[0]!r}" if ids else f"numbers from 0 to {counts.n_docs - 1}"
    raise InvalidParameter(f"there is no document {document!r}; documents have {there}")


def _one(fit: Fit, document: Counts) -> Counts:
    counts, _ = document.aligned_to(fit.features)
    if counts.n_docs != 1:
        raise InvalidParameter(f"document must be one; these counts are of {counts.n_docs}")
    if not counts.n_tokens:
        raise InvalidParameter("the document has no word that the fit knows: nothing is like it")
    return counts


def _aligned(fit: Fit, X: Any) -> Counts | None:
    """In the fit's features; what it does not know is dropped, and a warning says how much."""
    if X is None:
        return None
    given = as_counts(X, fractional=fit.provenance.fractional)
    counts, dropped = given.aligned_to(fit.features)
    if dropped > 0:
        warn(validation.unknown_features(dropped, given.n_tokens), DataWarning)
    return counts


def _made(
    fit: Fit,
    counts: Counts | None,
    order: npt.NDArray[Any],
    values: FloatArray,
    theta: npt.NDArray[Any],
) -> Documents:
    ids = fit.doc_ids if counts is None else counts.doc_ids
    names = tuple(ids[i] if ids else f"document {i}" for i in order.tolist())
    words = () if counts is None else tuple(_words(fit, counts, i, theta) for i in order.tolist())
    return Documents(order.astype(np.int64), names, read_only(np.array(values)), words)


def _words(fit: Fit, counts: Counts, i: int, theta: npt.NDArray[Any], n: int = 8) -> Any:
    """The features of a document that speak most for the loadings (J): w_j log(θ_j / mean θ_j)."""
    own = slice(*counts.indptr[i : i + 2].tolist())
    features = counts.indices[own]
    mean = fit.Theta[features].astype(np.float64).mean(axis=1)
    says = np.log(np.maximum(theta[features], 1e-300) / np.maximum(mean, 1e-300))
    order = np.argsort(-counts.data[own] * says, kind="stable")[:n]
    return tuple(fit.features.name(int(j)) for j in features[order])
