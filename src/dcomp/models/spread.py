"""How the words of documents spread over components, as far as a Dirichlet learns from it.

Σ_i E[log m_ik] is a sum of ψ(α_k + c_ik) − ψ(Σα + L_i). To know it of another α than that of the
sweep, without going through the documents again, counts c_ik of like size are taken together: how
many lie in every quarter of an octave, and their mean. ψ is smooth on that scale, and what is asked
is a difference to the α whose sums are known exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import digamma

from dcomp import _core
from dcomp.models.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Spread:
    """Counts of documents (I, K) by size, of components and of whole documents; they add.

    >>> c = np.array([[1.0, 3.0], [2.0, 0.0]])
    >>> spread = Spread.build(c, 1)
    >>> alpha = np.array([0.5, 2.0])
    >>> each = digamma(alpha + c) - digamma(alpha.sum() + c.sum(axis=1, keepdims=True))
    >>> np.allclose(spread.log_scores(alpha), each.sum(axis=0))
    True
    """

    times: FloatArray  # (K + 1, bins): how many; the last row is of whole documents
    sums: FloatArray  # (K + 1, bins): what they add up to

    @classmethod
    def build(cls, c: npt.NDArray[Any], n_threads: int) -> Spread:
        """Of a table of float32 or float64."""
        totals = np.ascontiguousarray(c.sum(axis=1, dtype=c.dtype)[:, None])
        K = c.shape[1]
        times, sums = np.empty((2, K + 1, _core.spread_bins()))
        _core.spread(np.ascontiguousarray(c), times[:K], sums[:K], n_threads)
        _core.spread(totals, times[K:], sums[K:], n_threads)
        return cls(times, sums)

    def __add__(self, other: Spread) -> Spread:
        return Spread(self.times + other.times, self.sums + other.sums)

    @cached_property
    def _filled(self) -> tuple[npt.NDArray[Any], FloatArray, FloatArray]:
        """Of bins that are not empty: the row, how many, their mean."""
        row, _ = at = np.nonzero(self.times)
        return row, self.times[at], self.sums[at] / self.times[at]

    def log_scores(self, alpha: FloatArray) -> FloatArray:
        """Σ_i E[log m_ik] under q(m) = Dirichlet(α + c), (K)."""
        row, times, mean = self._filled
        prior = np.append(alpha, alpha.sum())
        sums = np.bincount(row, times * digamma(prior[row] + mean), minlength=len(prior))
        return np.asarray(sums[:-1] - sums[-1])
