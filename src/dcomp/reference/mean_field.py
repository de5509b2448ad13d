"""Mean field for DM and GP in plain NumPy: BJ06 (13)–(19) and figure 5, line by line.

Dense, slow and short. `dcomp.inference.mean_field` does the same with native kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, gammaln

from dcomp.models.arrays import FloatArray


@dataclass(frozen=True)
class Loadings:
    """What the allocation uses of Θ, in logs, and what Θ adds to the objective."""

    log_weight: FloatArray  # (J, K): log θ or E[log θ]
    log_prior: float


def loadings(
    n: FloatArray, gamma: FloatArray, blocks: npt.NDArray[np.int32], treatment: str
) -> Loadings:
    """Θ from the statistics n (J, K): MODELS §4."""
    K = n.shape[1]

    def per_block(values: FloatArray) -> FloatArray:
        out = np.zeros((blocks.max() + 1, *values.shape[1:]))
        np.add.at(out, blocks, values)
        return out

    if treatment == "vb":
        q = n + gamma[:, None]
        e_log = digamma(q) - digamma(per_block(q))[blocks]  # B18 (6.12)
        constant = K * (gammaln(per_block(gamma)).sum() - gammaln(gamma).sum())
        minus_kl = (
            constant
            - gammaln(per_block(q)).sum()
            + gammaln(q).sum()
            + ((gamma[:, None] - q) * e_log).sum()
        )
        return Loadings(e_log, float(minus_kl))
    # "mean" maximises the posterior under Dirichlet(γ + 1), "map" under Dirichlet(γ): BJ06 (15).
    prior = gamma + 1 if treatment == "mean" else gamma
    theta = n + (prior - 1)[:, None]
    theta = theta / per_block(theta)[blocks]
    constant = K * (gammaln(per_block(prior)).sum() - gammaln(prior).sum())
    with np.errstate(divide="ignore"):
        log_theta = np.log(theta)
    powers = np.where(prior[:, None] == 1, 0.0, (prior - 1)[:, None] * log_theta)
    return Loadings(log_theta, float(constant + powers.sum()))


@dataclass(frozen=True)
class Document:
    """One document's update: new c, its statistics, its bound and its expected moments."""

    c: FloatArray  # (K,)
    n: FloatArray  # (J, K)
    bound: float  # (16) or (19), without terms of w alone
    log_scores: FloatArray
    mean_scores: FloatArray


def document_dm(
    w: FloatArray, c: FloatArray, log_weight: FloatArray, alpha: FloatArray
) -> Document:
    """BJ06 (17)–(19)."""
    a = alpha + c
    e_log = digamma(a) - digamma(a.sum())  # (18)
    log_Z, N = allocate(log_weight, e_log)  # (17)
    bound = (
        gammaln(alpha.sum())
        - gammaln(a.sum())
        + (gammaln(a) - gammaln(alpha)).sum()
        + ((alpha - a) * e_log).sum()
        + w @ log_Z
    )  # (19)
    return Document(w @ N, w[:, None] * N, float(bound), e_log, a / a.sum())


def document_gp(
    w: FloatArray,
    c: FloatArray,
    log_weight: FloatArray,
    alpha: FloatArray,
    beta: FloatArray,
    exposure: float,
) -> Document:
    """BJ06 (13)–(16), with exposure e: b = β + e."""
    a, b = alpha + c, beta + exposure
    e_log = digamma(a) - np.log(b)  # (14)
    log_Z, N = allocate(log_weight, e_log)  # (13)
    bound = (
        (gammaln(a) - gammaln(alpha) + alpha * np.log(beta) - a * np.log(b)).sum()
        + ((alpha - a) * e_log).sum()
        + w @ log_Z
    )  # (16)
    return Document(w @ N, w[:, None] * N, float(bound), e_log, a / b)


def allocate(log_weight: FloatArray, e_log: FloatArray) -> tuple[FloatArray, FloatArray]:
    """log Z_j and n_jk ∝ θ_jk exp E[log score_k], normalised over k."""
    x = log_weight + e_log
    top = x.max(axis=1, keepdims=True)
    Z = np.exp(x - top).sum(axis=1, keepdims=True)
    return (top + np.log(Z))[:, 0], np.exp(x - top) / Z


@dataclass(frozen=True)
class Pass:
    """The sums of one sweep."""

    c: FloatArray  # (I, K)
    n: FloatArray  # (J, K)
    bound: FloatArray  # (I,)
    log_scores: FloatArray  # (K,)
    mean_scores: FloatArray  # (K,)


def sweep(
    W: npt.NDArray[np.int64],
    c: FloatArray,
    theta: Loadings,
    alpha: FloatArray,
    beta: FloatArray | None = None,
    exposure: FloatArray | None = None,
    inner: int = 1,
    document: Callable[[FloatArray, FloatArray, FloatArray], Document] | None = None,
) -> Pass:
    """One pass over the documents, `inner` updates each: figure 5, steps 2(a)–(d).

    DM without beta, GP with it; another model by its own update of a document. The bound belongs to
    the last update's own a and Z.
    """
    documents = []
    for i, w in enumerate(W.astype(float)):
        c_i = c[i]
        for _ in range(inner):
            if document is not None:
                d = document(w, c_i, theta.log_weight)
            elif beta is None:
                d = document_dm(w, c_i, theta.log_weight, alpha)
            else:
                e = 1.0 if exposure is None else float(exposure[i])
                d = document_gp(w, c_i, theta.log_weight, alpha, beta, e)
            c_i = d.c
        documents.append(d)
    return Pass(
        np.array([d.c for d in documents]),
        np.sum([d.n for d in documents], axis=0),
        np.array([d.bound for d in documents]),
        np.sum([d.log_scores for d in documents], axis=0),
        np.sum([d.mean_scores for d in documents], axis=0),
    )
