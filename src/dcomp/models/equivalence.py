"""One fit under another name: Poisson and multinomial parameters, PLSA and NMF (BJ06 Lemmas 1, 2).

A Poisson table with rates e_i Σ_k l_ik θ_jk, given its document totals, is a multinomial table with
m_ik = l_ik / Σ_k l_ik; so scores l and pairs (m, expected length) say the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dcomp.errors import InvalidParameter
from dcomp.models.arrays import FloatArray


def multinomial_from_poisson(
    scores: npt.ArrayLike, exposure: npt.ArrayLike = 1.0
) -> tuple[FloatArray, FloatArray]:
    """m (I, K), rows summing to 1, and expected lengths e_i Σ_k l_ik (I) from l (I, K).

    A document whose scores are all zero has no shares; it is given even ones, and length 0.

    >>> m, length = multinomial_from_poisson([[1.0, 3.0], [0.0, 0.0]], exposure=2.0)
    >>> m.tolist(), length.tolist()
    ([[0.25, 0.75], [0.5, 0.5]], [8.0, 0.0])
    """
    L = _table("scores", scores)
    return _rows_to_one(L), L.sum(axis=1) * np.asarray(exposure, dtype=np.float64)


def poisson_from_multinomial(
    shares: npt.ArrayLike, lengths: npt.ArrayLike, exposure: npt.ArrayLike = 1.0
) -> FloatArray:
    """l (I, K) = m · length / e from m (I, K): PLSA read as NMF, where l Θᵀ ≈ W.

    >>> poisson_from_multinomial([[0.25, 0.75]], [8.0], exposure=2.0).tolist()
    [[1.0, 3.0]]
    """
    m, scale = _table("shares", shares), np.asarray(lengths, dtype=np.float64)
    scale = scale / np.asarray(exposure, dtype=np.float64)
    if scale.shape not in ((), (len(m),)) or not np.all(np.isfinite(scale) & (scale >= 0)):
        raise InvalidParameter(
            f"lengths and exposure must give one finite number per document ({len(m)}), not below "
            f"0; got shape {scale.shape}"
        )
    return m * np.broadcast_to(scale, (len(m),))[:, None]


@dataclass(frozen=True)
class Aspects:
    """PLSA in its symmetric form p(d, w) = Σ_z p(z) p(d | z) p(w | z), B18 section 5."""

    p_z: FloatArray  # (K)
    p_d_given_z: FloatArray  # (I, K): columns sum to 1
    p_w_given_z: FloatArray  # (J, K): columns sum to 1

    @classmethod
    def from_factors(cls, scores: npt.ArrayLike, Theta: npt.ArrayLike) -> Aspects:
        """From l (I, K) and Θ (J, K) whose columns sum to 1; a component without words keeps an
        even p(d | z) and p(z) = 0.

        >>> Aspects.from_factors([[2.0, 0.0], [1.0, 1.0]], np.eye(2)).p_z.tolist()
        [0.75, 0.25]
        """
        L, loadings = _table("scores", scores), _table("Theta", Theta)
        if L.shape[1] != loadings.shape[1]:
            raise InvalidParameter(
                f"scores and Theta must have the same number of components; got {L.shape[1]} and "
                f"{loadings.shape[1]}"
            )
        total = L.sum(axis=0)
        even = np.full_like(L, 1 / len(L))
        given = np.where(total > 0, L / np.maximum(total, 1e-300), even)
        return cls(total / max(total.sum(), 1e-300), given, loadings)

    @property
    def joint(self) -> FloatArray:
        """p(d, w), (I, J)."""
        return np.asarray((self.p_d_given_z * self.p_z) @ self.p_w_given_z.T)


def probabilities(
    scores: npt.ArrayLike, components: npt.ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Z* (I, K) and B* (K, J) of W ≈ ZB, rows summing to 1 each: B18 (2.10).

    B18 divides by the row sums of W, which are those of ZB where W = ZB; here they are those of ZB,
    so that rows sum to 1 whatever the fit. A row of zeros becomes an even one.

    >>> Z, B = probabilities([[2.0, 0.0], [3.0, 1.0]], [[2.0, 3.0], [0.0, 1.0]])
    >>> Z.tolist(), B.round(9).tolist()
    ([[1.0, 0.0], [0.9375, 0.0625]], [[0.4, 0.6], [0.0, 1.0]])
    """
    Z, B = _table("scores", scores), _table("components", components)
    if Z.shape[1] != len(B):
        raise InvalidParameter(
            f"scores must have one column per component, {len(B)}; got shape {Z.shape}"
        )
    return _rows_to_one(Z * B.sum(axis=1)), _rows_to_one(B)


def _rows_to_one(table: FloatArray) -> FloatArray:
    """Rows divided by their sums, by way of their largest: the smallest numbers have no reciprocal.
    A row of zeros becomes an even one."""
    largest = table.max(axis=1, keepdims=True)
    share = np.divide(table, largest, where=largest > 0, out=np.ones_like(table))
    return np.asarray(share / share.sum(axis=1, keepdims=True))


def _table(name: str, values: npt.ArrayLike) -> FloatArray:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or not table.size or not np.all(np.isfinite(table) & (table >= 0)):
        raise InvalidParameter(
            f"{name} must be a table of finite numbers, none below 0; got shape {table.shape}"
        )
    return table
