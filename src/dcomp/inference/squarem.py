"""Steps of a climb by SQUAREM (Varadhan and Roland 2008), along the last direction alone."""

from __future__ import annotations

import numpy as np

from dcomp import _core
from dcomp.inference.base import FloatingArray
from dcomp.models.arrays import FloatArray, read_only

KEPT = 0.1  # a share of x2 that a step leaves at least, so that no zero is made

Points = tuple[FloatingArray, FloatingArray, FloatingArray]  # x0, x1, x2: a sweep apart


def squares(points: Points, n_threads: int) -> FloatArray:
    """‖x1 − x0‖² and ‖x2 − 2 x1 + x0‖².

    >>> squares((np.array([[8.0]]), np.array([[4.0]]), np.array([[2.0]])), 1)
    array([16.,  4.])
    """
    return np.array(_core.step_squares(*points, n_threads))


def extrapolated(points: Points, factor: float, n_threads: int) -> FloatingArray:
    """x0 + 2a (x1 − x0) + a² (x2 − 2 x1 + x0), but a tenth of x2 at least.

    >>> extrapolated((np.array([[8.0]]), np.array([[4.0]]), np.array([[2.0]])), 2.0, 1)
    array([[0.2]])
    """
    ahead = np.empty_like(points[0])
    _core.extrapolate(*points, factor, KEPT, ahead, n_threads)
    return read_only(ahead)
