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

_BUDGET = 1.5e8  # logarithms that the distances may take
_MANY = 2e7  # from which on they are of single precision: a map does not show the sixth digit
_AT_ONCE = (16, 4096)  # components and features of a block, which stays in the cache


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
    K, J = p.shape
    own, both, total = np.zeros(K), np.zeros((K, K)), p.sum(axis=1)
    kind = np.float32 if K * (K - 1) / 2 * J > _MANY else np.float64
    for first in range(0, J, _AT_ONCE[1]):
        # No 0, for 0 log 0 is 0.
        part: npt.NDArray[Any] = np.maximum(p[:, first : first + _AT_ONCE[1]], 1e-37).astype(kind)
        own += np.einsum("kj,kj->k", part, np.log(part))
        _add_sums(both, part)
    # With s = p + q: H((p + q) / 2) = log 2 − Σ s log s / 2 for rows that sum to 1.
    middle = np.log(2) * (total[:, None] + total) / 2 - (both + both.T) / 2
    out = np.clip((middle + (own[:, None] + own) / 2) / np.log(2), 0, 1)
    np.fill_diagonal(out, 0)
    return np.asarray(out)


def _add_sums(both: FloatArray, part: npt.NDArray[Any]) -> None:
    """Add Σ_j s log s of s = p_k + p_l to both[k, l] for l > k, block by block in place."""
    K, step = len(part), _AT_ONCE[0]
    room, logs = np.empty((2, step, part.shape[1]), part.dtype)
    for k in range(K):
        for first in range(k + 1, K, step):
            last = min(first + step, K)
            s, log = room[: last - first], logs[: last - first]
            np.add(part[first:last], part[k], out=s)
            np.log(s, out=log)
            both[k, first:last] += np.einsum("kj,kj->k", s, log)


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
