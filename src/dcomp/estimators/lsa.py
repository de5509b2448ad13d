"""LSA and PCA: the cousins with neither probabilities nor positivity (B18 sections 3 and 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from dcomp.data import Counts
from dcomp.errors import InvalidCounts, InvalidParameter
from dcomp.validation import whole_number

FloatTable = npt.NDArray[np.float64]
DENSE = 400  # up to this smaller side the whole decomposition is taken


@dataclass(frozen=True)
class Biplot:
    """Documents and features in one plane: their inner products approximate the table."""

    documents: FloatTable  # (I, K)
    features: FloatTable  # (J, K)


class LSA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Latent semantic analysis: X ≈ U S Vᵀ, the best approximation of rank K in least squares.

    With `center` the columns' means are taken off first, which makes it PCA (B18 section 3); a
    sparse table stays sparse all the same. Any numbers will do, weighted counts too. Signs are
    fixed: in each component the loading of largest size is positive.

    Parameters
    ----------
    n_components : K, at most the smaller side of the table.
    center : whether to take off the means of the columns.

    Attributes
    ----------
    components_ : (K, J), rows of length 1, at right angles to each other.
    singular_values_ : (K).
    explained_variance_ : (K), of the scores, with divisor I − 1.
    explained_variance_ratio_ : (K), of the table's whole variance, whether centred or not.
    mean_ : (J), what was taken off; zeros unless `center`.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    >>> lsa = LSA(1, center=True).fit([[1, 2], [2, 4], [3, 6]])
    >>> lsa.explained_variance_ratio_.round(6).tolist(), lsa.components_.round(3).tolist()
    ([1.0], [[0.447, 0.894]])
    """

    def __init__(self, n_components: int = 10, *, center: bool = False) -> None:
        self.n_components = n_components
        self.center = center

    def fit(self, X: Any, y: Any = None) -> Self:
        """Decompose a table, dense or sparse. y is ignored."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> FloatTable:
        """Decompose, and the scores U S of the same documents."""
        table = self._table(X, reset=True)
        K = whole_number("n_components", self.n_components, 1)
        if min(table.shape) < K:
            raise InvalidParameter(
                f"n_components must be at most the smaller side of the table, {min(table.shape)}; "
                f"got {K}"
            )
        mean = np.asarray(table.mean(axis=0)).ravel()
        self.mean_: FloatTable = mean if self.center else np.zeros_like(mean)
        U, S, Vt = _decompose(table, self.mean_, K)
        # The sign of a pair of vectors is free: let the largest loading be positive.
        sign = np.sign(Vt[np.arange(K), np.abs(Vt).argmax(axis=1)])
        sign[sign == 0] = 1.0
        self.components_: FloatTable = Vt * sign[:, None]
        self.singular_values_: FloatTable = S
        scores: FloatTable = U * (S * sign)
        divisor = max(table.shape[0] - 1, 1)
        self.explained_variance_: FloatTable = scores.var(axis=0) * table.shape[0] / divisor
        total = _total_variance(table, mean) * table.shape[0] / divisor
        self.explained_variance_ratio_: FloatTable = self.explained_variance_ / (total or 1.0)
        self._scores = scores
        return scores

    def transform(self, X: Any) -> FloatTable:
        """Scores of documents, (I, K): (X − mean) V."""
        check_is_fitted(self, "components_")
        table = self._table(X, reset=False)
        return np.asarray(table @ self.components_.T - self.mean_ @ self.components_.T)

    def inverse_transform(self, scores: npt.ArrayLike) -> FloatTable:
        """The table that scores stand for, (I, J)."""
        check_is_fitted(self, "components_")
        return np.asarray(np.asarray(scores, dtype=np.float64) @ self.components_ + self.mean_)

    def biplot(self, balance: float = 0.5) -> Biplot:
        """Coordinates of the fitted documents, U S^(1−b), and of the features, V S^b (B18 figure
        4.1); b = 0 shows distances between documents, b = 1 correlations of features."""
        check_is_fitted(self, "components_")
        if not 0 <= balance <= 1:
            raise InvalidParameter(f"balance must lie between 0 and 1; got {balance}")
        S = np.maximum(self.singular_values_, 1e-300)
        return Biplot(self._scores * S**-balance, self.components_.T * S**balance)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _table(self, X: Any, reset: bool) -> Any:
        table = X.to_scipy() if isinstance(X, Counts) else X
        how: Any = {"accept_sparse": ("csr", "csc"), "dtype": np.float64}
        table = validate_data(self, table, reset=reset, ensure_all_finite=False, **how)
        _require_finite(table)
        if isinstance(X, Counts) and reset and X.features.names is not None:
            self.feature_names_in_ = np.array(X.features.labels, dtype=object)
        return table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def _require_finite(table: Any) -> None:
    """An error that says where a number is missing, and what may be done about it."""
    is_sparse = hasattr(table, "tocoo")
    values = table.data if is_sparse else np.asarray(table)
    odd = ~np.isfinite(values)
    if not odd.any():
        return
    if is_sparse:
        places, at = table.tocoo(), int(np.flatnonzero(~np.isfinite(table.tocoo().data))[0])
        i, j = int(places.row[at]), int(places.col[at])
    else:
        i, j = np.argwhere(odd)[0].tolist()
    value = "NaN" if np.isnan(values).any() else "infinity"
    raise InvalidCounts(
        f"Input X contains {value}, first in row {i}, column {j}: LSA needs every number. Fill in "
        "what is missing, or leave its row or column out; answers and votes with gaps are for "
        "dcomp.DCA (dcomp.as_counts(frame, categories=True))"
    )


def _decompose(table: Any, mean: FloatTable, K: int) -> tuple[FloatTable, FloatTable, FloatTable]:
    """The K largest singular triplets of table − mean, largest first."""
    if min(table.shape) <= max(DENSE, K + 1):
        dense = np.asarray(table.toarray() if hasattr(table, "toarray") else table) - mean
        U, S, Vt = linalg.svd(dense, full_matrices=False)
        return U[:, :K], S[:K], Vt[:K]
    ones = np.ones(table.shape[0])
    centred = LinearOperator(  # a sparse table less its means would be dense
        table.shape,
        matvec=lambda v: table @ v.ravel() - ones * (mean @ v.ravel()),
        rmatvec=lambda u: table.T @ u.ravel() - mean * u.sum(),
        dtype=np.float64,
    )
    # A fixed start makes one answer of it.
    start = np.random.default_rng(0).standard_normal(min(table.shape))
    triplets: Any = svds(centred, k=K, v0=start)
    U, S, Vt = triplets
    order = np.argsort(S)[::-1]
    return U[:, order], S[order], Vt[order]


def _total_variance(table: Any, mean: FloatTable) -> float:
    """The sum over columns of mean squares about the mean."""
    squares = table.multiply(table) if hasattr(table, "multiply") else table**2
    return float(np.asarray(squares.mean(axis=0)).sum() - (mean**2).sum())
