"""Quasi-Newton steps of a climb (Zhou, Alexander and Lange 2011), along the last few directions.

A sweep is a map F. Of x0, x1 = F(x0) and x2 = F(x1) the differences u = x1 − x0 and v = x2 − x1
show what F makes of the direction u. With some such pairs as columns of U and V, F is near V U⁺
along them, and its fixed point near

    x1 − V z,    (UᵀU − UᵀV) z = Uᵀ (x0 − x1).

Where a table hardly tells some directions apart, a few remembered pairs go along them in half the
sweeps of SQUAREM or less (docs/decisions/0033). Documents and features have their pairs where they
are: an array (rows, 2q, K), q differences u and then q differences v, oldest first.
"""

from __future__ import annotations

import numpy as np

from dcomp.inference.base import FloatingArray
from dcomp.inference.squarem import KEPT, Points
from dcomp.models.arrays import FloatArray, read_only

PAIRS = 3  # that are remembered


def with_pair(pairs: FloatingArray | None, points: Points) -> FloatingArray:
    """With the pair of the last three points, the oldest being forgotten.

    >>> x = [np.array([[value]]) for value in (8.0, 4.0, 2.0)]
    >>> with_pair(None, tuple(x)).ravel()
    array([-4., -2.])
    """
    x0, x1, x2 = points
    u, v = (x1 - x0)[:, None], (x2 - x1)[:, None]
    if pairs is None:
        return read_only(np.concatenate([u, v], axis=1))
    q = pairs.shape[1] // 2
    first = max(q - PAIRS + 1, 0)
    return read_only(np.concatenate([pairs[:, first:q], u, pairs[:, q + first :], v], axis=1))


def products(pairs: FloatingArray) -> FloatArray:
    """UᵀU and UᵀV of these rows, (2, q, q), summed in double."""
    q = pairs.shape[1] // 2
    # Each difference in one piece: sums over it are then made of whole vectors, and by no library
    # whose order of summing depends on its threads.
    flat = pairs.swapaxes(0, 1).astype(np.float64, order="C").reshape(2 * q, -1)
    dots = [np.einsum("r,r->", one, other) for one in flat[:q] for other in flat]
    both = np.reshape(dots, (q, 2 * q))
    return np.stack([both[:, :q], both[:, q:]])


def weights(total: FloatArray) -> FloatArray | None:
    """z, from the products of all rows; None where the pairs do not tell it.

    >>> weights(np.array([[[16.0]], [[8.0]]]))
    array([-2.])
    """
    uu, uv = total
    matrix = uu - uv
    scale = np.sqrt(np.outer(np.diag(uu), np.diag(uu)))
    if not (np.isfinite(scale).all() and scale.min() > 0):
        return None
    if np.linalg.cond(matrix / scale) > 1e10:
        return None
    z = np.linalg.solve(matrix, -uu[:, -1])
    return z if np.isfinite(z).all() else None


def ahead(pairs: FloatingArray, points: Points, z: FloatArray) -> FloatingArray:
    """x1 − V z, but a tenth of x2 at least.

    >>> x = tuple(np.array([[value]]) for value in (8.0, 4.0, 2.0))
    >>> ahead(with_pair(None, x), x, np.array([-1.5]))
    array([[1.]])
    """
    q = pairs.shape[1] // 2
    step = np.einsum("ipk,p->ik", pairs[:, q:], z.astype(pairs.dtype))
    return read_only(np.maximum(points[1] - step, pairs.dtype.type(KEPT) * points[2]))
