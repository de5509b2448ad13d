"""Non-negative matrix factorisation under the Kullback-Leibler loss in plain NumPy: W ≈ L Θᵀ.

The divergence, up to what W alone decides, is Σ_ij (y_ij − w_ij log y_ij), y = L Θᵀ: minus the log
likelihood of Poisson counts (BJ06 Lemma 2). One side at a time it falls into one problem per row x,

    minimise Σ_k x_k − Σ_p w_p log y_p,   y = F x,   x ≥ 0,

where F holds the other side's rows with columns that sum to 1. Dense, slow and short;
`dcomp.inference.maximum_likelihood` does the same with native kernels.
"""

from __future__ import annotations

import numpy as np

from dcomp.models.arrays import FloatArray


def multiplicative(w: FloatArray, x: FloatArray, F: FloatArray) -> FloatArray:
    """Lee and Seung's update of one row: x_k ← x_k Σ_p (w_p / y_p) F_pk.

    >>> multiplicative(np.array([3.0]), np.array([1.0]), np.ones((1, 1)))
    array([3.])
    """
    return np.asarray(x * _gradient(w, x, F))


def coordinate_step(w: FloatArray, y: FloatArray, x: float, column: FloatArray) -> float:
    """The new value of one coordinate; no step of the kind ever raises the loss.

    With g = Σ w f / y and h = Σ w f² / y² the derivative of the loss is 1 − g, increasing and
    concave in x. Where it is negative Newton's step x + (g − 1)/h stops short of the minimum. Where
    it is positive Newton's step on x·(derivative), which is convex, does so from the other side:
    x · xh / (xh + 1 − g), which never leaves x > 0 and goes to 0 quadratically where 0 is best.
    """
    seen = w > 0
    ratio = column[seen] / y[seen]
    g, h = float(w[seen] @ ratio), float(w[seen] @ ratio**2)
    if g > 1:
        return x + (g - 1) / h
    return x * x * h / (x * h + 1 - g) if x > 0 else 0.0


def coordinate_descent(w: FloatArray, x: FloatArray, F: FloatArray, n_rounds: int) -> FloatArray:
    """Rounds over all coordinates of one row, each at its newest y."""
    x, y = x.copy(), F @ x
    for _ in range(n_rounds):
        for k in range(len(x)):
            new = coordinate_step(w, y, x[k], F[:, k])
            y += (new - x[k]) * F[:, k]
            x[k] = new
    return x


def row_loss(w: FloatArray, x: FloatArray, F: FloatArray) -> float:
    """Σ_k x_k − Σ_p w_p log y_p."""
    seen = w > 0
    return float(x.sum() - w[seen] @ np.log((F @ x)[seen]))


def residual(w: FloatArray, x: FloatArray, F: FloatArray) -> FloatArray:
    """How far each coordinate is from the conditions of a minimum (Karush-Kuhn-Tucker):
    |min(x_k, 1 − g_k)|, zero where x_k = 0 and more would not help, or where the slope is 0."""
    return np.abs(np.minimum(x, 1 - _gradient(w, x, F)))


def _gradient(w: FloatArray, x: FloatArray, F: FloatArray) -> FloatArray:
    """g_k = Σ_p (w_p / y_p) F_pk over the entries with w_p > 0."""
    seen = w > 0
    return np.asarray(F[seen].T @ (w[seen] / (F[seen] @ x)))
