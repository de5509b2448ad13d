"""The class of a document as one more thing that components explain (BJ06 IX, BJ04 6)."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from dcomp.data import Counts
from dcomp.errors import InvalidParameter
from dcomp.models.arrays import FloatArray, read_only
from dcomp.predict.predictor import METHODS
from dcomp.result import Fit
from dcomp.use.components import found_in
from dcomp.use.labels import Labels
from dcomp.validation.contract import counts_of

WORDS, CLASS = "words", "class"  # names of the blocks
ENOUGH = 1 / 3  # share of a document's labels from which on it has a topic: docs/decisions/0042
WEIGHT = 50  # words that a label counts for: docs/decisions/0042


class ComponentClassifier(ClassifierMixin, BaseEstimator):
    """A classifier by components: p(class | words) = Σ_k E[m_k | words] p(class | component k).

    The class is a block of its own beside the words (BJ04 3.1): of documents with a label it holds
    that label, `weight` times, of others it is empty. Components are found for both together, so
    that documents without a label help to find them. The class of a new document is read off the
    posterior of its scores, to which only its words belong; since p(class | m) is linear in m, the
    posterior mean is all that is needed.

    Topics, of which a document may have several or none, are a block too, with a feature for having
    none; those of a document share its weight.

    Parameters
    ----------
    components : a number (of LDA by mean field), or an estimator of dcomp that says how they are
        found (`LDA(100, algorithm="collapsed-gibbs")`, `GaP(50)`, `TreeDCA(…)`; its parameters are
        `components__…` of a search). Models of lengths (GP, CGP) have exposure "total" unless told.
    weight : how many words a label counts for. With 1 it hardly matters which components are found;
        with more they follow the classes.
    unknown : what in y stands for an unknown label, beside None and NaN. Where −1 is a class, give
        None.
    method : how scores of new documents are found: "fixed-point", "sampling", or "auto": the first
        where the model has it.
    fractional : whether counts need not be whole; not for samplers.
    n_jobs : threads; None for all cores.

    Attributes
    ----------
    classes_ : (C), sorted; of topics their names, or the numbers of the columns of y.
    class_loadings_ : (K, C), p(class | component); of topics the rest to 1 is for none.
    fit_ : the Fit of words and class; `fit_.top_features(10, block="words")` are words.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    >>> X = [[4, 3, 0, 0], [5, 2, 0, 1], [0, 0, 6, 3], [0, 1, 4, 4]]
    >>> model = ComponentClassifier(2).fit(X, ["sport", None, "law", "law"])
    >>> model.predict([[3, 3, 0, 0], [0, 1, 2, 2]]).tolist()
    ['sport', 'law']
    >>> topics = ComponentClassifier(2).fit(X, [["sport"], ["sport", "money"], ["law"], ["law"]])
    >>> topics.classes_.tolist(), topics.predict([[0, 0, 5, 4]]).tolist()
    (['law', 'money', 'sport'], [[1, 0, 0]])
    """

    fit_: Fit
    classes_: npt.NDArray[Any]

    def __init__(
        self,
        components: Any = 50,
        *,
        weight: float = WEIGHT,
        unknown: Any = -1,
        method: str = "auto",
        fractional: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.components = components
        self.weight = weight
        self.unknown = unknown
        self.method = method
        self.fractional = fractional
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Find components of counts and of what is known of their classes: one class per document,
        a table of 0 and 1 with a column per topic, or lists of topics by name."""
        if self.method not in METHODS:
            raise InvalidParameter(
                f"method must be one of {', '.join(map(repr, METHODS))}; got {self.method!r}"
            )
        counts = counts_of(self, X, reset=True, fractional=self.fractional)
        labels = Labels.read(y, self.unknown)
        check_consistent_length(labels.codes, np.empty(counts.n_docs))
        self._check_classes(labels)
        self.classes_, self._are_topics = labels.classes, labels.are_topics
        joint = self._joint(counts, labels, self._label_weight())
        self.fit_ = found_in(self.components, joint, exposure="total", n_jobs=self.n_jobs)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """p(class | words) of documents, (I, C): rows sum to 1. Of topics it is the share of the
        document's labels that each is expected to have: rows sum to 1 less that of no topic."""
        check_is_fitted(self, "fit_")
        counts = counts_of(self, X, fractional=self.fractional)
        shape = (counts.n_docs, len(self.classes_)) if self._are_topics else counts.n_docs
        nothing = Labels(self.classes_, np.full(shape, -1))
        p = self.fit_.predictor.word_probability(
            self._joint(counts, nothing, 1), self._columns(), method=self.method, n_jobs=self.n_jobs
        )
        return p if self._are_topics else np.asarray(p / p.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The likeliest class of each document; of topics a table of 0 and 1, with those that have
        a third of its labels or more."""
        p = self.predict_proba(X)
        if self._are_topics:
            return (p >= ENOUGH).astype(np.int64)
        return np.asarray(self.classes_[p.argmax(axis=1)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of documents whose class, or whole set of topics, is predicted; without those
        of which it is unknown."""
        from sklearn.metrics import accuracy_score

        labels, found = Labels.read(y, self.unknown), self.predict(X)
        kept = labels.known
        if self._are_topics != labels.are_topics:
            raise InvalidParameter("y must be of the kind that was fitted: classes, or topics")
        truth = labels.classes[labels.codes] if not labels.are_topics else self._in_order(labels)
        weights = None if sample_weight is None else np.asarray(sample_weight)[kept]
        return float(accuracy_score(truth[kept], found[kept], sample_weight=weights))

    @property
    def class_loadings_(self) -> FloatArray:
        """p(class | component), (K, C); of topics the rest to 1 is for none."""
        check_is_fitted(self, "fit_")
        return read_only(self.fit_.components[:, self._columns()].astype(np.float64))

    def _columns(self) -> list[int]:
        """Where the classes stand among the features of the fit."""
        return list(range(self.n_features_in_, self.n_features_in_ + len(self.classes_)))

    def _joint(self, counts: Counts, labels: Labels, weight: float) -> Counts:
        """Words and labels side by side."""
        if counts.features.names is None:
            counts = counts.with_features([f"x{j}" for j in range(counts.n_features)])
        block = labels.as_counts(weight, counts.doc_ids, counts.is_fractional)
        return Counts.join({WORDS: counts.without_order(), CLASS: block})

    def _label_weight(self) -> float:
        """What one label counts for."""
        weight, whole = self.weight, not self.fractional
        if isinstance(weight, bool) or not isinstance(weight, Real) or not 0 < weight < np.inf:
            raise InvalidParameter(f"weight must be a positive number of words; got {weight!r}")
        each = float(weight)
        if whole and not each.is_integer():
            raise InvalidParameter(
                f"weight must be whole where counts are (or give fractional=True); got {weight!r}"
            )
        return each

    def _check_classes(self, labels: Labels) -> None:
        n = len(labels.classes)
        least = 1 if labels.are_topics else 2
        if n >= least and labels.known.any():
            return
        if labels.are_topics:
            raise InvalidParameter("y must name one topic at least, and be known for a document")
        said = f"y must have two classes or more; it has one class, {labels.classes[0]!s}"
        if self.unknown is not None:
            said += f" ({self.unknown!r} stands for unknown: where it is a class, unknown=None)"
        raise InvalidParameter(said)

    def _in_order(self, labels: Labels) -> npt.NDArray[Any]:
        """Topics in the columns of `classes_`; an error for one that was not fitted."""
        place = {name: t for t, name in enumerate(self.classes_.tolist())}
        strange = [name for name in labels.classes.tolist() if name not in place]
        if strange:
            raise InvalidParameter(f"y has a topic that was not fitted, {strange[0]!r}")
        out = np.zeros((len(labels.codes), len(place)), np.int64)
        out[:, [place[name] for name in labels.classes.tolist()]] = labels.codes
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.classifier_tags.multi_label = True
        # Two columns of numbers have one share that says anything, as for MultinomialNB.
        tags.classifier_tags.poor_score = True
        return tags
