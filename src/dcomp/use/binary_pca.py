"""One line on which voters stand: principal components of yes and no (de Leeuw 2003).

log p(yea) / p(nay) = a_g + x_i b_g, fitted by majorisation: the log-likelihood of a vote lies above
a parabola of curvature 1/4 that touches it where we are, so that each step is a least-squares fit
of one component to a full table, in which a missing vote is what the model says (BJ06 VIII).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from dcomp.models.arrays import FloatArray

_STEPS = 300
_STILL = 1e-4  # change of the ranks' positions, relative to their spread
_SHRINK = 0.02  # ridge on positions: parties that never meet would move apart for ever


def binary_pca(votes: npt.ArrayLike) -> FloatArray:
    """Positions of voters on a line, (I), from votes (I, G): 1 yea, 0 nay, NaN none. Their mean is
    0 and their standard deviation 1; the first voter stands on the left.

    >>> nan = np.nan
    >>> x = binary_pca([[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, nan], [0, 0, 1, 1], [0, 0, nan, 1]])
    >>> bool((np.diff(x[[0, 1, 2, 3]]) > 0).all())
    True
    """
    table = np.asarray(votes, np.float64)
    cast = np.isfinite(table)
    yea = np.where(cast, table, 0.5)
    totals = np.maximum(cast.sum(axis=0), 1)
    a = np.log(
        (np.where(cast, yea, 0).sum(axis=0) + 0.5) / (totals - (cast * yea).sum(axis=0) + 0.5)
    )
    x = np.zeros(len(table))
    b = np.zeros(table.shape[1])
    for step in range(_STEPS):
        eta = a + np.outer(x, b)
        target = eta + 4 * np.where(cast, yea - expit(eta), 0.0)
        a = target.mean(axis=0)
        left, size, right = np.linalg.svd(target - a, full_matrices=False)
        if size[0] < 1e-9:  # all vote alike, and stand in one place
            return np.zeros(len(table))
        scale = max(size[0] - _SHRINK * size.sum(), 1e-12)
        new, b = left[:, 0] * np.sqrt(len(table)), right[0] * scale / np.sqrt(len(table))
        if new @ x < 0:
            new, b = -new, -b
        moved, x = np.abs(new - x).max(), new
        if step and moved < _STILL:
            break
    x = x - x.mean()
    spread = x.std()
    x = x / spread if spread > 0 else x
    return np.asarray(-x if x[0] > 0 else x, np.float64)
