"""Components as features of documents, beside their words (BJ06 IX, BJ04 6 and 3.2)."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from dcomp.data import Counts
from dcomp.errors import InvalidParameter
from dcomp.models.arrays import FloatArray
from dcomp.result import Fit
from dcomp.use.components import expected_words, found_in
from dcomp.validation.contract import counts_of

USES = ("both", "components", "words")
IDFS = ("smooth", "plain", None)
NORMS = ("each", "l2", None)
BALANCE = 0.2  # docs/decisions/0042
LEAST = 0.01  # expected words below which a component is not in a document: BJ06 IX


class ComponentFeatures(TransformerMixin, BaseEstimator):
    """Words and components of documents as features: tf-idf of w_j and of E[c_k] side by side.

    c_ik is how many words of document i component k is expected to have made (BJ06 VI): "50 words
    about football". It is a count like those of words, so that both are weighted alike (BJ06 IX).
    Components with fewer than `least` words are left out of a document, which keeps rows sparse.

    The weight of a feature is its count times idf. "smooth": 1 + log((1 + I) / (1 + df)) of I
    documents of which df have the feature. "plain": log(I / df), which is 0 for a feature of every
    document: right for words, but a component may have a little of every document, and yet much
    of some.

    Parameters
    ----------
    components : a number (of LDA by mean field), an estimator of dcomp that says how they are
        found (`LDA(100, algorithm="collapsed-gibbs")`; its parameters are `components__…` of a
        search), or a Fit, whose components are taken as they are.
    use : "both", "components" or "words"; with "words" none are fitted.
    least : expected words from which on a component is in a document.
    idf : "smooth", "plain", or None for counts.
    norm : "l2": rows have length 1. "each": so do they, but first the words of a row have length 1
        and its components `balance`. A component has as many words as dozens of features, so that
        in one length with them (BJ06 IX) words hardly count (decision 42). None: counts times
        weights.
    balance : "each" alone: the length of components beside that of words; larger where labels are
        few.
    fractional : whether counts need not be whole; not for samplers.
    n_jobs : threads; None for all cores.

    Attributes
    ----------
    fit_ : the Fit of the components; not with "words".
    idf_ : (features), words first; ones where idf is None.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    >>> X = [[4, 3, 0, 0], [5, 2, 0, 1], [0, 0, 6, 3], [0, 1, 4, 4]]
    >>> features = ComponentFeatures(2).fit(X)
    >>> features.transform(X).shape, features.get_feature_names_out().tolist()
    ((4, 6), ['x0', 'x1', 'x2', 'x3', 'component0', 'component1'])
    """

    fit_: Fit

    def __init__(
        self,
        components: Any = 50,
        *,
        use: str = "both",
        least: float = LEAST,
        idf: str | None = "smooth",
        norm: str | None = "each",
        balance: float = BALANCE,
        fractional: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.components = components
        self.use = use
        self.least = least
        self.idf = idf
        self.norm = norm
        self.balance = balance
        self.fractional = fractional
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components of counts, unless they are given, and learn the weights. y is
        ignored."""
        self._check()
        counts = counts_of(self, X, reset=True, fractional=self.fractional)
        if hasattr(self, "fit_"):
            del self.fit_
        if self.use != "words":
            given = self.components
            self.fit_ = (
                given if isinstance(given, Fit) else found_in(given, counts, n_jobs=self.n_jobs)
            )
        self._names = counts.features.labels
        table = self._table(counts)
        self.idf_: FloatArray = _weights(table, self.idf)
        return self

    def transform(self, X: Any) -> Any:
        """The features of documents, words first, as a sparse array in rows."""
        check_is_fitted(self, "idf_")
        counts = counts_of(self, X, fractional=self.fractional)
        weighted = sparse.csr_array(self._table(counts).multiply(self.idf_[np.newaxis, :]))
        if self.norm is None:
            return weighted
        if self.norm == "each" and self.use == "both":
            ends = (slice(0, self.n_features_in_), slice(self.n_features_in_, None))
            words, components = (normalize(weighted[:, end]) for end in ends)
            parts = [words, self.balance * components]
            weighted = sparse.csr_array(sparse.hstack(parts, format="csr"))
        return normalize(weighted, copy=False)

    def index_counts(self, X: Any) -> Counts:
        """Words and components of documents as whole numbers, for the index of a search engine:
        a document has the term "component7" as often as E[c_7] says, rounded (BJ04 3.2).

        >>> X = [[40, 30, 0], [0, 10, 60]]
        >>> ComponentFeatures(2, use="components").fit(X).index_counts(X).doc_totals.tolist()
        [70, 70]
        """
        check_is_fitted(self, "idf_")
        counts = counts_of(self, X, fractional=self.fractional)
        table = self._table(counts)
        table.data = np.rint(table.data)
        names = self.get_feature_names_out()
        return Counts.from_matrix(table, feature_names=names, doc_ids=counts.doc_ids)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The words' names as given, else x0, x1, …; then component0, component1, …"""
        check_is_fitted(self, "idf_")
        words: list[str] = []
        if self.use != "components":
            words = [f"x{j}" for j in range(self.n_features_in_)]
            known = self._names if input_features is None else input_features
            words = words if known is None else [str(name) for name in known]
            if len(words) != self.n_features_in_:
                raise InvalidParameter(
                    "input_features should have length equal to the number of features, "
                    f"{self.n_features_in_}; got {len(words)}"
                )
        K = 0 if self.use == "words" else self.fit_.n_components
        return np.array([*words, *(f"component{k}" for k in range(K))], dtype=object)

    def _check(self) -> None:
        """An error where a parameter has no meaning."""
        for name, known in (("use", USES), ("idf", IDFS), ("norm", NORMS)):
            if getattr(self, name) not in known:
                said = ", ".join(map(repr, known))
                raise InvalidParameter(f"{name} must be {said}; got {getattr(self, name)!r}")
        if not (isinstance(self.balance, Real) and 0 < self.balance < np.inf):
            raise InvalidParameter(f"balance must be a positive number; got {self.balance!r}")
        if self.balance != BALANCE and self.norm != "each":
            raise InvalidParameter(f"balance= has no effect with norm={self.norm!r}")
        if not (isinstance(self.least, Real) and 0 <= self.least < np.inf):
            raise InvalidParameter(f"least must be a number of words from 0 on; got {self.least!r}")

    def _table(self, counts: Counts) -> Any:
        """Counts of words and expected words of components, (I, features)."""
        parts = []
        if self.use != "components":
            parts.append(counts.to_scipy().astype(np.float64))
        if self.use != "words":
            c = np.asarray(expected_words(self.fit_, counts, self.n_jobs), np.float64)
            parts.append(sparse.csr_array(np.where(c >= self.least, c, 0.0)))
        return sparse.csr_array(sparse.hstack(parts, format="csr"))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _weights(table: Any, idf: str | None) -> FloatArray:
    """What each feature weighs, by the documents that have it."""
    n_docs, n = table.shape
    if idf is None:
        return np.ones(n)
    df = np.bincount(table.indices[table.data > 0], minlength=n)
    if idf == "smooth":
        return np.asarray(1.0 + np.log((1.0 + n_docs) / (1.0 + df)))
    return np.asarray(
        np.log(n_docs / np.maximum(df, 1))
    )  # of one that no document has, that of one
