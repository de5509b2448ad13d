"""Cosines of signatures, which the field compares them by."""

from __future__ import annotations

import numpy as np

from dcomp.models.arrays import FloatArray


def cosines(first: FloatArray, second: FloatArray) -> FloatArray:
    """(K, K'): the cosine of every row of one with every row of the other.

    >>> cosines(np.array([[1.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 2.0]])).round(2)
    array([[0.6, 0. ]])
    """
    units = [
        x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300) for x in (first, second)
    ]
    return np.asarray(np.clip(units[0] @ units[1].T, 0.0, 1.0))
