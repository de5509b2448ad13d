"""Components on a map, and in an order that puts those beside each other that go together.

The distance of two components is the square root of the Jensen-Shannon divergence of their loadings
(in bits: 0 for the same, 1 without a common feature); of several blocks the divergence is the mean
over blocks, weighted by their tokens. The map is classical scaling (Torgerson): the plane in which
squared distances are kept best.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.models.arrays import FloatArray
from dcomp.result import Fit

_BUDGET = 3e8  # logarithms that the distances may take
_AT_ONCE = 1 << 21  # numbers of a block in memory


@dataclass(frozen=True, eq=False)
class Plane:
    """Components in two dimensions. kept: the part of what distances say that the plane shows.
    n_features: that were compared one by one; the others count as one."""

    places: FloatArray  # (K, 2)
    kept: float
    n_features: int


def component_plane(fit: Fit) -> Plane:
    """The map of a fit's components.

    >>> import dcomp
    >>> found = component_plane(dcomp.LDA(3, verbose=0).fit(np.eye(6, dtype=int) * 5).fit_)
    >>> found.places.shape
    (3, 2)
    """
    weight = _block_weights(fit)[fit.features.blocks]
    p = _heaviest(fit, weight)
    places, kept = classical_scaling(np.sqrt(jensen_shannon(p)))
    return Plane(places, kept, min(p.shape[1], fit.features.n_features))


def _block_weights(fit: Fit) -> FloatArray:
    """The part of all tokens that each block has, (G); even where there are none."""
    words = np.asarray(fit.state.n).sum(axis=1, dtype=np.float64)
    sums = np.bincount(fit.features.blocks, words)
    return np.asarray(sums / sums.sum()) if sums.sum() > 0 else np.full(len(sums), 1 / len(sums))


def _heaviest(fit: Fit, weight: FloatArray) -> FloatArray:
    """Loadings as distributions, (K, J' + 1): the features that are largest anywhere, as many as
    can be compared in seconds, and the rest of each component as one more."""
    K, J = fit.n_components, fit.features.n_features
    most = int(max(200, _BUDGET / max(K * (K - 1) / 2, 1)))
    if most >= J:
        chosen = np.arange(J)
    else:
        peak = np.max(fit.Theta, axis=1) * weight
        chosen = np.sort(np.argpartition(-peak, most)[:most])
    p = fit.Theta[chosen].T.astype(np.float64) * weight[chosen]
    rest = np.maximum(1 - p.sum(axis=1, keepdims=True), 0)
    return np.hstack([p, rest]) if most < J else np.asarray(p)


def jensen_shannon(p: FloatArray) -> FloatArray:
    """Divergences in bits between rows that are distributions, (K, K).

    >>> jensen_shannon(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    K = len(p)
    own = _entropy(p)
    out = np.zeros((K, K))
    step = max(1, _AT_ONCE // max(p.shape[1], 1))
    for k in range(K):
        for first in range(k + 1, K, step):
            rows = slice(first, min(first + step, K))
            middle = _entropy((p[rows] + p[k]) / 2)
            out[k, rows] = np.clip(middle - (own[rows] + own[k]) / 2, 0, 1)
    return np.asarray(out + out.T)


def _entropy(p: FloatArray) -> FloatArray:
    return np.asarray(-(p * np.log2(np.maximum(p, 1e-300))).sum(axis=-1))


def classical_scaling(distance: FloatArray) -> tuple[FloatArray, float]:
    """Places in the plane, (K, 2), and the part of all positive eigenvalues that it has. Signs are
    such that the largest coordinate of each axis is positive.

    >>> places, kept = classical_scaling(np.abs(np.subtract.outer([0.0, 3, 4], [0.0, 3, 4])))
    >>> bool(np.allclose(abs(places[1, 0] - places[0, 0]), 3)), round(kept, 6)
    (True, 1.0)
    """
    K = len(distance)
    centre = np.eye(K) - 1 / K
    values, vectors = np.linalg.eigh(-0.5 * centre @ distance**2 @ centre)
    values, vectors = values[::-1], vectors[:, ::-1]
    positive = values.clip(0).sum()
    places = np.zeros((K, 2))
    n = min(2, K)
    places[:, :n] = vectors[:, :n] * np.sqrt(values[:n].clip(0))
    for axis in places.T:
        if axis[np.argmax(np.abs(axis))] < 0:
            axis *= -1
    kept = float(values[:2].clip(0).sum() / positive) if positive > 0 else 1.0
    return places, kept


def leaf_order(correlation: FloatArray) -> list[int]:
    """Components so that correlated ones are neighbours: the leaves of average-linkage clustering,
    turned to make neighbours most alike where that does not take long. Of the two directions that
    which begins with the earlier component.

    >>> leaf_order(np.array([[1, 0.2, 0.9], [0.2, 1, 0], [0.9, 0, 1.0]]))
    [1, 0, 2]
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    K = len(correlation)
    if K < 3:
        return list(range(K))
    far: npt.NDArray[Any] = np.clip(1 - correlation, 0, 2)
    np.fill_diagonal(far, 0)
    tree = linkage(squareform((far + far.T) / 2, checks=False), "average", optimal_ordering=K < 300)
    order = [int(k) for k in leaves_list(tree)]
    return order if order[0] < order[-1] else order[::-1]
