"""The logistic normal by Laplace mean field in plain NumPy: B18 §7, corrected by MODELS §3.

For one document with words w and L = Σ_j w_j, q(η) = N(μ_d, Σ_d) and responsibilities φ alternate:
φ_jk = θ_jk exp(μ_dk) / Z_j, normalised over k (B18 (7.13) is not), and μ_d the maximum of (7.8)
given c = Σ_j w_j φ_j. Where both rest, μ_d is the maximum of

    f(η) = log p(w | η, Θ) + log N(η; μ0, Σ0),

which has no φ left in it. Its gradient is c − L m − P(η − μ0); Σ_d is the inverse of B18's −∇²f
with φ held fixed, P + L (diag m − m mᵀ). The derivative of softmax is diag m − m mᵀ (B18 appendix C
has the opposite sign, and its Hessian the right one).

Dense, slow and short. `dcomp.inference.laplace` does the same with a native kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, softmax

from dcomp.models.arrays import FloatArray
from dcomp.models.logistic_normal import (
    LogisticNormalScores,
    centred,
    centred_covariance,
    uncorrelated,
)


def log_density(
    eta: FloatArray, w: FloatArray, Theta: FloatArray, mu0: FloatArray, P: FloatArray
) -> float:
    """f(η) up to the constant of the normal: Σ_j w_j log Σ_k θ_jk m_k − ½ (η−μ0)ᵀ P (η−μ0).

    >>> log_density(np.zeros(2), np.array([2.0]), np.ones((1, 2)), np.zeros(2), np.eye(2))
    0.0
    """
    seen = w > 0
    log_mean = logsumexp(eta + np.log(Theta[seen]), axis=1) - logsumexp(eta)
    delta = eta - mu0
    return float(w[seen] @ log_mean - 0.5 * delta @ P @ delta)


def responsibilities(eta: FloatArray, Theta: FloatArray) -> FloatArray:
    """φ (J, K): the shares of the components in each word; rows sum to 1 (MODELS §3)."""
    return np.asarray(softmax(eta + np.log(Theta), axis=1))


def gradient(
    eta: FloatArray, w: FloatArray, Theta: FloatArray, mu0: FloatArray, P: FloatArray
) -> FloatArray:
    """∇f = c − L m − P (η − μ0); the same as that of B18 (7.8) at c = Σ_j w_j φ_j(η)."""
    c = w @ responsibilities(eta, Theta)
    return np.asarray(c - w.sum() * softmax(eta) - P @ (eta - mu0))


def complete_curvature(eta: FloatArray, L: float, P: FloatArray) -> FloatArray:
    """−∇² of (7.8), responsibilities held fixed: P + L (diag m − m mᵀ), positive definite."""
    m = softmax(eta)
    return np.asarray(P + L * (np.diag(m) - np.outer(m, m)))


def observed_curvature(
    eta: FloatArray, w: FloatArray, Theta: FloatArray, P: FloatArray
) -> FloatArray:
    """−∇²f itself: less Σ_j w_j (diag φ_j − φ_j φ_jᵀ), because the responsibilities answer η."""
    phi = responsibilities(eta, Theta)
    answer = np.diag(w @ phi) - (phi.T * w) @ phi
    return np.asarray(complete_curvature(eta, float(w.sum()), P) - answer)


def newton_step(
    eta: FloatArray, w: FloatArray, Theta: FloatArray, mu0: FloatArray, P: FloatArray
) -> tuple[FloatArray, float]:
    """The step of Newton by the observed curvature, or by the complete one where that is not
    positive definite; and what it promises, gradient · step."""
    slope = gradient(eta, w, Theta, mu0, P)
    curvature = observed_curvature(eta, w, Theta, P)
    try:
        np.linalg.cholesky(curvature)
    except np.linalg.LinAlgError:
        curvature = complete_curvature(eta, float(w.sum()), P)
    step = np.linalg.solve(curvature, slope)
    return np.asarray(step, dtype=np.float64), float(slope @ step)


def mode(
    w: FloatArray,
    Theta: FloatArray,
    mu0: FloatArray,
    P: FloatArray,
    eta: FloatArray,
    *,
    max_inner: int = 100,
    tol: float = 1e-10,
) -> FloatArray:
    """A maximum of f from eta, by Newton with steps halved until f rises: B18 (7.10)."""
    length = w.sum() + 1
    value = log_density(eta, w, Theta, mu0, P)
    for _ in range(max_inner):
        step, promise = newton_step(eta, w, Theta, mu0, P)
        if not promise > tol * length:
            break
        size = 1.0
        for _ in range(30):
            trial = eta + size * step
            new = log_density(trial, w, Theta, mu0, P)
            if new >= value + 1e-4 * size * promise - 1e-14 * length:
                break
            size /= 2
        eta, value = trial, new
    return eta


@dataclass(frozen=True)
class Document:
    """q(η) = N(eta, Sigma) of one document, and what it adds to the sums."""

    eta: FloatArray  # (K): the mode
    Sigma: FloatArray  # (K, K), with 1/K everywhere for the free shift
    c: FloatArray  # (K)
    n: FloatArray  # (J, K): w_j φ_jk
    value: float  # the bound with E[log Σ exp η] expanded to second order, which is no bound


def document(
    w: FloatArray,
    Theta: FloatArray,
    scores: LogisticNormalScores,
    eta: FloatArray,
    max_inner: int = 100,
    tol: float = 1e-10,
) -> Document:
    """Laplace mean field of one document.

    The value is E_q[log p(w, z, η)] + entropy with log Σ exp η expanded to second order around the
    mode, where its trace cancels the entropy's: f(μ_d) + ½ log |P| − ½ log |Σ_d⁻¹|.
    """
    P, log_det_P = scores.precision()
    eta = mode(w, Theta, scores.mu0, P, eta, max_inner=max_inner, tol=tol)
    curvature = complete_curvature(eta, float(w.sum()), P)
    log_det = float(np.linalg.slogdet(curvature)[1])
    n = w[:, None] * responsibilities(eta, Theta)
    value = log_density(eta, w, Theta, scores.mu0, P) + 0.5 * (log_det_P - log_det)
    Sigma = np.asarray(np.linalg.inv(curvature), dtype=np.float64)
    return Document(eta, Sigma, np.asarray(n.sum(axis=0)), n, value)


def m_step(
    documents: list[Document], scores: LogisticNormalScores
) -> tuple[FloatArray, FloatArray]:
    """μ0 = mean μ_d and Σ0 = mean (Σ_d + (μ_d − μ0)(μ_d − μ0)ᵀ), which B18 does not give (MODELS
    §3), the latter drawn to independent components by the scores' shrinkage. Both are centred, and
    taken with `worth` more documents of η ~ N(0, I).

    The maximum of Σ_d E_q[log N(η_d; μ0, Σ0)], those documents among them, where nothing is drawn.
    """
    eta, Sigma = np.array([d.eta for d in documents]), np.array([d.Sigma for d in documents])
    n, worth = len(documents), scores.worth
    mu0 = centred(eta.sum(axis=0) / (n + worth))
    more = worth * (np.eye(len(mu0)) + np.outer(mu0, mu0))
    total = (Sigma + _squares(eta - mu0)).sum(axis=0) + more
    Sigma0 = centred_covariance(total / (n + worth))
    share = scores.shrinkage
    if share is None:
        share = suggested_shrinkage(Sigma0, Sigma + _squares(eta - scores.mu0))
    return mu0, np.asarray((1 - share) * Sigma0 + share * uncorrelated(Sigma0))


def suggested_shrinkage(Sigma0: FloatArray, S: FloatArray) -> float:
    """The λ of least expected squared error of (1 − λ) Σ0 + λ T, T = `uncorrelated`, off the
    diagonal: Σ_kl Var(mean S_kl) / Σ_kl (Σ0 − T)²_kl, cut to [0, 1], from S_d (D, K, K).

    >>> S = np.array([np.eye(3), np.eye(3)])
    >>> suggested_shrinkage(centred_covariance(np.eye(3)), S)
    1.0
    """
    off = ~np.eye(len(Sigma0), dtype=bool)
    distance = float(((Sigma0 - uncorrelated(Sigma0))[off] ** 2).sum())
    if len(S) < 2 or distance < 1e-20:
        return 1.0
    variance = float(S.var(axis=0)[off].sum()) / (len(S) - 1)
    return min(variance / distance, 1.0)


def _squares(delta: FloatArray) -> FloatArray:
    return np.asarray(delta[:, :, None] * delta[:, None, :])
