"""Steps of a climb that are carried on, from x0 and x1, which are a sweep apart.

What grows goes on by b (x1 − x0). What falls goes on in proportion, to x1² / (x1 + b (x0 − x1)),
which is the same for small steps: x0 and x1 are expected words, which sweeps halve and halve again
on their way to nothing, and from where they are pressed to they come back as slowly.
"""

from __future__ import annotations

import numpy as np

from dcomp import _core
from dcomp.inference.base import FloatingArray
from dcomp.models.arrays import read_only

KEPT = 0.1  # a share of x1 that a step leaves at least, so that no zero is made


def further(x0: FloatingArray, x1: FloatingArray, b: float, n_threads: int) -> FloatingArray:
    """Where x0 and x1 lead to, but a tenth of x1 at least.

    >>> further(np.array([[4.0, 8.0, 8.0]]), np.array([[6.0, 6.0, 0.1]]), 0.5, 1).round(2)
    array([[7.  , 5.14, 0.01]])
    """
    ahead = np.empty_like(x1)
    _core.extrapolate(x0, x1, b, KEPT, ahead, n_threads)
    return read_only(ahead)
