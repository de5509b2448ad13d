"""One held-out score for every library: document completion in plain NumPy.

It knows components (K, J) and the prior α of the scores, and nothing of who made them. The scores
of a document come from its first half by the fixed point of BJ06 (17) with those components as
they are; the second half is predicted by Σ_k E[m_k] θ_jk.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.special import digamma


def perplexity(
    components: np.ndarray,
    alpha: np.ndarray,
    first: sparse.csr_array,
    second: sparse.csr_array,
    n_updates: int = 60,
) -> float:
    """exp(−Σ log p(second | first) / Σ tokens)."""
    Theta = np.ascontiguousarray(components.T, dtype=np.float64)  # (J, K)
    Theta = np.maximum(Theta / Theta.sum(axis=0), 1e-300)
    alpha = np.broadcast_to(np.asarray(alpha, dtype=np.float64), Theta.shape[1:])
    total = 0.0
    for begin in range(0, first.shape[0], 100):
        rows = slice(begin, begin + 100)
        m = fold_in(first[rows].tocoo(), Theta, alpha, n_updates)
        test = second[rows].tocoo()
        total += test.data @ np.log(np.einsum("pk,pk->p", m[test.row], Theta[test.col]))
    return float(np.exp(-total / second.sum()))


def fold_in(W: sparse.coo_array, Theta: np.ndarray, alpha: np.ndarray, n: int) -> np.ndarray:
    """E[m] of each row after n updates."""
    a = alpha + np.asarray(W.sum(axis=1)).reshape(-1, 1) / len(alpha)
    theta = Theta[W.col]
    gather = sparse.csr_array(
        (np.ones(W.nnz), (W.row, np.arange(W.nnz))), shape=(W.shape[0], W.nnz)
    )
    for _ in range(n):
        e_log = digamma(a)
        share = theta * np.exp(e_log - e_log.max(axis=1, keepdims=True))[W.row]
        share *= (W.data / share.sum(axis=1))[:, None]
        a = alpha + gather @ share
    return a / a.sum(axis=1, keepdims=True)
