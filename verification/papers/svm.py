"""What the papers' experiments with classes share: counts of text, features, and an SVM.

SVM-light's defaults are the hinge loss with C = 1 / mean(x·x): 1 for rows of length 1, as here.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import dcomp
from dcomp import Counts
from dcomp.use import ComponentFeatures

SWEEPS = 60  # after which features change little; "converged" takes some hundreds
# BJ04 5: Porter's stems, no numbers but years, no stop words, 4 occurrences in 3 documents.
READING: dict[str, Any] = {"stem": "english", "numbers": "years"}
KEPT: dict[str, Any] = {"min_count": 4, "min_docs": 3}


def words_of(texts: Sequence[str]) -> Counts:
    """As BJ04 5 prepares its text; the stop list is ours, theirs is not given."""
    return Counts.from_texts(texts, **READING, **KEPT).without_order()


def components(counts: Counts, K: int, seed: int = 0, alpha: Any = "auto") -> dcomp.Fit:
    """K components of the training documents, by mean field."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dcomp.ConvergenceWarning)
        model = dcomp.LDA(K, alpha=alpha, max_iter=SWEEPS, random_state=seed, verbose=0)
        return model.fit(counts).fit_


def features(fit: dcomp.Fit | None, train: Counts, test: Counts, **how: Any) -> tuple[Any, Any]:
    """Of training and of other documents; weights are learned from the first."""
    how = {"use": "words"} if fit is None else {"components": fit, **how}
    made = ComponentFeatures(**how).fit(train)
    return made.transform(train), made.transform(test)


def svm(X: Any, y: Any) -> LinearSVC:
    """By the hinge loss, as SVM-light; a class against the rest where there are several."""
    if not X.nnz:
        raise ValueError("no feature has any weight")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LinearSVC(C=1.0, loss="hinge", max_iter=5000, random_state=0).fit(X, y)


def percent(value: float, digits: int = 1) -> str:
    """In per cent, without the sign."""
    return f"{100 * value:.{digits}f}"


def mean_and_error(values: Sequence[float]) -> str:
    """In per cent, with the standard error over folds where there are several."""
    if len(values) < 2:
        return f"{100 * values[0]:.1f}"
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{100 * np.mean(values):.1f} ± {100 * error:.1f}"
