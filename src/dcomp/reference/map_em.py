"""EM for scores and loadings at their mode in plain NumPy: C04 (9), (14), B18 (5.6)–(5.8).

Dense, slow and short. `dcomp.inference.map_em` does the same with native kernels.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from dcomp.models.arrays import FloatArray


def dirichlet_scores(c: FloatArray, alpha: FloatArray) -> FloatArray:
    """m (I, K), the mode of Dirichlet(α + c): B18 (5.8) at α = 1."""
    a = alpha - 1 + c
    return np.asarray(a / a.sum(axis=1, keepdims=True))


def gamma_scores(
    c: FloatArray, alpha: FloatArray, beta: FloatArray, exposure: FloatArray
) -> FloatArray:
    """l (I, K), the mode of Gamma(α + c, β + e): what C04 (14) leads to."""
    return np.asarray((alpha - 1 + c) / (beta + exposure[:, None]))


def canny_update(
    w: FloatArray, x: FloatArray, Theta: FloatArray, alpha: FloatArray, beta: FloatArray
) -> FloatArray:
    """C04 (14) for one document, letter by letter: a = α, c = α/β, Λ = Θ, columns of Θ sum to 1.

    >>> x = canny_update(
    ...     np.array([3.0]), np.array([1.0]), np.ones((1, 1)), np.array([2.0]), np.array([1.0])
    ... )
    >>> x
    array([2.])
    """
    y = Theta @ x
    above = Theta.T @ (w / y) + (alpha - 1) / x
    return np.asarray(x * above / (Theta.sum(axis=0) + beta))


def allocate(W: FloatArray, x: FloatArray, Theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """c (I, K) and n (J, K): words divided in proportion to x_ik θ_jk, the E-step (5.6)."""
    ratio = W / np.maximum(x @ Theta.T, 1e-300)
    return x * (ratio @ Theta), Theta * (ratio.T @ x)


def tempered_allocate(
    W: FloatArray, m: FloatArray, Theta: FloatArray, beta: float
) -> tuple[FloatArray, FloatArray, float]:
    """c, n and the free energy (1/β) Σ w log Σ_k (mθ)^β of tempered EM: words divided in
    proportion to (m_ik θ_jk)^β (BJ06 VII.D).

    >>> tempered_allocate(np.array([[4.0]]), np.array([[0.25, 0.75]]), np.ones((1, 2)), 1e-9)[0]
    array([[2., 2.]])
    """
    weights = (m[:, None, :] * Theta[None, :, :]) ** beta  # (I, J, K)
    total = weights.sum(axis=2)
    v = W[:, :, None] * weights / total[:, :, None]
    return v.sum(axis=1), v.sum(axis=0), float((W * np.log(total)).sum() / beta)


def loadings(n: FloatArray, prior: FloatArray, blocks: npt.NDArray[np.int32]) -> FloatArray:
    """Θ (J, K) at the mode under Dirichlet(prior) per block: C04 (9), B18 (5.7)."""
    a = n + (prior - 1)[:, None]
    totals = np.zeros((blocks.max() + 1, n.shape[1]))
    np.add.at(totals, blocks, a)
    return np.asarray(a / totals[blocks])


def log_dirichlet(x: FloatArray, alpha: FloatArray) -> float:
    """Σ_i log Dirichlet(x_i; α); a power of 0 asks for no log."""
    powers = np.where(alpha > 1, (alpha - 1) * np.log(np.maximum(x, 1e-300)), 0.0)
    return float(powers.sum() + len(x) * (gammaln(alpha.sum()) - gammaln(alpha).sum()))


def log_gamma_density(x: FloatArray, alpha: FloatArray, beta: FloatArray) -> float:
    """Σ log Gamma(x; α, rate β)."""
    powers = np.where(alpha > 1, (alpha - 1) * np.log(np.maximum(x, 1e-300)), 0.0)
    constant = alpha * np.log(beta) - gammaln(alpha)
    return float((powers - beta * x + constant).sum())
